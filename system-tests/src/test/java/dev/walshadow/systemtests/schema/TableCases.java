package dev.walshadow.systemtests.schema;

import java.util.List;

/** Tables as a whole: created, renamed, moved, dropped. */
final class TableCases {
    private TableCases() {}

    static List<Change> changes() {
        return List.of(
                Change.of("renames a table", "ALTER TABLE t RENAME TO u")
                        .rowsAfter(
                                "INSERT INTO u (id, v) SELECT coalesce(max(id), 0) + 1, 'new' FROM"
                                        + " u",
                                "UPDATE u SET v = v || '-' WHERE id % 4 = 0"),
                Change.of(
                                "swaps the names of two tables",
                                "ALTER TABLE t RENAME TO passing",
                                "ALTER TABLE u RENAME TO t",
                                "ALTER TABLE passing RENAME TO u")
                        .also(
                                "CREATE TABLE u (id int PRIMARY KEY, v text, n int)",
                                "INSERT INTO u SELECT -i, 'u' || i, i FROM generate_series(1, 20)"
                                        + " i")
                        .rowsAfter(
                                Rows.INSERT,
                                Rows.UPDATE,
                                "UPDATE u SET v = 'of u' WHERE id % 4 = 0"),
                Change.of(
                                "swaps the names of two tables of other shapes",
                                "ALTER TABLE t RENAME TO passing",
                                "ALTER TABLE u RENAME TO t",
                                "ALTER TABLE passing RENAME TO u")
                        .also(
                                "CREATE TABLE u (code text PRIMARY KEY, amount numeric(9,2))",
                                "INSERT INTO u SELECT 'u' || i, i FROM generate_series(1, 20) i")
                        .rowsAfter(
                                "INSERT INTO t VALUES (gen_random_uuid()::text, 1)",
                                "UPDATE u SET v = 'of u' WHERE id % 4 = 0"),
                Change.of("moves a table to another schema", "ALTER TABLE t SET SCHEMA $S_x_other")
                        .also("CREATE SCHEMA $S_x_other")
                        .rowsAfter(
                                "INSERT INTO $S_x_other.t (id) SELECT coalesce(max(id), 0) + 1 FROM"
                                        + " $S_x_other.t",
                                "DELETE FROM $S_x_other.t WHERE id % 9 = 0"),
                Change.of("drops a table and makes it again", "DROP TABLE t", Rows.TABLE)
                        .rowsAfter(
                                "INSERT INTO t (id, v) SELECT coalesce(max(id), 0) + 1, 'again'"
                                        + " FROM t",
                                "UPDATE t SET v = v || '!'"),
                Change.of(
                                "drops a table and makes it again with other columns",
                                "DROP TABLE t",
                                "CREATE TABLE t (code text PRIMARY KEY, id int)")
                        .rowsAfter(
                                "INSERT INTO t VALUES (gen_random_uuid()::text, 1)",
                                "UPDATE t SET id = id + 1"),
                Change.of("drops a table", "DROP TABLE t").rowsAfter("SELECT 1"),
                Change.of("changes the owner", "ALTER TABLE t OWNER TO pg_database_owner"),
                Change.of(
                        "comments, grants, triggers and policies",
                        "COMMENT ON TABLE t IS 'a comment'",
                        "COMMENT ON COLUMN t.v IS 'another'",
                        "GRANT SELECT ON t TO PUBLIC",
                        "GRANT UPDATE (v) ON t TO pg_monitor",
                        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n :="
                                + " 42; RETURN NEW; END'",
                        "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
                        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
                        "CREATE POLICY p ON t USING (id > 0)",
                        "CREATE STATISTICS s ON v, n FROM t"),
                Change.of(
                        "adds and drops constraints",
                        "ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0)",
                        "ALTER TABLE t ADD CONSTRAINT single UNIQUE (id, v)",
                        "ALTER TABLE t DROP CONSTRAINT positive"),
                Change.of(
                        "creates views, functions and rules",
                        "CREATE VIEW seen AS SELECT id, v FROM t",
                        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                        "CREATE RULE quiet AS ON DELETE TO seen DO INSTEAD NOTHING"),
                Change.of(
                        "publishes all tables",
                        "CREATE PUBLICATION $S_x_all FOR ALL TABLES",
                        "DROP PUBLICATION $S_x_all",
                        "CREATE PUBLICATION $S_x_one FOR TABLE t"),
                Change.of(
                        "makes temporary tables",
                        "CREATE TEMPORARY TABLE passing (id int PRIMARY KEY, v text)",
                        "INSERT INTO passing SELECT id, v FROM t",
                        "CREATE INDEX passing_v ON passing (v)",
                        "TRUNCATE passing",
                        "DROP TABLE passing"));
    }

