package dev.walshadow.systemtests.schema;

import java.util.List;

/** Columns: added, dropped, renamed, of another type, with and without a rewrite. */
final class ColumnChanges {
    private ColumnChanges() {}

    static List<Change> all() {
        return List.of(
                Change.of("adds a column", "ALTER TABLE t ADD COLUMN more text")
                        .rowsAfter(
                                "INSERT INTO t (id, more) SELECT coalesce(max(id), 0) + 1, 'more'"
                                        + " FROM t",
                                "UPDATE t SET more = 'set ' || id WHERE id % 4 = 0",
                                Rows.DELETE),
                Change.of(
                        "adds three columns at once",
                        "ALTER TABLE t ADD a int, ADD b numeric(8,2) DEFAULT 1.5, ADD c text[]"),
                Change.of(
                        "adds a column with a constant default",
                        "ALTER TABLE t ADD COLUMN state text NOT NULL DEFAULT 'fresh'"),
                Change.of(
                        "adds a column with a default of today",
                        "ALTER TABLE t ADD COLUMN made timestamptz DEFAULT now()"),
                Change.of(
                        "adds a column and changes its default",
                        "ALTER TABLE t ADD COLUMN state int DEFAULT 1",
                        "ALTER TABLE t ALTER state SET DEFAULT 2"),
                Change.of(
                        "adds a column with a volatile default",
                        "ALTER TABLE t ADD COLUMN token uuid DEFAULT gen_random_uuid()"),
                Change.of(
                        "adds a generated column",
                        "ALTER TABLE t ADD COLUMN twice int GENERATED ALWAYS AS (id * 2) STORED"),
                Change.of(
                                "adds a virtual generated column",
                                "ALTER TABLE t ADD COLUMN twice int GENERATED ALWAYS AS (id * 2)"
                                        + " VIRTUAL")
                        .since(18),
                Change.of(
                        "adds an identity column",
                        "ALTER TABLE t ADD COLUMN seq int GENERATED ALWAYS AS IDENTITY"),
                Change.of("adds a serial column", "ALTER TABLE t ADD COLUMN seq bigserial"),
                Change.of("drops a column", "ALTER TABLE t DROP COLUMN v")
                        .rowsAfter(Rows.INSERT_ID, "UPDATE t SET n = n + 1 WHERE id % 3 = 0"),
                Change.of("drops the last column", "ALTER TABLE t DROP COLUMN n")
                        .rowsAfter(Rows.INSERT_ID, Rows.UPDATE, Rows.DELETE),
                Change.of(
                                "drops a column and adds it again with another type",
                                "ALTER TABLE t DROP COLUMN v",
                                "ALTER TABLE t ADD COLUMN v numeric(10,3) DEFAULT 3.125")
                        .rowsAfter(
                                Rows.INSERT_ID,
                                "UPDATE t SET v = v + 1 WHERE id % 3 = 0",
                                Rows.DELETE),
                Change.of(
                        "drops a column and adds it again with the same type",
                        "ALTER TABLE t DROP COLUMN v",
                        "ALTER TABLE t ADD COLUMN v text"),
                Change.of("renames a column", "ALTER TABLE t RENAME COLUMN v TO w")
                        .rowsAfter(
                                Rows.INSERT_ID,
                                "UPDATE t SET w = w || '-' WHERE id % 4 = 0",
                                Rows.DELETE),
                Change.of("renames a key column", "ALTER TABLE t RENAME COLUMN id TO number")
                        .rowsAfter(
                                "INSERT INTO t (number) SELECT coalesce(max(number), 0) + 1 FROM t",
                                "UPDATE t SET v = v || '-' WHERE number % 4 = 0",
                                "DELETE FROM t WHERE number = (SELECT max(number) FROM t)"),
                Change.of(
                                "swaps the names of two columns",
                                "ALTER TABLE t RENAME COLUMN v TO passing",
                                "ALTER TABLE t RENAME COLUMN n TO v",
                                "ALTER TABLE t RENAME COLUMN passing TO n")
                        .rowsAfter(
                                Rows.INSERT_ID,
                                "UPDATE t SET n = n || '-', v = v + 1 WHERE id % 4 = 0",
                                Rows.DELETE),
                Change.of(
                                "swaps the names of two columns of one type",
                                "ALTER TABLE t RENAME COLUMN a TO passing",
                                "ALTER TABLE t RENAME COLUMN b TO a",
                                "ALTER TABLE t RENAME COLUMN passing TO b")
                        .instead(
                                "CREATE TABLE t (id int PRIMARY KEY, a int, b int)",
                                "INSERT INTO t SELECT i, i, -i FROM generate_series(1, 30) i")
                        .rows(
                                "INSERT INTO t (id, a, b) SELECT coalesce(max(id), 0) + 1, 1, -1"
                                        + " FROM t",
                                "UPDATE t SET a = a + 100 WHERE id % 3 = 0",
                                Rows.DELETE),
                Change.of(
                                "renames a column to a name that was dropped before it",
                                "ALTER TABLE t DROP COLUMN v",
                                "ALTER TABLE t RENAME COLUMN n TO v")
                        .rowsAfter(Rows.INSERT_ID, "UPDATE t SET v = v + 1 WHERE id % 3 = 0"),
                Change.of("makes a column NOT NULL", "ALTER TABLE t ALTER v SET NOT NULL"),
                Change.of("lets a column be NULL", "ALTER TABLE t ALTER v DROP NOT NULL")
                        .instead("CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL, n int)")
                        .also(Rows.FILL)
                        .rowsAfter(Rows.INSERT_ID, "UPDATE t SET v = NULL WHERE id % 5 = 0"),
                Change.of(
                        "sets and drops defaults",
                        "ALTER TABLE t ALTER v SET DEFAULT 'default', ALTER n SET DEFAULT 9",
                        "ALTER TABLE t ALTER n DROP DEFAULT"),
                Change.of(
                        "changes storage, statistics and compression of a column",
                        "ALTER TABLE t ALTER v SET STORAGE EXTERNAL",
                        "ALTER TABLE t ALTER v SET STATISTICS 0",
                        "ALTER TABLE t ALTER v SET COMPRESSION pglz"));
    }

