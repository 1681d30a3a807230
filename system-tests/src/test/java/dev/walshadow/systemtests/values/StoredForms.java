package dev.walshadow.systemtests.values;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Tables whose rows are stored in every form that there is.
 *
 * @param before the table and rows that are there at the attach
 * @param after what happens to them in the stream, a transaction each
 */
record StoredForms(String name, List<String> before, List<String> after) {
    private static final int MOST_COLUMNS = 1600;

    static List<StoredForms> all() {
        return List.of(
                toasted("plain", "int PRIMARY KEY", "EXTENDED"),
                toasted("external", "int PRIMARY KEY", "EXTERNAL"),
                toasted("main", "int PRIMARY KEY", "MAIN"),
                toasted("keyless", "int", "EXTERNAL"),
                toasted("identity_full", "int PRIMARY KEY", "EXTERNAL").fullIdentity(),
                toastedKey(),
                rapid(),
                manyColumns(),
                fullPages(),
                noColumns(),
                droppedColumns());
    }

    private StoredForms fullIdentity() {
        return new StoredForms(
                name,
                IntStream.range(0, before.size() + 1)
                        .mapToObj(i ->
                                i == 1
                                        ? "ALTER TABLE " + name + " REPLICA IDENTITY FULL"
                                        : before.get(i > 1 ? i - 1 : i))
                        .toList(),
                after);
    }

    /** Of bytes that do not compress, and of those that do. */
    private static String value(String seed, int kilobytes) {
        return "(SELECT string_agg(md5("
                + seed
                + " || '-' || j), '') FROM generate_series(1, "
                + kilobytes * 32
                + ") j)";
    }

    private static StoredForms toasted(String name, String id, String storage) {
        return new StoredForms(
                name,
                List.of(
                        "CREATE TABLE " + name + " (id " + id + ", n int, a text, b text, c text)",
                        "ALTER TABLE %1$s ALTER a SET STORAGE %2$s, ALTER b SET STORAGE %2$s"
                                .formatted(name, storage),
                        // c stays in line, compressed
                        "INSERT INTO %s SELECT i, 0, %s, repeat('b' || i, 4000), repeat('c' || i, 900) FROM generate_series(1, 30) i"
                                .formatted(name, value("i", 5))),
                List.of(
                        // from before the attach; one of two toasted columns changes
                        "UPDATE " + name + " SET n = 1 WHERE id % 2 = 0",
                        "UPDATE %s SET a = %s WHERE id %% 3 = 0"
                                .formatted(name, value("id + 1", 7)),
                        // the same batch, and the same transaction
                        "INSERT INTO %1$s SELECT i, 0, %2$s, repeat('B' || i, 4000), 'c' FROM generate_series(31, 50) i; UPDATE %1$s SET n = 2 WHERE id > 30; UPDATE %1$s SET n = 3, b = NULL WHERE id > 45"
                                .formatted(name, value("i", 4)),
                        // another key
                        "UPDATE " + name + " SET id = id + 1000 WHERE id % 5 = 0",
                        "UPDATE " + name + " SET n = 4 WHERE id > 1000",
                        "UPDATE "
                                + name
                                + " SET id = id - 1000, n = 5 WHERE id > 1000 AND id % 2 = 0",
                        // other chunks, the same values
                        "VACUUM FULL " + name,
                        "UPDATE " + name + " SET n = 6 WHERE id % 7 = 0",
                        "DELETE FROM " + name + " WHERE id % 11 = 0"));
    }

    /** A key that is toasted itself. */
    private static StoredForms toastedKey() {
        String key = "repeat(chr(64 + i), 2400)";
        return new StoredForms(
                "toasted_key",
                List.of(
                        "CREATE TABLE toasted_key (k text PRIMARY KEY, n int, v text)",
                        "ALTER TABLE toasted_key ALTER k SET STORAGE EXTERNAL, ALTER v SET STORAGE"
                                + " EXTERNAL",
                        "INSERT INTO toasted_key SELECT %s, i, repeat('v' || i, 2000) FROM generate_series(1, 20) i"
                                .formatted(key)),
                List.of(
                        "UPDATE toasted_key SET n = n + 100",
                        "UPDATE toasted_key SET k = 'short' || n WHERE n % 3 = 0",
                        "UPDATE toasted_key SET v = 'new' WHERE n % 4 = 0",
                        "DELETE FROM toasted_key WHERE n % 5 = 0"));
    }

