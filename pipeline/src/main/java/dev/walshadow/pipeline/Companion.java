package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What stands beside each table for its readers; it has no rows of its own. */
public sealed interface Companion {

    /** How they are called. */
    ViewNames names();

    /** What messages call one. */
    String noun();

    /** The same with what it is for. */
    String description();

    /** As {@code system.tables} has it. */
    String engine();

    /** By which its comment is told from others of ours. */
    String word();

    /** By which name it reads; empty: its table's own. */
    String reads();

    /** The columns that it has beside a table of this mapping. */
    List<Column> columns(TableMapping mapping);

    /**
     * What else its definition depends on.
     *
     * @param columns those that it is to have
     */
    String detail(TableMapping mapping, List<Column> columns);

    /** The statement that makes it, in place of one that is there. */
    String make(TargetName name, TargetName place, Content content, String comment);

    String drop(TargetName name);

    /** A companion keeps the types that its table had when it was made. */
    record Column(String name, String type) {
        static Column of(ColumnMapping column) {
            return new Column(column.name(), column.type().print());
        }
    }

    /**
     * @param detail empty: nothing
     */
    record Content(List<Column> columns, String detail) {
        public Content {
            columns = List.copyOf(columns);
        }
    }

    /**
     * A view of the current rows: {@code FINAL}, or of a table that keeps every version the newest
     * of each key; without walshadow's own columns.
     *
     * @param over what it reads in place of the table; null: the table
     */
    record CurrentRows(ViewNames names, @Nullable Distributed over) implements Companion {
        private static final String PLACE = "{table}";

        @Override
        public String noun() {
            return "view";
        }

        @Override
        public String description() {
            return "view of the current rows";
        }

        @Override
        public String engine() {
            return "View";
        }

        @Override
        public String word() {
            return "view";
        }

        @Override
        public List<Column> columns(TableMapping mapping) {
            return mapping.columns().stream().map(Column::of).toList();
        }

        @Override
        public String reads() {
            return over == null ? "" : over.names().pattern();
        }

        /** Of a table that keeps every version what stands around the table. */
        @Override
        public String detail(TableMapping mapping, List<Column> columns) {
            return mapping.append()
                    ? mapping.newestVersions(PLACE, "")
                            + " WHERE "
                            + Ddl.identifier(mapping.meta().isDeleted())
                            + " = 0"
                    : "";
        }

        @Override
        public String make(TargetName name, TargetName place, Content content, String comment) {
            TargetName from = over == null ? place : over.names().of(place);
            String rows =
                    content.detail().isEmpty()
                            ? from.quoted() + " FINAL"
                            : content.detail().replace(PLACE, from.quoted());
            return "CREATE OR REPLACE VIEW "
                    + name.quoted()
                    + " AS SELECT "
                    + content.columns().stream()
                            .map(column -> Ddl.identifier(column.name()))
                            .collect(Collectors.joining(", "))
                    + " FROM "
                    + rows
                    + " COMMENT "
                    + Ddl.literal(comment);
        }

        @Override
        public String drop(TargetName name) {
            return "DROP VIEW IF EXISTS " + name.quoted() + " SYNC";
        }
    }

    /**
     * A table that reads the tables of all shards.
     *
     * @param cluster of {@code remote_servers}: all shards in the order of the configuration
     */
    record Distributed(ViewNames names, String cluster) implements Companion {
        @Override
        public String noun() {
            return "Distributed table";
        }

        @Override
        public String description() {
            return noun();
        }

        @Override
        public String engine() {
            return "Distributed";
        }

        @Override
        public String word() {
            return "distributed";
        }

        @Override
        public String reads() {
            return cluster;
        }

        @Override
        public List<Column> columns(TableMapping mapping) {
            List<Column> columns = new ArrayList<>();
            List<String> names = mapping.blockNames();
            for (int i = 0; i < names.size(); i++) {
                columns.add(new Column(names.get(i), mapping.blockTypes().get(i).print()));
            }
            return columns;
        }

        /** The hash that a row's shard is found by; none while a column of the key is missing. */
        @Override
        public String detail(TableMapping mapping, List<Column> columns) {
            List<String> present = columns.stream().map(Column::name).toList();
            String hash = new ShardKey(mapping).expression();
            return hash == null || !present.containsAll(mapping.keyNames()) ? "" : hash;
        }

        @Override
        public String make(TargetName name, TargetName place, Content content, String comment) {
            return "CREATE OR REPLACE TABLE "
                    + name.quoted()
                    + " ("
                    + content.columns().stream()
                            .map(column -> Ddl.identifier(column.name()) + " " + column.type())
                            .collect(Collectors.joining(", "))
                    + ") ENGINE = Distributed("
                    + Ddl.literal(cluster)
                    + ", "
                    + Ddl.literal(place.database())
                    + ", "
                    + Ddl.literal(place.table())
                    + (content.detail().isEmpty() ? "" : ", " + content.detail())
                    + ") COMMENT "
                    + Ddl.literal(comment);
        }

        @Override
        public String drop(TargetName name) {
            return Ddl.dropTable(name.database(), name.table());
        }
    }
}