    static List<SchemaCase> cases() {
        return List.of(
                SchemaCase.of("creates a table").during(Rows.TABLE, Rows.FILL).during(Rows.ALL),
                SchemaCase.of("creates and fills a table in one transaction")
                        .transaction(Rows.TABLE, Rows.FILL, Rows.UPDATE, Rows.DELETE)
                        .during(Rows.ALL),
                SchemaCase.of("creates, fills and alters a table in one transaction")
                        .transaction(
                                Rows.TABLE,
                                Rows.FILL,
                                "ALTER TABLE t ADD COLUMN more text DEFAULT 'more'",
                                Rows.INSERT,
                                "ALTER TABLE t DROP COLUMN n",
                                "ALTER TABLE t ALTER id TYPE bigint",
                                Rows.UPDATE,
                                "ALTER TABLE t RENAME TO u",
                                "INSERT INTO u (id) VALUES (1000)"),
                SchemaCase.of("creates and drops a table in one transaction")
                        .before(Rows.TABLE, Rows.FILL)
                        .transaction(
                                "CREATE TABLE u (id int PRIMARY KEY)",
                                "INSERT INTO u VALUES (1)",
                                "DROP TABLE u",
                                Rows.INSERT),
                SchemaCase.of("creates a table, rolls it back, creates it again")
                        .transaction(
                                "SAVEPOINT a",
                                "CREATE TABLE t (id int PRIMARY KEY, gone text)",
                                "INSERT INTO t VALUES (1, 'gone')",
                                "ROLLBACK TO a",
                                Rows.TABLE,
                                Rows.FILL),
                SchemaCase.onTable("creates a table LIKE another")
                        .transaction(
                                "CREATE TABLE u (LIKE t INCLUDING ALL)",
                                "INSERT INTO u SELECT * FROM t WHERE id > 20")
                        .during("UPDATE u SET v = 'of u' WHERE id % 2 = 0"),
                SchemaCase.onTable("creates a table AS a query")
                        .during(
                                "CREATE TABLE u AS SELECT id, v FROM t",
                                "ALTER TABLE u ADD PRIMARY KEY (id)",
                                "DELETE FROM u WHERE id % 2 = 0"),
                SchemaCase.onTable("creates tables that inherit")
                        .during(
                                "CREATE TABLE child (more int, PRIMARY KEY (id)) INHERITS (t)",
                                "INSERT INTO child (id, v, more) VALUES (1000, 'child', 1)",
                                Rows.INSERT,
                                "UPDATE t SET v = v || '+'",
                                "ALTER TABLE t ADD COLUMN shared text DEFAULT 'b'",
                                "UPDATE t SET shared = 'c' WHERE id % 2 = 0",
                                "ALTER TABLE child NO INHERIT t",
                                "DELETE FROM child"),
                SchemaCase.of("creates generated and identity columns")
                        .during(
                                "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n"
                                    + " int GENERATED BY DEFAULT AS IDENTITY (START 100), v text, w"
                                    + " text GENERATED ALWAYS AS (upper(v)) STORED)",
                                "INSERT INTO t (v) SELECT 'v' || i FROM generate_series(1, 9) i",
                                "UPDATE t SET v = 'z' WHERE id = 4"),
                SchemaCase.of("creates virtual generated columns")
                        .during(
                                "CREATE TABLE t (id int PRIMARY KEY, a int, b int GENERATED ALWAYS"
                                        + " AS (a * 2), c text)",
                                "INSERT INTO t (id, a, c) SELECT i, i, 'c' FROM"
                                        + " generate_series(1, 9) i",
                                "UPDATE t SET a = 7 WHERE id = 4")
                        .since(18),
                SchemaCase.onTable("renames a table and makes another of its name")
                        .transaction(
                                "ALTER TABLE t RENAME TO old",
                                Rows.TABLE,
                                "INSERT INTO t SELECT * FROM old WHERE id < 10",
                                "UPDATE old SET v = 'old'")
                        .during("DROP TABLE old")
                        .during(Rows.ALL),
                SchemaCase.of("renames a schema")
                        .before(
                                "CREATE SCHEMA $S_x_one",
                                "CREATE TABLE $S_x_one.t (id int PRIMARY KEY, v text)",
                                "INSERT INTO $S_x_one.t VALUES (1, 'one'), (2, 'two')")
                        .during(
                                "ALTER SCHEMA $S_x_one RENAME TO $S_x_two",
                                "INSERT INTO $S_x_two.t VALUES (3, 'three')",
                                "DELETE FROM $S_x_two.t WHERE id = 1"),
                SchemaCase.of("renames a schema between rows of its transaction")
                        .before(
                                "CREATE SCHEMA $S_x_one",
                                "CREATE TABLE $S_x_one.t (id int PRIMARY KEY, v text)",
                                "INSERT INTO $S_x_one.t VALUES (1, 'one'), (2, 'two')")
                        .transaction(
                                "UPDATE $S_x_one.t SET v = 'before'",
                                "ALTER SCHEMA $S_x_one RENAME TO $S_x_two",
                                "INSERT INTO $S_x_two.t VALUES (3, 'three')"),
                SchemaCase.onTable("drops a schema with its tables")
                        .before(
                                "CREATE SCHEMA $S_x_one",
                                "CREATE TABLE $S_x_one.t (id int PRIMARY KEY, v text)",
                                "CREATE TABLE $S_x_one.u (id int PRIMARY KEY, v text)",
                                "INSERT INTO $S_x_one.t VALUES (1, 'one'), (2, 'two')")
                        .transaction(
                                "INSERT INTO $S_x_one.t VALUES (3, 'three')",
                                "DROP SCHEMA $S_x_one CASCADE",
                                Rows.INSERT),
                SchemaCase.onTable("drops a table, and makes it again later")
                        .during("DROP TABLE t")
                        .during(Rows.TABLE, "INSERT INTO t VALUES (1, 'again', 1)")
                        .during("DROP TABLE t")
                        .during("CREATE TABLE t (id text PRIMARY KEY, w int)")
                        .during("INSERT INTO t VALUES ('third', 3)"),
                SchemaCase.onTable("keeps the target of a dropped table")
                        .before("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1)")
                        .during("INSERT INTO u VALUES (2)", "DROP TABLE u")
                        .target("SELECT count() FROM `$S`.u FINAL", "2"));
    }

