package dev.walshadow.testkit.shadow;

import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** The kinds of changes that the sessions of a {@link DdlStorm} make. */
final class DdlChanges {
    static final List<Change> ALL = changes();

    private DdlChanges() {}

    /** One kind of change: statements that are executed one by one. */
    record Change(String name, int weight, Script script) {}

    @FunctionalInterface
    interface Script {
        void run(Session session) throws SQLException;
    }

    /** What a change works with. */
    static final class Session {
        private final Statement statement;
        private final Random random;
        private final int number;

        Session(Statement statement, Random random, int number) {
            this.statement = statement;
            this.random = random;
            this.number = number;
        }

        void run(String... commands) throws SQLException {
            for (String command : commands) {
                statement.execute(command);
            }
        }

        int below(int bound) {
            return random.nextInt(bound);
        }

        /** One of the session's tables; sometimes another session's. */
        String table() {
            int owner = number != DdlStorm.ALONE && below(8) == 0 ? below(4) : number;
            return "t" + owner + "_" + below(DdlStorm.TABLES);
        }

        String fresh(String prefix) {
            return prefix + number + "_" + below(1_000_000);
        }

        void createTable(String name) throws SQLException {
            run("DROP TABLE IF EXISTS " + name + " CASCADE");
            createIfMissing(name);
            insert(name);
        }

        void createIfMissing(String name) throws SQLException {
            run(
                    "CREATE TABLE IF NOT EXISTS "
                            + name
                            + " (id int PRIMARY KEY, note text, big text, extra jsonb)",
                    quietColumns(name));
        }

        /** No statistics of columns with the canary: those would be catalog rows. */
        static String quietColumns(String table) {
            return "ALTER TABLE "
                    + table
                    + " ALTER note SET STATISTICS 0, ALTER big SET STATISTICS 0,"
                    + " ALTER extra SET STATISTICS 0, ALTER big SET STORAGE EXTERNAL";
        }

        void insert(String table) throws SQLException {
            run(
                    "INSERT INTO "
                            + table
                            + " (id, note, big, extra) SELECT i, '"
                            + DdlStorm.CANARY
                            + "', repeat('"
                            + DdlStorm.CANARY
                            + "', 1 + (i % 7) * 40), '{\"k\": \""
                            + DdlStorm.CANARY
                            + "\"}' FROM generate_series(1, "
                            + (1 + below(200))
                            + ") i ON CONFLICT DO NOTHING");
        }
    }

    private static List<Change> changes() {
        List<Change> changes = new ArrayList<>();
        tables(changes);
        columns(changes);
        indexes(changes);
        objects(changes);
        rewrites(changes);
        transactions(changes);
        clusters(changes);
        return List.copyOf(changes);
    }

