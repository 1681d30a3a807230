package dev.walshadow.systemtests.schema;

import java.util.List;

/** Partitioned tables arrive as one table; inheritance parents hold their own rows only. */
final class PartitionCases {
    private static final String[] BY_RANGE = {
        "CREATE TABLE p (id int, at int, v text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200)",
        "INSERT INTO p SELECT i, i * 5, 'v' || i FROM generate_series(1, 39) i"
    };
    private static final String INSERT =
            "INSERT INTO p (id, at, v) SELECT coalesce(max(id), 0) + 1, 50, 'new' FROM p";
    private static final String UPDATE = "UPDATE p SET v = v || '+' WHERE id % 3 = 0";
    private static final String MOVE = "UPDATE p SET at = 199 - at WHERE id % 4 = 0";
    private static final String DELETE = "DELETE FROM p WHERE id % 7 = 0";

    private PartitionCases() {}

    static List<Change> changes() {
        return List.of(
                change(
                                "adds a partition",
                                "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (200) TO (300)")
                        .rowsAfter(
                                "INSERT INTO p SELECT coalesce(max(id), 0) + 1, 250, 'third' FROM"
                                        + " p",
                                UPDATE),
                change("adds a default partition", "CREATE TABLE rest PARTITION OF p DEFAULT")
                        .rowsAfter(
                                "INSERT INTO p SELECT coalesce(max(id), 0) + 1, 999, 'rest' FROM p",
                                UPDATE),
                change(
                                "attaches a filled partition",
                                "ALTER TABLE p ATTACH PARTITION ready FOR VALUES FROM (200) TO"
                                        + " (300)")
                        .also(
                                "CREATE TABLE ready (v text, at int NOT NULL, id int NOT NULL)",
                                "INSERT INTO ready SELECT 'ready', 200 + i, 1000 + i FROM"
                                        + " generate_series(1, 20) i")
                        .rowsAfter("UPDATE p SET v = v || '!' WHERE at > 90", DELETE),
                change("detaches a partition", "ALTER TABLE p DETACH PARTITION p2")
                        .rowsAfter(UPDATE, "UPDATE p2 SET v = 'alone' WHERE id % 2 = 0"),
                change("drops a partition", "DROP TABLE p2").rowsAfter(UPDATE),
                change("empties a partition", "TRUNCATE p2").rowsAfter(UPDATE, MOVE),
                change("empties a partitioned table", "TRUNCATE p")
                        .rowsAfter(
                                "INSERT INTO p SELECT coalesce(max(id), 0) + 1, 150, 'again' FROM"
                                        + " p"),
                change(
                                "adds a column to a partitioned table",
                                "ALTER TABLE p ADD COLUMN more int DEFAULT 3")
                        .rowsAfter(INSERT, "UPDATE p SET more = 4 WHERE id % 2 = 0", MOVE),
                change("drops a column of a partitioned table", "ALTER TABLE p DROP COLUMN v")
                        .rowsAfter(
                                "INSERT INTO p SELECT coalesce(max(id), 0) + 1, 150 FROM p", MOVE),
                change("renames a partitioned table", "ALTER TABLE p RENAME TO q")
                        .rowsAfter("UPDATE q SET at = 199 - at WHERE id % 4 = 0"),
                change(
                                "changes the type of a partitioned table's column",
                                "ALTER TABLE p ALTER v TYPE varchar(100), ALTER id TYPE bigint")
                        .rowsAfter(INSERT, UPDATE, MOVE, DELETE),
                change("drops a partitioned table", "DROP TABLE p").rowsAfter("SELECT 1"));
    }

    private static Change change(String name, String... statements) {
        return Change.of(name, statements).instead(BY_RANGE).rows(INSERT, UPDATE, MOVE, DELETE);
    }