    /** Several changes at once, several sessions. */
    static List<SchemaCase> mixed() {
        return List.of(
                SchemaCase.onTable("changes everything in one transaction")
                        .before("CREATE TABLE u (id int PRIMARY KEY, t int)")
                        .transaction(
                                Rows.INSERT,
                                "ALTER TABLE t ADD COLUMN a int DEFAULT 5",
                                Rows.UPDATE,
                                "ALTER TABLE t RENAME COLUMN v TO w",
                                "UPDATE t SET w = w || '/', a = 6 WHERE id % 4 = 0",
                                "INSERT INTO u SELECT id, id FROM t",
                                "ALTER TABLE t DROP COLUMN n",
                                "ALTER TABLE u ALTER t TYPE text",
                                "ALTER TABLE t ALTER a TYPE text USING 'a' || a",
                                "DELETE FROM t WHERE id % 5 = 0",
                                "ALTER TABLE t RENAME TO tt",
                                "ALTER TABLE u RENAME TO t",
                                "INSERT INTO t VALUES (-1, 'minus')",
                                "INSERT INTO tt (id) VALUES (-1)"),
                SchemaCase.onTable("changes shape in nested savepoints")
                        .transaction(
                                Rows.INSERT,
                                "SAVEPOINT a",
                                "ALTER TABLE t ADD COLUMN a int DEFAULT 1",
                                Rows.INSERT,
                                "SAVEPOINT b",
                                "ALTER TABLE t DROP COLUMN v",
                                Rows.INSERT_ID,
                                "ROLLBACK TO b",
                                Rows.UPDATE,
                                "SAVEPOINT c",
                                "ALTER TABLE t ADD COLUMN c text DEFAULT 'c'",
                                "RELEASE c",
                                Rows.INSERT,
                                "ROLLBACK TO a",
                                "ALTER TABLE t ADD COLUMN a text DEFAULT 'other'",
                                Rows.INSERT),
                SchemaCase.onTable("changes shape while another session holds rows")
                        .before("CREATE TABLE u (id int PRIMARY KEY, v text)")
                        .during(
                                "a> BEGIN",
                                "a> INSERT INTO u SELECT i, 'held' FROM generate_series(1, 50) i",
                                "ALTER TABLE t ADD COLUMN more int DEFAULT 3",
                                Rows.INSERT,
                                "a> INSERT INTO t (id, more) VALUES (5000, 9)",
                                "b> UPDATE t SET v = 'b' WHERE id = 7",
                                "a> UPDATE u SET v = 'late' WHERE id = 3",
                                "a> COMMIT",
                                "ALTER TABLE t DROP COLUMN v",
                                Rows.INSERT_ID),
                SchemaCase.onTable("a session that began before writes after the change")
                        .during(
                                "a> BEGIN",
                                "a> SELECT pg_current_xact_id()",
                                "a> SAVEPOINT x",
                                "ALTER TABLE t ALTER n TYPE bigint",
                                "a> INSERT INTO t VALUES (5000, 'a', 1)",
                                "a> ROLLBACK TO x",
                                "a> INSERT INTO t VALUES (5001, 'b', 3000000000)",
                                Rows.INSERT,
                                "a> COMMIT"),
                SchemaCase.onTable("alternates rows and changes")
                        .during("ALTER TABLE t ADD COLUMN a1 int DEFAULT 1", Rows.INSERT)
                        .during("ALTER TABLE t ADD COLUMN a2 int DEFAULT 2", Rows.UPDATE)
                        .during("ALTER TABLE t DROP COLUMN a1", Rows.INSERT)
                        .during("ALTER TABLE t RENAME COLUMN a2 TO a1", Rows.UPDATE)
                        .during("ALTER TABLE t ALTER a1 TYPE text", Rows.INSERT)
                        .during("ALTER TABLE t ADD COLUMN a2 int DEFAULT 3", Rows.DELETE)
                        .during("TRUNCATE t", "INSERT INTO t VALUES (1, 'one', 1, 'x', 4)")
                        .during("ALTER TABLE t DROP COLUMN a1, DROP COLUMN a2", Rows.INSERT),
                SchemaCase.onTable("a failed statement between changes")
                        .transaction(
                                Rows.INSERT,
                                "SAVEPOINT a",
                                "ALTER TABLE t ADD COLUMN a int",
                                "! INSERT INTO t (id) SELECT id FROM t",
                                "ROLLBACK TO a",
                                "ALTER TABLE t ADD COLUMN b int DEFAULT 8",
                                Rows.INSERT));
    }
}