    private static void tables(List<Change> changes) {
        changes.add(new Change("create table", 8, s -> s.createTable(s.table())));
        changes.add(new Change("insert", 8, s -> s.insert(s.table())));
        changes.add(
                new Change(
                        "update and delete",
                        6,
                        s ->
                                s.run(
                                        "UPDATE "
                                                + s.table()
                                                + " SET note = note || 'x', big = NULL",
                                        "DELETE FROM " + s.table() + " WHERE id % 3 = 0")));
        changes.add(
                new Change(
                        "temporary table",
                        3,
                        s -> {
                            String name = s.fresh("tmp");
                            s.run(
                                    "CREATE TEMP TABLE " + name + " (id serial, note text)",
                                    "INSERT INTO "
                                            + name
                                            + " (note) VALUES ('"
                                            + DdlStorm.CANARY
                                            + "')",
                                    "CREATE INDEX ON " + name + " (note)",
                                    "DROP TABLE " + name);
                        }));
        changes.add(
                new Change(
                        "unlogged table",
                        2,
                        s -> {
                            String name = s.fresh("unlogged");
                            s.run(
                                    "CREATE UNLOGGED TABLE "
                                            + name
                                            + " (id int PRIMARY KEY, note text)",
                                    "INSERT INTO "
                                            + name
                                            + " VALUES (1, '"
                                            + DdlStorm.CANARY
                                            + "')",
                                    "ALTER TABLE " + name + " SET LOGGED",
                                    "ALTER TABLE " + name + " SET UNLOGGED",
                                    "INSERT INTO "
                                            + name
                                            + " VALUES (2, '"
                                            + DdlStorm.CANARY
                                            + "')");
                        }));
        changes.add(
                new Change(
                        "partitions",
                        2,
                        s -> {
                            String name = s.fresh("part");
                            s.run(
                                    "CREATE TABLE "
                                            + name
                                            + " (id int, note text, PRIMARY KEY (id))"
                                            + " PARTITION BY RANGE (id)",
                                    "CREATE TABLE "
                                            + name
                                            + "_a PARTITION OF "
                                            + name
                                            + " FOR VALUES FROM (0) TO (10)",
                                    "CREATE TABLE " + name + "_b PARTITION OF " + name + " DEFAULT",
                                    "INSERT INTO "
                                            + name
                                            + " SELECT i, '"
                                            + DdlStorm.CANARY
                                            + "' FROM generate_series(1, 50) i",
                                    "ALTER TABLE " + name + " DETACH PARTITION " + name + "_a",
                                    "CREATE INDEX ON " + name + " (note)",
                                    "TRUNCATE " + name);
                        }));
        changes.add(
                new Change(
                        "materialized view",
                        2,
                        s -> {
                            String name = s.fresh("mv");
                            s.run(
                                    "CREATE MATERIALIZED VIEW "
                                            + name
                                            + " AS SELECT * FROM "
                                            + s.table(),
                                    "REFRESH MATERIALIZED VIEW " + name,
                                    "CREATE VIEW v" + name + " AS SELECT id FROM " + name);
                        }));
        changes.add(
                new Change(
                        "truncate", 2, s -> s.run("TRUNCATE " + s.table() + " RESTART IDENTITY")));
        changes.add(
                new Change("drop table", 2, s -> s.run("DROP TABLE " + s.table() + " CASCADE")));
        changes.add(
                new Change(
                        "create table as",
                        2,
                        s ->
                                s.run(
                                        "CREATE TABLE "
                                                + s.fresh("cta")
                                                + " AS SELECT * FROM "
                                                + s.table())));
        changes.add(
                new Change(
                        "large object",
                        2,
                        s ->
                                s.run(
                                        "SELECT lo_from_bytea(0, convert_to(repeat('"
                                                + DdlStorm.CANARY
                                                + "', 300), 'UTF8'))")));
    }

    private static void columns(List<Change> changes) {
        changes.add(
                new Change(
                        "add and drop column",
                        4,
                        s -> {
                            String table = s.table();
                            String column = s.fresh("c");
                            s.run(
                                    "ALTER TABLE "
                                            + table
                                            + " ADD COLUMN "
                                            + column
                                            + " int DEFAULT 7",
                                    "ALTER TABLE "
                                            + table
                                            + " RENAME COLUMN "
                                            + column
                                            + " TO r"
                                            + column,
                                    "ALTER TABLE " + table + " ALTER r" + column + " SET NOT NULL",
                                    "ALTER TABLE " + table + " DROP COLUMN r" + column);
                        }));
        changes.add(
                new Change(
                        "change type with rewrite",
                        3,
                        s -> {
                            String table = s.table();
                            s.run(
                                    "ALTER TABLE " + table + " ADD COLUMN n int DEFAULT 1",
                                    "ALTER TABLE "
                                            + table
                                            + " ALTER n TYPE numeric USING n * random()",
                                    "ALTER TABLE " + table + " DROP COLUMN n");
                        }));
        changes.add(
                new Change(
                        "identity and constraints",
                        2,
                        s -> {
                            String table = s.table();
                            s.run(
                                    "ALTER TABLE " + table + " REPLICA IDENTITY FULL",
                                    "ALTER TABLE " + table + " ADD CHECK (id > -1) NOT VALID",
                                    "ALTER TABLE " + table + " REPLICA IDENTITY DEFAULT",
                                    "COMMENT ON TABLE " + table + " IS 'of the storm'",
                                    "GRANT SELECT ON " + table + " TO public");
                        }));
        changes.add(
                new Change(
                        "move to tablespace",
                        2,
                        s -> {
                            String space = s.fresh("space");
                            String table = s.table();
                            s.run(
                                    "CREATE TABLESPACE " + space + " LOCATION ''",
                                    "ALTER TABLE " + table + " SET TABLESPACE " + space,
                                    "CREATE TABLE "
                                            + s.fresh("inspace")
                                            + " (note text) TABLESPACE "
                                            + space,
                                    "INSERT INTO "
                                            + table
                                            + " (id, note) VALUES (-1, '"
                                            + DdlStorm.CANARY
                                            + "') ON CONFLICT DO NOTHING",
                                    "ALTER TABLE " + table + " SET TABLESPACE pg_default");
                        }));
    }

