package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.daemon.verify.VerifyProgress;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Values as large as PostgreSQL has them, beside small rows, with the default heap and the default
 * {@code [memory] value}: what the table's policy says becomes of them, the other rows and tables
 * are exact, and the daemon's memory stays bounded. 48 MB; 900 MB in the soak, or {@code
 * -Dwalshadow.megabytes=N}; {@code -Dwalshadow.major=N}. Those within a limit and a heap that were
 * raised for them arrive exact: 48 MB, 900 MB in the soak, which takes a machine of 16 GB: the
 * source, the daemon and ClickHouse each hold a value several times.
 */
final class HugeValuesTest {
    private static final int MEGABYTES =
            Integer.getInteger(
                    "walshadow.megabytes", Boolean.getBoolean("walshadow.soak") ? 900 : 48);
    private static final long BYTES = (long) MEGABYTES << 20;

    /** PostgreSQL has no larger jsonb. */
    private static final long JSONB_BYTES = Math.min(BYTES, 240L << 20);

    private static final long LIMIT = 32 << 20;
    private static final int MAJOR = Integer.getInteger("walshadow.major", 17);

    /** The default heap of 640 MB and what a JVM takes beside it. */
    private static final long PEAK_KILOBYTES = 1_200_000;

    private static final List<String> POLICIES = List.of("nulled", "cut", "strict");

    /** By column and way of storing it an expression of the size. */
    private static final Map<String, String> VALUES =
            Map.of(
                    "compressed", "repeat('ab', %1$d / 2)",
                    "plain", "repeat(md5('x'), %1$d / 32)",
                    "bytes", "convert_to(repeat(md5('y'), %1$d / 32), 'SQL_ASCII')",
                    "doc", "to_jsonb(repeat('jsonb...', %2$d / 8))");

    private static String value(String column, long bytes) {
        return Objects.requireNonNull(VALUES.get(column))
                .formatted(bytes, Math.min(bytes, JSONB_BYTES));
    }

    private static void create(Installation installation, String table) throws Exception {
        installation.execute(
                "CREATE TABLE "
                        + table
                        + " (id int PRIMARY KEY, n int, small text, compressed text, plain text,"
                        + " bytes bytea, doc jsonb)",
                "ALTER TABLE " + table + " ALTER plain SET STORAGE EXTERNAL",
                "ALTER TABLE " + table + " ALTER bytes SET STORAGE EXTERNAL",
                "INSERT INTO "
                        + table
                        + " SELECT i, i, repeat(md5(i::text), 100), 'c' || i, 'p' || i,"
                        + " convert_to('b' || i, 'UTF8'), to_jsonb(i) FROM generate_series(1, 200)"
                        + " i");
    }

    /**
     * One huge value of each kind, each in a row and transaction of its own, small ones between.
     */
    private static void insert(Installation installation, String table, int id) throws Exception {
        insert(installation, table, id, BYTES);
    }

    private static void insert(Installation installation, String table, int id, long bytes)
            throws Exception {
        int next = id;
        for (String column : VALUES.keySet().stream().sorted().toList()) {
            installation.execute(
                    "INSERT INTO %s (id, n, small, %s) VALUES (%d, 0, 'beside', %s)"
                            .formatted(table, column, next, value(column, bytes)),
                    "UPDATE %s SET n = n + 1, plain = plain || 'x' WHERE id < 100"
                            .formatted(table));
            next++;
        }
    }

    @Test
    void hugeValuesFollowThePolicyInBoundedMemory() throws Exception {
        try (Installation installation = Installation.start(MAJOR)) {
            installation.configure(
                    """
                    [tables."public.nulled"]
                    oversized = "null"
                    [tables."public.cut"]
                    oversized = "truncate"
                    """);
            for (String table : POLICIES) {
                create(installation, table);
            }
            create(installation, "other");
            insert(installation, "nulled", 1001);
            installation.startDaemon();
            installation.awaitStreaming();

            insert(installation, "nulled", 1011);
            insert(installation, "cut", 1001);
            installation.execute(
                    "UPDATE nulled SET n = n + 1 WHERE id > 1000", // leaves them where they are
                    "UPDATE cut SET n = n + 1 WHERE id > 1000",
                    "UPDATE nulled SET plain = %s WHERE id = 7".formatted(value("plain", BYTES)),
                    "UPDATE nulled SET plain = 'small again', n = 77 WHERE id = 7",
                    "UPDATE other SET n = n + 1");
            arrived(installation);
            installation.resync("public.cut");
            arrived(installation);

            installation.execute(
                    "INSERT INTO strict (id, n, plain) VALUES (1001, 0, %s)"
                            .formatted(value("plain", BYTES)));
            installation.await(
                    "the table is set aside",
                    () -> installation.status().toString().contains("WS-1755"));
            assertThat(installation.status().toString()).contains("[memory] value");
            installation.execute("UPDATE other SET n = n + 1");
            equal(installation, "public.other");

            long peak = installation.peakMemory();
            System.out.printf(
                    "PostgreSQL %d, values of %d MB: the daemon's peak memory %d MB%n",
                    MAJOR, MEGABYTES, peak >> 10);
            assertThat(peak).as("peak memory, kB").isLessThan(PEAK_KILOBYTES);
        }
    }

