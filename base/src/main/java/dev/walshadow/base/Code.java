package dev.walshadow.base;

import java.util.Locale;

/**
 * A stable message code, printed as {@code WS-nnnn}. Each module declares its own in a class {@code
 * XxxCodes}: base 10xx, postgres 11xx, clickhouse 12xx, catalog 13xx, source 14xx, shadow 15xx,
 * transaction 16xx, pipeline 17xx, bootstrap 18xx, daemon 19xx, cli 20xx, embedded 21xx.
 */
public record Code(int number) {
    public Code {
        Invariant.check(number >= 1000 && number <= 9999, "a message code has four digits");
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "WS-%04d", number);
    }
}