    /** The same few rows, over and over, in transactions of their own. */
    private static StoredForms rapid() {
        return new StoredForms(
                "rapid",
                List.of(
                        "CREATE TABLE rapid (id int PRIMARY KEY, n int, a text, b text)",
                        "ALTER TABLE rapid ALTER a SET STORAGE EXTERNAL",
                        "INSERT INTO rapid SELECT i, 0, repeat('r' || i, 5000), 'b' FROM"
                                + " generate_series(1, 5) i"),
                List.of(
                        "DO $$ BEGIN FOR i IN 1..3000 LOOP UPDATE rapid SET n = i, a = CASE WHEN i"
                            + " % 500 = 0 THEN repeat('s' || i, 4000) ELSE a END WHERE id = 1 + i %"
                            + " 5; COMMIT; END LOOP; END $$"));
    }

    private static StoredForms manyColumns() {
        String columns =
                IntStream.range(1, MOST_COLUMNS)
                        .mapToObj(i -> "c" + i + (i % 3 == 0 ? " bool" : " int2"))
                        .collect(Collectors.joining(", "));
        return new StoredForms(
                "many_columns",
                List.of(
                        "CREATE TABLE many_columns (id int PRIMARY KEY, " + columns + ")",
                        "INSERT INTO many_columns (id, c1, c800, c1599) SELECT i, i, i, true FROM"
                                + " generate_series(1, 20) i"),
                List.of(
                        "INSERT INTO many_columns (id, c2, c1598) SELECT i, i, i FROM"
                                + " generate_series(21, 30) i",
                        "UPDATE many_columns SET c3 = true, c1599 = NULL WHERE id % 2 = 0"));
    }

    /** One row on each page, in line to the last byte that fits. */
    private static StoredForms fullPages() {
        return new StoredForms(
                "full_pages",
                List.of(
                        "CREATE TABLE full_pages (id int PRIMARY KEY, v text)",
                        "ALTER TABLE full_pages ALTER v SET STORAGE PLAIN",
                        "INSERT INTO full_pages SELECT i, repeat('x', 8120 + i) FROM"
                                + " generate_series(0, 8) i"),
                List.of(
                        "INSERT INTO full_pages SELECT i + 100, repeat('y', 8120 + i) FROM"
                                + " generate_series(0, 8) i",
                        "UPDATE full_pages SET v = repeat('z', 8128) WHERE id % 3 = 0"));
    }

    private static StoredForms noColumns() {
        return new StoredForms(
                "no_columns",
                List.of(
                        "CREATE TABLE no_columns ()",
                        "INSERT INTO no_columns DEFAULT VALUES",
                        "INSERT INTO no_columns DEFAULT VALUES"),
                List.of(
                        "INSERT INTO no_columns DEFAULT VALUES",
                        "DELETE FROM no_columns WHERE ctid = '(0,1)'"));
    }

    private static StoredForms droppedColumns() {
        return new StoredForms(
                "dropped_columns",
                List.of(
                        "CREATE TABLE dropped_columns (x1 text, id int PRIMARY KEY, x2 int8, v"
                                + " text, x3 bool, w numeric, x4 text)",
                        "INSERT INTO dropped_columns SELECT 'x', i, i, 'v' || i, true, i / 3.0, 'y'"
                                + " FROM generate_series(1, 20) i",
                        "ALTER TABLE dropped_columns DROP x1, DROP x2, DROP x3, DROP x4",
                        "INSERT INTO dropped_columns SELECT i, NULL, i FROM generate_series(21, 30)"
                                + " i"),
                List.of(
                        "INSERT INTO dropped_columns SELECT i, 'v', NULL FROM generate_series(31,"
                                + " 40) i",
                        "ALTER TABLE dropped_columns ADD z text DEFAULT 'late', DROP v",
                        "UPDATE dropped_columns SET w = 7 WHERE id % 4 = 0",
                        "INSERT INTO dropped_columns SELECT i, 1, NULL FROM generate_series(41, 50)"
                                + " i"));
    }
}
