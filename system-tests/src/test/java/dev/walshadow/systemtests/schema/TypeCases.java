package dev.walshadow.systemtests.schema;

import java.util.List;

/** User-defined types, which no lock on a table announces, and materialised views. */
final class TypeCases {
    private static final String MOOD = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')";

    private TypeCases() {}

    static List<Change> changes() {
        return List.of(
                Change.of(
                                "renames a label of an enum",
                                "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
                        .instead(
                                MOOD,
                                "CREATE TABLE t (id int PRIMARY KEY, v text, n int, m mood)",
                                "INSERT INTO t SELECT i, 'v', i, (enum_range(NULL::mood))[i % 3 +"
                                        + " 1] FROM generate_series(1, 20) i"),
                Change.of(
                                "adds an attribute to a composite type",
                                "ALTER TYPE pair ADD ATTRIBUTE c int")
                        .instead(
                                "CREATE TYPE pair AS (a int, b text)",
                                "CREATE TABLE t (id int PRIMARY KEY, v text, n int, p pair)",
                                "INSERT INTO t SELECT i, 'v', i, ROW(i, 'b,' || i)::pair FROM"
                                        + " generate_series(1, 20) i"),
                Change.of(
                                "changes a domain",
                                "ALTER DOMAIN small ADD CONSTRAINT little CHECK (value < 10000)",
                                "ALTER DOMAIN small SET DEFAULT 3",
                                "ALTER DOMAIN small RENAME TO tiny")
                        .instead(
                                "CREATE DOMAIN small AS int",
                                "CREATE TABLE t (id int PRIMARY KEY, v text, n small)",
                                Rows.FILL),
                Change.of(
                                "creates types and uses them",
                                MOOD,
                                "CREATE DOMAIN short AS varchar(5)",
                                "ALTER TABLE t ADD COLUMN m mood DEFAULT 'ok', ADD COLUMN s short")
                        .rowsAfter(
                                "INSERT INTO t (id, m, s) SELECT coalesce(max(id), 0) + 1, 'sad',"
                                        + " 'short' FROM t",
                                "UPDATE t SET m = 'happy' WHERE id % 4 = 0"),
                Change.of(
                                "renames a type and moves it",
                                "ALTER TYPE mood RENAME TO humour",
                                "ALTER TYPE humour SET SCHEMA $S_x_types")
                        .instead(
                                "CREATE SCHEMA $S_x_types",
                                MOOD,
                                "CREATE TABLE t (id int PRIMARY KEY, v text, n int, m mood)",
                                "INSERT INTO t SELECT i, 'v', i, 'ok' FROM generate_series(1,"
                                        + " 20) i"));
    }

    static List<SchemaCase> cases() {
        return List.of(
                SchemaCase.of("adds labels to an enum")
                        .before(
                                MOOD,
                                "CREATE TABLE t (id int PRIMARY KEY, m mood)",
                                "INSERT INTO t VALUES (1, 'sad'), (2, 'happy')")
                        .during(
                                "ALTER TYPE mood ADD VALUE 'great'",
                                "INSERT INTO t VALUES (3, 'great')",
                                "ALTER TYPE mood ADD VALUE 'worst' BEFORE 'sad'",
                                "INSERT INTO t VALUES (4, 'worst')",
                                "UPDATE t SET m = 'great' WHERE id = 1"),
                SchemaCase.of("uses a new enum in its transaction")
                        .transaction(
                                MOOD,
                                "CREATE TABLE t (id int PRIMARY KEY, m mood)",
                                "INSERT INTO t VALUES (1, 'sad'), (2, 'happy')",
                                "ALTER TYPE mood ADD VALUE 'great'",
                                "INSERT INTO t VALUES (3, 'ok')")
                        .during("INSERT INTO t VALUES (4, 'great')"),
                SchemaCase.of("drops and retypes attributes of a composite type")
                        .before(
                                "CREATE TYPE pair AS (a int, b text)",
                                "CREATE TABLE t (id int PRIMARY KEY, p pair, q pair[])",
                                "INSERT INTO t VALUES (1, ROW(1, 'x y'), ARRAY[ROW(2,"
                                        + " NULL)::pair])")
                        .during(
                                "ALTER TYPE pair DROP ATTRIBUTE a",
                                "INSERT INTO t VALUES (2, ROW('only'), NULL)",
                                "ALTER TYPE pair RENAME ATTRIBUTE b TO c",
                                "UPDATE t SET p = ROW('changed') WHERE id = 1"),
                SchemaCase.onTable("creates a materialised view")
                        .during(
                                "CREATE MATERIALIZED VIEW m AS SELECT id, v, n + 1 AS more FROM t",
                                Rows.INSERT,
                                Rows.DELETE,
                                "REFRESH MATERIALIZED VIEW m"),
                SchemaCase.onTable("refreshes a materialised view")
                        .before("CREATE MATERIALIZED VIEW m AS SELECT id, v FROM t WHERE id > 3")
                        .during(Rows.INSERT, Rows.UPDATE, "REFRESH MATERIALIZED VIEW m")
                        .transaction(
                                Rows.DELETE,
                                "REFRESH MATERIALIZED VIEW m",
                                Rows.INSERT,
                                "REFRESH MATERIALIZED VIEW m"),
                SchemaCase.onTable("refreshes a materialised view concurrently")
                        .before(
                                "CREATE MATERIALIZED VIEW m AS SELECT id, v FROM t WHERE id > 3",
                                "CREATE UNIQUE INDEX one ON m (id)")
                        .during(Rows.INSERT, Rows.UPDATE, Rows.DELETE)
                        .during("REFRESH MATERIALIZED VIEW CONCURRENTLY m")
                        .during("UPDATE t SET v = 'x' WHERE id = 20")
                        .during("REFRESH MATERIALIZED VIEW CONCURRENTLY m"),
                SchemaCase.onTable("fills a materialised view later")
                        .before("CREATE MATERIALIZED VIEW m AS SELECT v FROM t WITH NO DATA")
                        .during("REFRESH MATERIALIZED VIEW m", "CLUSTER t USING t_pkey")
                        .during("ALTER MATERIALIZED VIEW m RENAME TO mm"));
    }
}
