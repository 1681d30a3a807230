package dev.walshadow.systemtests.schema;

import java.util.List;

/** What identifies a row: primary keys, replica identities, tables without either. */
final class KeyChanges {
    private static final String NO_KEY = "CREATE TABLE t (id int NOT NULL, v text, n int)";

    private KeyChanges() {}

    static List<Change> all() {
        return List.of(
                Change.of("adds a primary key", "ALTER TABLE t ADD PRIMARY KEY (id)")
                        .instead(NO_KEY)
                        .also(Rows.FILL),
                Change.of(
                                "makes an index the primary key",
                                "ALTER TABLE t ADD CONSTRAINT keyed PRIMARY KEY USING INDEX one")
                        .instead(NO_KEY)
                        .also(Rows.FILL, "CREATE UNIQUE INDEX one ON t (id)"),
                Change.of("drops the primary key", "ALTER TABLE t DROP CONSTRAINT t_pkey"),
                Change.of(
                                "replaces the primary key by another column",
                                "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (n)")
                        .rows(
                                "INSERT INTO t (id, v, n) SELECT coalesce(max(id), 0) + 1, 'new',"
                                        + " max(n) + 10 FROM t",
                                Rows.UPDATE,
                                "UPDATE t SET n = n + 1 WHERE id % 5 = 0",
                                Rows.DELETE),
                Change.of(
                                "extends the primary key",
                                "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, n)")
                        .rows(Rows.INSERT, Rows.UPDATE, Rows.DELETE, "UPDATE t SET n = n + 1"),
                Change.of(
                                "turns the primary key's columns round",
                                "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (b, a)")
                        .instead(
                                "CREATE TABLE t (a int, b int, v text, PRIMARY KEY (a, b))",
                                "INSERT INTO t SELECT i % 5, i, 'v' FROM generate_series(1, 30) i")
                        .rows(
                                "INSERT INTO t SELECT 9, coalesce(max(b), 0) + 1, 'new' FROM t",
                                "UPDATE t SET v = v || '+' WHERE b % 3 = 0",
                                "UPDATE t SET a = a + 1 WHERE b % 4 = 0",
                                "DELETE FROM t WHERE b = (SELECT min(b) FROM t)"),
                Change.of("renames the primary key", "ALTER INDEX t_pkey RENAME TO other_key"),
                Change.of("sets the replica identity FULL", "ALTER TABLE t REPLICA IDENTITY FULL"),
                Change.of(
                        "sets the replica identity NOTHING",
                        "ALTER TABLE t REPLICA IDENTITY NOTHING"),
                Change.of(
                                "sets the replica identity to an index",
                                "ALTER TABLE t REPLICA IDENTITY USING INDEX one")
                        .instead(
                                "CREATE TABLE t (id int PRIMARY KEY, v text, n int NOT NULL)",
                                "CREATE UNIQUE INDEX one ON t (n)")
                        .also(Rows.FILL)
                        .rows(
                                "INSERT INTO t (id, v, n) SELECT coalesce(max(id), 0) + 1, 'new',"
                                        + " max(n) + 10 FROM t",
                                Rows.UPDATE,
                                "UPDATE t SET n = n + 1 WHERE id % 5 = 0",
                                "UPDATE t SET id = id + 1000 WHERE id = 20",
                                Rows.DELETE),
                Change.of(
                                "sets the replica identity back to the default",
                                "ALTER TABLE t REPLICA IDENTITY DEFAULT")
                        .also("ALTER TABLE t REPLICA IDENTITY FULL"),
                Change.of(
                                "makes a table without a key identify rows in FULL",
                                "ALTER TABLE t REPLICA IDENTITY FULL")
                        .instead(NO_KEY)
                        .also(Rows.FILL)
                        .rows(
                                Rows.INSERT,
                                Rows.UPDATE,
                                Rows.DELETE,
                                "INSERT INTO t VALUES (5, 'same', 5), (5, 'same', 5)",
                                "DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t WHERE v ="
                                        + " 'same')"));
    }