    private static void indexes(List<Change> changes) {
        changes.add(
                new Change(
                        "indexes of every kind",
                        4,
                        s -> {
                            String table = s.table();
                            s.run(
                                    "CREATE INDEX ON " + table + " USING hash (note)",
                                    "CREATE INDEX ON " + table + " USING gin (extra)",
                                    "CREATE INDEX ON " + table + " USING brin (id)",
                                    "CREATE INDEX ON " + table + " USING spgist (note)",
                                    "CREATE INDEX ON " + table + " ((id % 7)) WHERE id > 5");
                            s.insert(table);
                            s.run("REINDEX TABLE " + table);
                        }));
        changes.add(
                new Change(
                        "concurrent index",
                        1,
                        s -> {
                            String name = s.fresh("ci");
                            s.run(
                                    "CREATE INDEX CONCURRENTLY "
                                            + name
                                            + " ON "
                                            + s.table()
                                            + " (note)",
                                    "REINDEX INDEX CONCURRENTLY " + name,
                                    "DROP INDEX CONCURRENTLY " + name);
                        }));
    }

    private static void objects(List<Change> changes) {
        changes.add(
                new Change(
                        "types",
                        4,
                        s -> {
                            String name = s.fresh("type");
                            s.run(
                                    "CREATE TYPE " + name + "_e AS ENUM ('a', 'b')",
                                    "ALTER TYPE " + name + "_e ADD VALUE 'c' BEFORE 'b'",
                                    "ALTER TYPE " + name + "_e RENAME VALUE 'a' TO 'z'",
                                    "CREATE TYPE " + name + "_c AS (a int, b " + name + "_e)",
                                    "ALTER TYPE " + name + "_c ADD ATTRIBUTE d text",
                                    "CREATE TYPE " + name + "_r AS RANGE (subtype = float8)",
                                    "CREATE DOMAIN "
                                            + name
                                            + "_d AS numeric(8,3) CHECK (value > 0)",
                                    "DROP TYPE " + name + "_c");
                        }));
        changes.add(
                new Change(
                        "functions and triggers",
                        4,
                        s -> {
                            String name = s.fresh("f");
                            s.run(
                                    "CREATE FUNCTION "
                                            + name
                                            + "() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN"
                                            + " new; END'",
                                    "CREATE TRIGGER "
                                            + name
                                            + " BEFORE INSERT ON "
                                            + s.table()
                                            + " FOR EACH ROW EXECUTE FUNCTION "
                                            + name
                                            + "()",
                                    "CREATE OR REPLACE FUNCTION "
                                            + name
                                            + "() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN /* "
                                            + "long ".repeat(1000)
                                            + " */ RETURN new; END'",
                                    "ALTER FUNCTION " + name + "() COST 7");
                        }));
        changes.add(
                new Change(
                        "schemas, sequences, roles",
                        3,
                        s -> {
                            String name = s.fresh("ns");
                            s.run(
                                    "CREATE SCHEMA " + name,
                                    "CREATE SEQUENCE " + name + ".s",
                                    "SELECT nextval('" + name + ".s') FROM generate_series(1, 100)",
                                    "ALTER SCHEMA " + name + " RENAME TO r" + name,
                                    "CREATE ROLE " + name,
                                    "ALTER ROLE " + name + " SET work_mem = '5MB'",
                                    "ALTER DEFAULT PRIVILEGES IN SCHEMA r"
                                            + name
                                            + " GRANT SELECT ON TABLES TO "
                                            + name,
                                    "DROP OWNED BY " + name,
                                    "DROP ROLE " + name,
                                    "DROP SCHEMA r" + name + " CASCADE");
                        }));
    }

    private static void rewrites(List<Change> changes) {
        changes.add(
                new Change(
                        "vacuum full of a catalog",
                        3,
                        s -> {
                            String[] catalogs = {
                                "pg_class",
                                "pg_attribute",
                                "pg_type",
                                "pg_proc",
                                "pg_index",
                                "pg_depend",
                                "pg_constraint",
                                "pg_namespace",
                                "pg_enum",
                                "pg_description",
                                "pg_authid",
                                "pg_database",
                                "pg_shdepend",
                                "pg_statistic"
                            };
                            s.run("VACUUM FULL " + catalogs[s.below(catalogs.length)]);
                        }));
        changes.add(
                new Change(
                        "reindex of a catalog",
                        3,
                        s -> {
                            String[] catalogs = {
                                "pg_class",
                                "pg_attribute",
                                "pg_proc",
                                "pg_depend",
                                "pg_type",
                                "pg_authid"
                            };
                            s.run("REINDEX TABLE " + catalogs[s.below(catalogs.length)]);
                        }));
        changes.add(
                new Change(
                        "cluster of a catalog",
                        1,
                        s -> s.run("CLUSTER pg_index USING pg_index_indrelid_index")));
        changes.add(
                new Change(
                        "catalog rewrite rolled back",
                        1,
                        s ->
                                s.run(
                                        "BEGIN",
                                        "SAVEPOINT one",
                                        "REINDEX TABLE pg_depend",
                                        "ROLLBACK TO one",
                                        "REINDEX TABLE pg_description",
                                        "CREATE TABLE " + s.fresh("gone") + " (note text)",
                                        "ROLLBACK")));
        changes.add(
                new Change(
                        "vacuum",
                        4,
                        s -> {
                            String[] tables = {
                                "pg_class", "pg_attribute", "pg_depend", "pg_type", s.table()
                            };
                            s.run("VACUUM (FREEZE) " + tables[s.below(tables.length)]);
                        }));
        changes.add(
                new Change("analyze", 2, s -> s.run("ANALYZE " + s.table(), "ANALYZE pg_class")));
        changes.add(
                new Change(
                        "rewrite of a table",
                        3,
                        s -> {
                            String table = s.table();
                            s.run(
                                    "VACUUM FULL " + table,
                                    "CLUSTER " + table + " USING " + table + "_pkey");
                        }));
    }

