package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.TableMapping;

/** A table's place in ClickHouse. */
record TargetName(String database, String table) {
    /** Where the table belongs, as opposed to a staging table. */
    static TargetName of(TableMapping mapping) {
        return new TargetName(mapping.database(), mapping.table());
    }

    /** As SQL has it. */
    String quoted() {
        return Ddl.qualified(database, table);
    }

    @Override
    public String toString() {
        return database + "." + table;
    }
}
