package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Rewriting and emptying statements whose outcome the WAL tells cost the source nothing: the tables
 * end equal, also after a kill in between, and none is read from the source again. {@code
 * -Dwalshadow.seed=N} chooses the major.
 */
@Timeout(600)
final class DerivedContentTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};

    private static final String[] BEFORE = {
        "CREATE TABLE keyed (id int PRIMARY KEY, n int, v text, big text)",
        "ALTER TABLE keyed ALTER big SET STORAGE EXTERNAL",
        "INSERT INTO keyed SELECT i, i, 'v' || i, repeat(md5(i::text), i % 4 * 100)"
                + " FROM generate_series(1, 2000) i",
        "CREATE TABLE bag (n int, v text)",
        "INSERT INTO bag SELECT i % 5, 'v' || i % 3 FROM generate_series(1, 1000) i",
        "CREATE TABLE emptied (n int, v text)",
        "INSERT INTO emptied SELECT i % 5, 'v' FROM generate_series(1, 1000) i",
        "CREATE TABLE rekeyed (id int PRIMARY KEY, other int NOT NULL, v text)",
        "INSERT INTO rekeyed SELECT i, -i, 'v' FROM generate_series(1, 1000) i",
        "CREATE TABLE becomes (id int NOT NULL, v text)",
        "INSERT INTO becomes SELECT i, 'v' FROM generate_series(1, 1000) i",
        "CREATE MATERIALIZED VIEW seen AS SELECT n, count(*) FROM bag GROUP BY n"
    };

    /** One session each. */
    private static List<List<String>> changes(int round) {
        return List.of(
                List.of(
                        "UPDATE keyed SET v = 'u' WHERE id % 7 = 0",
                        "ALTER TABLE keyed ALTER n TYPE " + (round == 0 ? "bigint" : "numeric(9)"),
                        "UPDATE keyed SET v = 'after' WHERE id % 5 = 0"),
                List.of(
                        "BEGIN",
                        "DELETE FROM keyed WHERE id % 11 = 3",
                        "ALTER TABLE keyed ALTER v TYPE text USING reverse(v)",
                        "DELETE FROM keyed WHERE id % 13 = 3",
                        "INSERT INTO keyed (id, v, big) SELECT "
                                + (round * 1000 + 5000)
                                + " + i, 'in', repeat('x', 5000) FROM generate_series(1, 20) i",
                        "SAVEPOINT s",
                        "ALTER TABLE keyed ALTER n TYPE text",
                        "INSERT INTO keyed (id) VALUES (-1)",
                        "ROLLBACK TO s",
                        "UPDATE keyed SET v = v || '+' WHERE id % 17 = 3",
                        "COMMIT"),
                List.of("ALTER TABLE keyed ADD COLUMN r" + round + " float8 DEFAULT random()"),
                List.of("ALTER TABLE bag ADD COLUMN r" + round + " float8 DEFAULT random()"),
                List.of("UPDATE bag SET v = 'u' WHERE n = 1", "DELETE FROM bag WHERE n = 2"),
                List.of("REFRESH MATERIALIZED VIEW seen"),
                List.of(
                        "BEGIN",
                        "INSERT INTO emptied VALUES (1, 'void')",
                        "TRUNCATE emptied",
                        "INSERT INTO emptied VALUES (1, 'a'), (1, 'a')",
                        "COMMIT",
                        "INSERT INTO emptied VALUES (2, 'b')"),
                List.of("TRUNCATE emptied", "INSERT INTO emptied VALUES (3, 'c'), (3, 'c')"),
                round == 0
                        ? List.of(
                                "BEGIN",
                                "ALTER TABLE rekeyed DROP CONSTRAINT rekeyed_pkey",
                                "ALTER TABLE rekeyed ADD PRIMARY KEY (other)",
                                "COMMIT",
                                "ALTER TABLE becomes ADD PRIMARY KEY (id)")
                        : List.of(
                                "BEGIN",
                                "ALTER TABLE rekeyed DROP CONSTRAINT rekeyed_pkey",
                                "ALTER TABLE rekeyed ADD PRIMARY KEY (v, id)",
                                "INSERT INTO rekeyed VALUES (-5, 5, 'new')",
                                "COMMIT"),
                List.of(
                        "UPDATE rekeyed SET v = 'u' WHERE id % 10 = 0",
                        "DELETE FROM becomes WHERE id % 10 = " + round,
                        "UPDATE becomes SET id = id + 10000 WHERE id % 10 = " + (5 + round)));
    }

    @Test
    void nothingIsReadFromTheSourceAgain() throws Exception {
        int major = MAJORS[(int) (SEED % MAJORS.length)];
        System.out.println("PostgreSQL " + major + ", seed " + SEED);
        try (Installation installation = Installation.start(major)) {
            installation.execute(BEFORE);
            installation.startDaemon();
            installation.awaitStreaming();
            for (List<String> session : changes(0)) {
                installation.execute(session);
            }
            assertThat(installation.verify().reason()).isEmpty();

            installation.target().delayInserts(Duration.ofMillis(200));
            for (List<String> session : changes(1)) {
                installation.execute(session);
            }
            installation.awaitSentNotAcknowledged();
            installation.killDaemon();
            installation.target().delayInserts(Duration.ZERO);
            installation.startDaemon();
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(loads(installation)).isEmpty();
        }
    }

    /**
     * The exchange with the staging table is done and known, but another table of the commit keeps
     * it from being durable: it comes again, with what it wrote before the rewrite.
     */
    @Test
    void aCommitThatComesAgainLeavesOutWhatItWroteToEarlierStorage() throws Exception {
        int major = MAJORS[(int) (SEED % MAJORS.length)];
        System.out.println("PostgreSQL " + major + ", seed " + SEED);
        try (Installation installation = Installation.start(major)) {
            installation.execute(
                    "CREATE TABLE beside (id int PRIMARY KEY)",
                    "CREATE TABLE retyped (id int PRIMARY KEY, v text)",
                    "INSERT INTO retyped SELECT i, '{\"a\": ' || i || '}'"
                            + " FROM generate_series(1, 20) i",
                    "CREATE TABLE widened (id int PRIMARY KEY, v text)",
                    "INSERT INTO widened SELECT i, 'v' FROM generate_series(1, 20) i");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();

            installation.target().failStatements("(?i)^insert into `?public`?\\.`?beside", 243);
            long before = position(installation);
            installation.execute(
                    "BEGIN",
                    "INSERT INTO beside VALUES (1)",
                    "INSERT INTO retyped VALUES (21, '{\"a\": 21}')",
                    "ALTER TABLE retyped ALTER v TYPE jsonb USING v::jsonb",
                    "INSERT INTO widened VALUES (21, 'w')",
                    "ALTER TABLE widened ALTER id TYPE bigint",
                    "COMMIT");
            installation.await("the exchanges are known", () -> arrived(installation, before) == 2);
            installation.killDaemon();
            installation.target().failStatements("", 0);
            installation.startDaemon();
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(loads(installation)).isEmpty();
        }
    }

    private static long position(Installation installation) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_current_wal_lsn()")) {
            row.next();
            return Lsn.parse(row.getString(1));
        }
    }

    /** Of how many tables the ledger says that they begin with a commit behind this position. */
    private static int arrived(Installation installation, long position) {
        // records begin at multiples of 8; before the exchange the ledger has the byte before
        String text =
                installation
                        .target()
                        .query(
                                "SELECT count() FROM walshadow.tables FINAL WHERE since % 8 = 0 AND"
                                        + " since > "
                                        + position);
        return Integer.parseInt(text.strip());
    }

    private static List<String> loads(Installation installation) throws Exception {
        try (Stream<String> lines = Files.lines(installation.log())) {
            return new ArrayList<>(
                    lines.filter(line ->
                                    line.contains(" is loaded anew")
                                            || line.contains("TableLoads loading"))
                            .toList());
        }
    }
}
