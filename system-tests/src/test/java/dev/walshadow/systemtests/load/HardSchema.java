package dev.walshadow.systemtests.load;

import java.util.List;

/** The tables of {@link HardLoad} and {@link Straddlers}: of every kind that rows come from. */
final class HardSchema {
    static final int ACCOUNTS = 20_000;
    static final int TELLERS = 30;
    static final int DOCUMENTS = 1_500;

    /** Tables whose shape and storage change under the load: {@code shaped_0} to this. */
    static final int SHAPED = 3;

    private HardSchema() {}

    /** Of the load that goes on all the time. */
    static final List<String> OF_LOAD =
            List.of(
                    "CREATE TABLE branches (bid int PRIMARY KEY, bbalance int, filler char(88))",
                    "CREATE TABLE tellers (tid int PRIMARY KEY, bid int, tbalance int, filler"
                            + " char(84))",
                    "CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int, filler"
                            + " char(84)) WITH (fillfactor = 90)",
                    "CREATE TABLE history (tid int, bid int, aid int, delta int, mtime timestamp,"
                            + " filler char(22))",
                    "INSERT INTO branches SELECT i, 0 FROM generate_series(1, 3) i",
                    "INSERT INTO tellers SELECT i, i % 3 + 1, 0 FROM generate_series(1, "
                            + TELLERS
                            + ") i",
                    "INSERT INTO accounts SELECT i, i % 3 + 1, 0, 'f' FROM generate_series(1, "
                            + ACCOUNTS
                            + ") i",
                    "INSERT INTO history SELECT i % 30, 1, i, i, '2024-01-01', 'old' FROM"
                            + " generate_series(1, 5000) i",
                    "CREATE TABLE documents (id int PRIMARY KEY, n int, body text, packed text)",
                    "ALTER TABLE documents ALTER body SET STORAGE EXTERNAL",
                    "INSERT INTO documents SELECT i, i, repeat(md5(i::text), 40 + i % 300),"
                            + " repeat(md5(i::text), 2000) || i FROM generate_series(1, "
                            + DOCUMENTS
                            + ") i",
                    "CREATE TABLE scraps (n int, body text)",
                    "ALTER TABLE scraps ALTER body SET STORAGE EXTERNAL",
                    "INSERT INTO scraps SELECT i % 100, repeat(md5(i::text), i % 150) FROM"
                            + " generate_series(1, 1000) i",
                    "CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
                    "CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (0) TO (1000)",
                    "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1000) TO (2000)",
                    "CREATE TABLE parts_2 PARTITION OF parts DEFAULT",
                    "INSERT INTO parts SELECT i, 'p' || i FROM generate_series(0, 2999) i",
                    "CREATE TABLE churned (id int PRIMARY KEY, v text)",
                    "CREATE INDEX ON churned (v)",
                    "INSERT INTO churned SELECT i, md5(i::text) FROM generate_series(1, 4000) i",
                    "CREATE TABLE shared (id int PRIMARY KEY, n int)",
                    "INSERT INTO shared SELECT i, 0 FROM generate_series(1, 200) i",
                    shaped(0),
                    shaped(1),
                    shaped(2),
                    filled(0),
                    filled(1),
                    filled(2));

    static String shaped(int number) {
        return "CREATE TABLE shaped_" + number + " (id bigserial PRIMARY KEY, a int, b text)";
    }

    static String filled(int number) {
        return "INSERT INTO shaped_"
                + number
                + " (a, b) SELECT i, 'b' || i FROM generate_series(1, 500) i";
    }

    /** Of the transactions that are open across the load. */
    static final List<String> OF_STRADDLERS =
            List.of(
                    "CREATE TABLE kept (id int PRIMARY KEY, v text, body text)",
                    "ALTER TABLE kept ALTER body SET STORAGE EXTERNAL",
                    "INSERT INTO kept SELECT i, 'old', CASE WHEN i % 10 = 0 THEN repeat('k' || i,"
                            + " 1000) END FROM generate_series(1, 3000) i",
                    "CREATE TABLE kept_bare (n int, v text)",
                    "INSERT INTO kept_bare SELECT i % 500, 'old' FROM generate_series(1, 2000) i",
                    "CREATE TABLE rewritten (id int PRIMARY KEY, v int)",
                    "INSERT INTO rewritten SELECT i, i FROM generate_series(1, 2000) i",
                    "CREATE TABLE emptied (id int PRIMARY KEY, v text)",
                    "INSERT INTO emptied SELECT i, 'old' FROM generate_series(1, 2000) i",
                    "CREATE TABLE clustered (id int PRIMARY KEY, v text)",
                    "INSERT INTO clustered SELECT i, 'old' FROM generate_series(2000, 1, -1) i",
                    "CREATE TABLE clustered_bare (n int, v text)",
                    "CREATE INDEX clustered_bare_n ON clustered_bare (n)",
                    "INSERT INTO clustered_bare SELECT i % 700, 'old' || i FROM generate_series(1,"
                            + " 2000) i",
                    "CREATE TABLE widened (id int PRIMARY KEY, v text)",
                    "INSERT INTO widened SELECT i, 'old' FROM generate_series(1, 2000) i",
                    "CREATE TABLE dropped (id int PRIMARY KEY)",
                    "INSERT INTO dropped SELECT generate_series(1, 100)",
                    "CREATE TABLE nearly_dropped (id int PRIMARY KEY)",
                    "INSERT INTO nearly_dropped SELECT generate_series(1, 100)",
                    "CREATE TABLE rekeyed (id int PRIMARY KEY, v int NOT NULL UNIQUE)",
                    "INSERT INTO rekeyed SELECT i, -i FROM generate_series(1, 1000) i");
}