    static List<SchemaCase> cases() {
        return List.of(
                SchemaCase.onTable("renumbers rows while the key is away")
                        .transaction(
                                "ALTER TABLE t DROP CONSTRAINT t_pkey",
                                "UPDATE t SET id = id + 1",
                                "ALTER TABLE t ADD PRIMARY KEY (id)")
                        .during(Rows.UPDATE, Rows.DELETE),
                SchemaCase.onTable("deletes rows while the key is away")
                        .transaction(
                                "ALTER TABLE t DROP CONSTRAINT t_pkey",
                                "DELETE FROM t WHERE id % 3 = 0",
                                "ALTER TABLE t ADD PRIMARY KEY (id)")
                        .during(Rows.UPDATE, Rows.INSERT),
                SchemaCase.onTable("rewrites, clusters and empties in one transaction")
                        .before("CREATE INDEX by_n ON t (n DESC)")
                        .transaction(
                                "TRUNCATE t",
                                "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
                                "CLUSTER t USING by_n",
                                "INSERT INTO t VALUES (3, 'c', 3)")
                        .transaction(
                                "ALTER TABLE t ALTER v TYPE text USING upper(v)",
                                "CLUSTER t USING by_n",
                                "UPDATE t SET n = n + 1")
                        .during(Rows.UPDATE),
                SchemaCase.of("creates, rewrites and clusters in one transaction")
                        .transaction(
                                "CREATE TABLE t (id int PRIMARY KEY, v text, n int)",
                                Rows.FILL,
                                "ALTER TABLE t ALTER n TYPE bigint",
                                "UPDATE t SET n = n + 1 WHERE id % 2 = 0",
                                "CREATE TABLE u (id int PRIMARY KEY, v text, n int)",
                                "INSERT INTO u SELECT * FROM t",
                                "CLUSTER u USING u_pkey",
                                "INSERT INTO u VALUES (-1, 'new', 1)"),
                SchemaCase.onTable("drops the identity's index concurrently")
                        .before(
                                "ALTER TABLE t ALTER n SET NOT NULL",
                                "CREATE UNIQUE INDEX one ON t (n)",
                                "ALTER TABLE t REPLICA IDENTITY USING INDEX one")
                        .during(
                                "UPDATE t SET v = 'a' WHERE id = 3",
                                "DROP INDEX CONCURRENTLY one",
                                "UPDATE t SET v = 'b' WHERE id IN (3, 4)",
                                "INSERT INTO t VALUES (100, 'new', 100)",
                                "DELETE FROM t WHERE id = 5"),
                SchemaCase.onTable("drops the identity's index in a transaction")
                        .before(
                                "ALTER TABLE t ALTER n SET NOT NULL",
                                "CREATE UNIQUE INDEX one ON t (n)",
                                "ALTER TABLE t REPLICA IDENTITY USING INDEX one")
                        .transaction(
                                "UPDATE t SET v = 'a' WHERE id = 3",
                                "DROP INDEX one",
                                "UPDATE t SET v = 'b' WHERE id IN (3, 4)",
                                "DELETE FROM t WHERE id = 5"),
                SchemaCase.of("has a deferrable primary key")
                        .before(
                                "CREATE TABLE t (id int PRIMARY KEY DEFERRABLE, v text, n int)",
                                Rows.FILL)
                        .during(Rows.ALL)
                        .during("UPDATE t SET id = id + 1"),
                SchemaCase.of("has a primary key and replica identity NOTHING")
                        .before(Rows.TABLE, "ALTER TABLE t REPLICA IDENTITY NOTHING", Rows.FILL)
                        .during(Rows.ALL)
                        .during("UPDATE t SET id = id + 1000 WHERE id % 4 = 0", "VACUUM t")
                        .during(Rows.ALL),
                SchemaCase.of("changes the identity four times")
                        .before(Rows.TABLE, Rows.FILL)
                        .during("ALTER TABLE t REPLICA IDENTITY FULL", Rows.UPDATE, Rows.DELETE)
                        .during("ALTER TABLE t REPLICA IDENTITY NOTHING", Rows.UPDATE, Rows.DELETE)
                        .during("ALTER TABLE t REPLICA IDENTITY DEFAULT", Rows.UPDATE, Rows.DELETE)
                        .during(
                                "ALTER TABLE t ALTER n SET NOT NULL",
                                "UPDATE t SET n = id",
                                "CREATE UNIQUE INDEX one ON t (n)",
                                "ALTER TABLE t REPLICA IDENTITY USING INDEX one",
                                Rows.UPDATE,
                                Rows.DELETE));
    }