    /** Where the limit and the heap have room for them, by load, stream, update and reload. */
    @Test
    void valuesWithinTheLimitArriveExact() throws Exception {
        try (Installation installation = Installation.start(MAJOR)) {
            int limit = MEGABYTES * 11 / 10;
            long bytes = (long) MEGABYTES << 20;
            installation.configure("memory", "value = \"%dMB\"".formatted(limit));
            // over what the command line says; five values, and what there is besides
            installation.environment(
                    "_JAVA_OPTIONS",
                    "-Xmx%dm -XX:MaxNewSize=256m -XX:+ExitOnOutOfMemoryError"
                            .formatted(512 + 5 * limit));
            create(installation, "whole");
            installation.execute(
                    "INSERT INTO whole (id, n, plain) VALUES (900, 0, %s)"
                            .formatted(value("plain", bytes)));
            installation.startDaemon();
            installation.awaitStreaming();
            same(installation);
            insert(installation, "whole", 1001, bytes);
            installation.execute("UPDATE whole SET n = n + 1 WHERE id >= 900");
            same(installation);
            installation.resync("public.whole");
            same(installation);
            System.out.printf(
                    "PostgreSQL %d, exact values of %d MB: the daemon's peak memory %d MB%n",
                    MAJOR, MEGABYTES, installation.peakMemory() >> 10);
        }
    }

    /** Digests: the values themselves are too large to be compared here. */
    private static void same(Installation installation) throws Exception {
        Installation.CommandResult waited = installation.command("wait");
        assertThat(waited.output()).doesNotContain("WS-");
        equal(installation, "public.whole");
        String source =
                "SELECT id, n, md5(small), md5(compressed), md5(plain), md5(bytes), md5(doc::text)"
                        + " FROM whole ORDER BY id";
        StringBuilder expected = new StringBuilder();
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet rows = statement.executeQuery(source)) {
            while (rows.next()) {
                expected.append(rows.getInt(1)).append(' ').append(rows.getInt(2));
                for (int i = 3; i <= 7; i++) {
                    expected.append(' ').append(rows.getString(i));
                }
                expected.append('\n');
            }
        }
        String digests =
                Stream.of("small", "compressed", "plain", "bytes", "doc")
                        .map(name -> "ifNull(lower(hex(MD5(" + name + "))), 'null')")
                        .collect(Collectors.joining(", ' ', "));
        assertThat(
                        installation
                                .target()
                                .query(
                                        "SELECT concat(toString(id), ' ', toString(n), ' ', "
                                                + digests
                                                + ") FROM public.whole FINAL ORDER BY id SETTINGS"
                                                + " max_block_size = 1, max_threads = 1"))
                .isEqualTo(expected.toString());
    }

    private static void arrived(Installation installation) throws Exception {
        Installation.CommandResult waited = installation.command("wait");
        assertThat(waited.output()).doesNotContain("WS-");
        equal(installation, "public.other");
        String huge = "id > 1000 AND small = 'beside'";
        assertThat(shown(installation, "nulled", huge))
                .isEqualTo("8\t0\t0\t0\t0\t8"); // of eight rows all values are NULL
        assertThat(shown(installation, "nulled", "id = 7 AND plain = 'small again' AND n = 77"))
                .startsWith("1\t");
        assertThat(shown(installation, "nulled", "id <= 1000"))
                .isEqualTo("200\t200\t200\t200\t200\t0");
        assertThat(shown(installation, "cut", huge)).isEqualTo("4\t1\t1\t1\t0\t4");
        assertThat(
                        installation
                                .target()
                                .query(
                                        "SELECT max(length(compressed)), max(length(plain)),"
                                                + " max(length(bytes)), max(n) FROM public.cut"
                                                + " FINAL WHERE "
                                                + huge)
                                .strip())
                .isEqualTo(LIMIT / 4 + "\t" + LIMIT / 4 + "\t" + LIMIT + "\t1");
    }

    /** How many rows, how many have each value, and how many n = 1. */
    private static String shown(Installation installation, String table, String where) {
        return installation
                .target()
                .query(
                        "SELECT count(), count(compressed), count(plain), count(bytes), count(doc),"
                                + " countIf(n = 1 AND id > 1000) FROM public."
                                + table
                                + " FINAL WHERE "
                                + where)
                .strip();
    }

    private static void equal(Installation installation, String table) throws Exception {
        Verification.Outcome outcome =
                Verification.of(installation.configuration(), Installation.PATIENCE)
                        .run(table, VerifyProgress.NONE);
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
    }
}
