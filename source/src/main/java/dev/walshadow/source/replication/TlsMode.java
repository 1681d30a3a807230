package dev.walshadow.source.replication;

/** libpq's {@code sslmode}. */
public enum TlsMode {
    DISABLE("disable"),
    ALLOW("allow"),
    PREFER("prefer"),
    REQUIRE("require"),
    VERIFY_CA("verify-ca"),
    VERIFY_FULL("verify-full");

    private final String text;

    TlsMode(String text) {
        this.text = text;
    }

    /** The setting's value. */
    public String text() {
        return text;
    }
}