    /** Without a rewrite, with one, on key columns. */
    static List<Change> types() {
        return List.of(
                retyped("widens a varchar", "v varchar(10)", "'v' || i", "varchar(20)"),
                retyped("turns varchar into text", "v varchar(30)", "'v' || i", "text"),
                retyped("widens a numeric", "v numeric(8,2)", "i + 0.25", "numeric(12,2)"),
                retyped("changes a numeric's scale", "v numeric(8,2)", "i + 0.25", "numeric(8,4)"),
                retyped(
                        "reduces a numeric's scale",
                        "v numeric(8,4)",
                        "i + 0.1259",
                        "numeric(8,1)"),
                retyped("frees a numeric", "v numeric(8,2)", "i + 0.25", "numeric"),
                retyped("turns int into bigint", "v int", "i", "bigint"),
                retyped("turns bigint into int", "v bigint", "i", "int"),
                retyped("turns int into text", "v int", "i", "text"),
                retyped("turns text into int", "v text", "i::text", "int USING v::int"),
                retyped(
                        "turns timestamp into timestamptz",
                        "v timestamp",
                        "timestamp '2024-03-30 22:00' + i * interval '1 hour'",
                        "timestamptz USING v AT TIME ZONE 'Europe/Berlin'"),
                retyped(
                        "turns timestamp into timestamptz in UTC, where no rewrite is needed",
                        "v timestamp",
                        "timestamp '2024-03-30 22:00' + i * interval '1 hour'",
                        "timestamptz"),
                retyped(
                        "turns text into jsonb",
                        "v text",
                        "'{\"a\": ' || i || '}'",
                        "jsonb USING v::jsonb"),
                retyped("turns int into int array", "v int", "i", "int[] USING ARRAY[v, NULL, 0]"),
                retyped(
                        "turns boolean into smallint",
                        "v boolean",
                        "i % 2 = 0",
                        "smallint USING v::int"),
                retyped("turns float into numeric", "v float8", "i / 8.0", "numeric(20,4)"),
                retyped("changes a collation", "v text", "'v' || i", "text COLLATE \"C\""),
                rekeyed("widens a key column", "id int", "bigint"),
                rekeyed("turns a key column into text", "id int", "text USING 'k' || id"),
                rekeyed("narrows a key column", "id bigint", "int"),
                Change.of(
                                "changes the value that the key columns hold",
                                "ALTER TABLE t ALTER id TYPE int USING 1000 - id")
                        .rows("UPDATE t SET v = v || '+' WHERE id % 3 = 0", Rows.DELETE));
    }

    private static Change retyped(String name, String column, String value, String type) {
        return Change.of(name, "ALTER TABLE t ALTER COLUMN v TYPE " + type)
                .instead(
                        "CREATE TABLE t (id int PRIMARY KEY, " + column + ", n int)",
                        "INSERT INTO t SELECT i, " + value + " FROM generate_series(1, 30) i",
                        "INSERT INTO t SELECT i FROM generate_series(31, 33) i")
                .rows(
                        "INSERT INTO t (id, v) SELECT coalesce(max(id), 0) + 1, (SELECT v FROM t"
                                + " WHERE id = 20) FROM t",
                        "UPDATE t SET n = 1 WHERE id % 3 = 0",
                        Rows.DELETE);
    }

    private static Change rekeyed(String name, String column, String type) {
        return Change.of(name, "ALTER TABLE t ALTER COLUMN id TYPE " + type)
                .instead("CREATE TABLE t (" + column + " PRIMARY KEY, v text, n int)")
                .also(Rows.FILL)
                .rowsAfter(
                        "DELETE FROM t WHERE id::text IN ('777', '778')",
                        "UPDATE t SET v = v || '+' WHERE id::text LIKE '%3'",
                        "DELETE FROM t WHERE id = (SELECT min(id) FROM t)",
                        "UPDATE t SET id = '777' WHERE id = (SELECT max(id) FROM t)",
                        "UPDATE t SET id = '778' WHERE id::text = '777'");
    }
}