    /** Tables without a usable key, exact by the rows' place. */
    static List<SchemaCase> keyless() {
        return List.of(
                keyless("keeps duplicates of a table without a key")
                        .during(
                                "INSERT INTO t SELECT 1, 'same', 1 FROM generate_series(1, 10)",
                                "UPDATE t SET n = 2 WHERE id = 1",
                                "DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t WHERE v ="
                                        + " 'same')"),
                keyless("uses places again after VACUUM")
                        .during("DELETE FROM t WHERE id % 2 = 0", "VACUUM t")
                        .during("INSERT INTO t SELECT i, 'again', i FROM generate_series(1, 30) i")
                        .during("DELETE FROM t WHERE v = 'again' AND id % 3 = 0", "VACUUM t")
                        .during("INSERT INTO t SELECT i, 'third', i FROM generate_series(1, 30) i"),
                keyless("moves rows without a key by VACUUM FULL")
                        .during("DELETE FROM t WHERE id % 2 = 0", "VACUUM FULL t")
                        .during("UPDATE t SET v = 'after' WHERE id % 3 = 0")
                        .during("INSERT INTO t VALUES (1, 'same', 1), (1, 'same', 1)"),
                keyless("moves rows without a key by CLUSTER")
                        .before("CREATE INDEX by_n ON t (n DESC)")
                        .transaction(
                                "DELETE FROM t WHERE id % 2 = 0",
                                "INSERT INTO t VALUES (1, 'same', 1), (1, 'same', 1)",
                                "CLUSTER t USING by_n",
                                "UPDATE t SET v = 'after' WHERE id % 3 = 0")
                        .during("DELETE FROM t WHERE v = 'after'"),
                keyless("moves a table without a key to another tablespace")
                        .before(StorageCases.TABLESPACE)
                        .transaction(
                                "DELETE FROM t WHERE id % 2 = 0",
                                "ALTER TABLE t SET TABLESPACE $S_space",
                                "UPDATE t SET v = 'after' WHERE id % 3 = 0")
                        .during("INSERT INTO t VALUES (1, 'same', 1), (1, 'same', 1)"),
                keyless("empties a table without a key")
                        .transaction(
                                "INSERT INTO t VALUES (1, 'gone', 1)",
                                "TRUNCATE t",
                                "INSERT INTO t VALUES (2, 'stays', 1), (2, 'stays', 1)")
                        .during("DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t)"),
                keyless("changes shape without a key")
                        .during(
                                "ALTER TABLE t ADD COLUMN more int DEFAULT 4",
                                "UPDATE t SET more = 5 WHERE id % 2 = 0",
                                "ALTER TABLE t DROP COLUMN v",
                                "INSERT INTO t SELECT * FROM t WHERE id < 10")
                        .transaction(
                                "ALTER TABLE t ALTER n TYPE text",
                                "DELETE FROM t WHERE id = 7",
                                "INSERT INTO t SELECT * FROM t WHERE id < 5"),
                SchemaCase.of("creates a table without a key")
                        .transaction(
                                "CREATE TABLE t (id int, v text, n int)",
                                "INSERT INTO t VALUES (1, NULL, 1), (1, NULL, 1), (NULL, NULL,"
                                        + " NULL)")
                        .during("DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t)"));
    }

    private static SchemaCase keyless(String name) {
        return SchemaCase.of(name)
                .before("CREATE TABLE t (id int, v text, n int)")
                .before(Rows.FILL, "INSERT INTO t SELECT * FROM t WHERE id < 5");
    }
}