    private static void transactions(List<Change> changes) {
        changes.add(
                new Change(
                        "rolled back",
                        4,
                        s -> {
                            String name = s.fresh("rb");
                            s.run(
                                    "BEGIN",
                                    "CREATE TABLE " + name + " (id int PRIMARY KEY, note text)",
                                    "INSERT INTO "
                                            + name
                                            + " VALUES (1, '"
                                            + DdlStorm.CANARY
                                            + "')",
                                    "ALTER TABLE IF EXISTS "
                                            + s.table()
                                            + " ADD COLUMN "
                                            + name
                                            + " int",
                                    "ROLLBACK");
                        }));
        changes.add(
                new Change(
                        "savepoints",
                        4,
                        s -> {
                            String name = s.fresh("sp");
                            s.run("BEGIN", "CREATE TABLE " + name + " (id int, note text)");
                            int depth = s.below(4) == 0 ? 90 : 5;
                            for (int i = 0; i < depth; i++) {
                                s.run(
                                        "SAVEPOINT p" + i,
                                        "ALTER TABLE " + name + " ADD COLUMN c" + i + " int",
                                        "INSERT INTO "
                                                + name
                                                + " (id, note) VALUES (1, '"
                                                + DdlStorm.CANARY
                                                + "')");
                                if (i % 3 == 1) {
                                    s.run("ROLLBACK TO p" + i);
                                } else if (i % 3 == 2) {
                                    s.run("RELEASE p" + i);
                                }
                            }
                            s.run("COMMIT");
                        }));
        changes.add(
                new Change(
                        "prepared transaction",
                        2,
                        s -> {
                            String name = s.fresh("pre");
                            s.run(
                                    "BEGIN",
                                    "CREATE TABLE " + name + " (id int PRIMARY KEY, note text)",
                                    "INSERT INTO "
                                            + name
                                            + " VALUES (1, '"
                                            + DdlStorm.CANARY
                                            + "')",
                                    "PREPARE TRANSACTION '" + name + "'",
                                    (s.below(2) == 0 ? "COMMIT" : "ROLLBACK")
                                            + " PREPARED '"
                                            + name
                                            + "'");
                        }));
        changes.add(
                new Change(
                        "checkpoint and switch",
                        1,
                        s -> s.run("CHECKPOINT", "SELECT pg_switch_wal()")));
    }

    private static void clusters(List<Change> changes) {
        for (String strategy : List.of("wal_log", "file_copy")) {
            changes.add(
                    new Change(
                            "database by " + strategy,
                            1,
                            s -> {
                                String name = s.fresh("db");
                                s.run(
                                        "CREATE DATABASE "
                                                + name
                                                + " TEMPLATE template0 STRATEGY "
                                                + strategy,
                                        "ALTER DATABASE " + name + " SET work_mem = '7MB'",
                                        s.below(2) == 0
                                                ? "DROP DATABASE " + name
                                                : "ALTER DATABASE "
                                                        + name
                                                        + " RENAME TO kept"
                                                        + name);
                            }));
        }
        changes.add(
                new Change(
                        "database in a tablespace",
                        1,
                        s -> {
                            String name = s.fresh("ts");
                            s.run(
                                    "CREATE TABLESPACE " + name + " LOCATION ''",
                                    "CREATE DATABASE "
                                            + name
                                            + " TEMPLATE template0 TABLESPACE "
                                            + name,
                                    "ALTER DATABASE " + name + " SET TABLESPACE pg_default",
                                    "DROP DATABASE " + name,
                                    "DROP TABLESPACE " + name);
                        }));
    }
}
