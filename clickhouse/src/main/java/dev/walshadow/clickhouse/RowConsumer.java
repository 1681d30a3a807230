package dev.walshadow.clickhouse;

/** Takes the rows of a result one by one. */
@FunctionalInterface
public interface RowConsumer {
    void row(ResultRow row);
}