    static List<SchemaCase> cases() {
        return List.of(
                SchemaCase.of("creates a partitioned table")
                        .during(BY_RANGE)
                        .during(INSERT, UPDATE, MOVE, DELETE),
                SchemaCase.of("creates a partitioned table in one transaction")
                        .transaction(BY_RANGE)
                        .during(INSERT, UPDATE, MOVE, DELETE),
                SchemaCase.of("moves rows between partitions")
                        .before(BY_RANGE)
                        .during(MOVE, MOVE, UPDATE)
                        .transaction(MOVE, "SAVEPOINT a", MOVE, "ROLLBACK TO a", DELETE),
                SchemaCase.of("partitions of other column orders")
                        .before(
                                "CREATE TABLE p (id int PRIMARY KEY, v text, n int) PARTITION BY"
                                        + " RANGE (id)",
                                "CREATE TABLE p1 (gone int, n int, id int NOT NULL, v text)",
                                "ALTER TABLE p1 DROP COLUMN gone",
                                "ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (100)",
                                "CREATE TABLE p2 (v text, n int, id int NOT NULL)",
                                "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)",
                                "INSERT INTO p SELECT i * 5, 'v', i FROM generate_series(1, 39) i")
                        .during("UPDATE p SET id = 199 - id WHERE id % 4 = 0")
                        .during("ALTER TABLE p ADD COLUMN more text DEFAULT 'm'")
                        .during("UPDATE p SET id = 199 - id WHERE id % 3 = 0"),
                SchemaCase.of("sub-partitions")
                        .before(
                                "CREATE TABLE p (id int, kind text, v text, PRIMARY KEY (id, kind))"
                                        + " PARTITION BY LIST (kind)",
                                "CREATE TABLE pa PARTITION OF p FOR VALUES IN ('a') PARTITION BY"
                                        + " HASH (id)",
                                "CREATE TABLE pa0 PARTITION OF pa FOR VALUES WITH (MODULUS 2,"
                                        + " REMAINDER 0)",
                                "CREATE TABLE pa1 PARTITION OF pa FOR VALUES WITH (MODULUS 2,"
                                        + " REMAINDER 1)",
                                "CREATE TABLE rest PARTITION OF p DEFAULT",
                                "INSERT INTO p SELECT i, chr(97 + i % 3), 'v' FROM"
                                        + " generate_series(1, 40) i")
                        .during("UPDATE p SET kind = 'a' WHERE id % 4 = 0")
                        .during("UPDATE p SET id = id + 100, v = 'moved' WHERE kind = 'a'")
                        .during(
                                "ALTER TABLE p DETACH PARTITION pa",
                                "DELETE FROM pa WHERE id > 120")
                        .during("ALTER TABLE p ATTACH PARTITION pa FOR VALUES IN ('a')"),
                SchemaCase.of("detaches a partition concurrently")
                        .before(BY_RANGE)
                        .during("ALTER TABLE p DETACH PARTITION p2 CONCURRENTLY")
                        .during(UPDATE, "DELETE FROM p2 WHERE id % 2 = 0", "DROP TABLE p2"),
                SchemaCase.of("detaches a partition and attaches it again")
                        .before(BY_RANGE)
                        .transaction(
                                UPDATE,
                                "ALTER TABLE p DETACH PARTITION p2",
                                "UPDATE p2 SET v = 'detached'",
                                "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)",
                                DELETE),
                SchemaCase.of("a partitioned table is dropped and made anew under its name")
                        .before(BY_RANGE)
                        .during(UPDATE, "DROP TABLE p")
                        .during(BY_RANGE)
                        .during(INSERT, UPDATE, MOVE, DELETE),
                SchemaCase.of("a partitioned table is dropped and made anew in one transaction")
                        .before(BY_RANGE)
                        .during("BEGIN", UPDATE, "DROP TABLE p")
                        .during(BY_RANGE)
                        .during(INSERT, MOVE, "COMMIT", UPDATE, DELETE),
                SchemaCase.of("a partitioned table is made anew with other columns and a partition")
                        .before(BY_RANGE)
                        .during(
                                "ALTER TABLE p DETACH PARTITION p2",
                                "DROP TABLE p",
                                "ALTER TABLE p2 ADD COLUMN more text DEFAULT 'm'",
                                "CREATE TABLE p (more text, v text, at int, id int, PRIMARY KEY"
                                        + " (id, at)) PARTITION BY RANGE (at)",
                                "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)",
                                "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)")
                        .during(INSERT, UPDATE, MOVE, DELETE),
                SchemaCase.of("a partitioned table without a key")
                        .before(
                                "CREATE TABLE p (id int, at int, v text) PARTITION BY RANGE (at)",
                                "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
                                "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200)",
                                "INSERT INTO p SELECT 1, i * 5, 'v' FROM generate_series(1, 39) i",
                                "INSERT INTO p SELECT * FROM p")
                        .during("UPDATE p SET at = 199 - at WHERE at % 4 = 0")
                        .during("DELETE FROM p WHERE ctid = '(0,3)'", "VACUUM FULL p1")
                        .during("INSERT INTO p VALUES (2, 3, 'x'), (2, 3, 'x')"),
                SchemaCase.of("an inheritance parent and its children")
                        .before(
                                Rows.TABLE,
                                "CREATE TABLE c1 (a int, PRIMARY KEY (id)) INHERITS (t)",
                                "CREATE TABLE c2 (b int, PRIMARY KEY (id)) INHERITS (c1)",
                                Rows.FILL,
                                "INSERT INTO c1 SELECT i, 'c1', i, i FROM generate_series(1, 20) i",
                                "INSERT INTO c2 SELECT i, 'c2', i, i FROM generate_series(1, 20) i")
                        .during("UPDATE t SET v = v || '+'", "DELETE FROM ONLY t WHERE id < 5")
                        .during("TRUNCATE ONLY t", "INSERT INTO t VALUES (1, 'one', 1)")
                        .during("ALTER TABLE t DROP COLUMN n", "DELETE FROM t WHERE id % 2 = 0"));
    }
}
