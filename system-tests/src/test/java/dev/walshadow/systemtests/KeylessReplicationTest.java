package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;

/**
 * Tables without a usable key arrive exactly, duplicates included, through load, stream and kill.
 */
final class KeylessReplicationTest {
    private static final String[] SCHEMA = {
        "CREATE TABLE plain (n int, v text)",
        "CREATE TABLE nothing (id int PRIMARY KEY, v text)",
        "ALTER TABLE nothing REPLICA IDENTITY NOTHING",
        "CREATE TABLE whole (n int, big text, other text)",
        "ALTER TABLE whole REPLICA IDENTITY FULL",
        "CREATE TABLE late (id int PRIMARY KEY DEFERRABLE, v text)",
        "CREATE TABLE wide (n int, big text, packed text, v text)",
        "ALTER TABLE wide ALTER big SET STORAGE EXTERNAL",
        "ALTER TABLE whole ALTER big SET STORAGE EXTERNAL",
        "CREATE TABLE bare ()",
        // the values that updates leave unchanged are in the backup
        "INSERT INTO plain SELECT i % 7, 'v' || i % 3 FROM generate_series(1, 3000) i",
        "INSERT INTO nothing SELECT i, 'v' FROM generate_series(1, 1000) i",
        "INSERT INTO late SELECT i, 'v' FROM generate_series(1, 100) i",
        "INSERT INTO whole SELECT i % 5, repeat('w' || i % 5, 2000), 'o'"
                + " FROM generate_series(1, 60) i",
        "INSERT INTO wide SELECT i % 5, repeat('w' || i, 2000), (SELECT string_agg(md5(g::text"
                + " || i), '') FROM generate_series(1, 200) g), 'v' FROM generate_series(1, 100) i",
        "INSERT INTO bare SELECT FROM generate_series(1, 5)",
        "UPDATE wide SET v = 'before' WHERE n = 1",
        "DELETE FROM plain WHERE n = 6 AND v = 'v1'"
    };

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void everyRowArrivesAsOftenAsItIsThere(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(SCHEMA);
            installation.startDaemon();
            installation.awaitStreaming();
            requireEqual(installation);
            for (int round = 0; round < 2; round++) {
                changes(installation, round);
            }
            requireEqual(installation);

            installation.target().delayInserts(Duration.ofMillis(200));
            changes(installation, 2);
            installation.awaitSentNotAcknowledged();
            installation.killDaemon();
            installation.target().delayInserts(Duration.ZERO);
            changes(installation, 3);
            installation.startDaemon();
            changes(installation, 4);
            requireEqual(installation);

            installation.execute(
                    "TRUNCATE plain, wide",
                    "INSERT INTO plain SELECT 1, 'after' FROM generate_series(1, 10)",
                    "INSERT INTO wide SELECT 1, repeat('z', 5000), NULL, 'after'",
                    "UPDATE wide SET v = 'kept'");
            requireEqual(installation);
            assertThat(count(installation, "public.plain")).isEqualTo("10");
            namesHowManyEachSideHas(installation);
        }
    }

    /** HOT updates and others, chains in one transaction, savepoints, COPY, places used again. */
    private static void changes(Installation installation, int round) throws Exception {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (String sql : statements(round)) {
                statement.execute(sql);
            }
            StringBuilder rows = new StringBuilder();
            for (int i = 0; i < 500; i++) {
                rows.append(i % 4).append('\t').append("copied").append('\n');
            }
            session.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn("COPY plain FROM STDIN", new StringReader(rows.toString()));
            session.setAutoCommit(false);
            statement.execute("UPDATE wide SET v = v || '1' WHERE n = 2");
            statement.execute("SAVEPOINT s");
            statement.execute("DELETE FROM wide WHERE n = 3");
            statement.execute("UPDATE wide SET v = 'lost'");
            statement.execute("ROLLBACK TO s");
            statement.execute("UPDATE wide SET v = v || '2', n = n WHERE n IN (2, 3)");
            statement.execute("INSERT INTO plain VALUES (1, 'in'), (1, 'in'), (1, 'in')");
            statement.execute("UPDATE plain SET v = 'out' WHERE v = 'in'");
            session.commit();
            statement.execute("UPDATE wide SET v = 'rolled back'");
            statement.execute("DELETE FROM plain");
            session.rollback();
        }
    }

    private static List<String> statements(int round) {
        List<String> statements = new ArrayList<>();
        statements.add("UPDATE plain SET v = 'u%d' WHERE n = %d".formatted(round, round));
        statements.add("DELETE FROM plain WHERE n = %d".formatted((round + 3) % 7));
        statements.add(
                "UPDATE nothing SET v = 'u%d' WHERE id %% 3 = %d".formatted(round, round % 3));
        statements.add(
                "UPDATE nothing SET id = id + 10000 WHERE id %% 10 = %d AND id < 10000"
                        .formatted(round));
        statements.add("DELETE FROM nothing WHERE id %% 50 = %d".formatted(round));
        statements.add("UPDATE late SET id = id + 1");
        statements.add("DELETE FROM late WHERE id %% 9 = %d".formatted(round));
        statements.add(
                "INSERT INTO late SELECT 10000 + i + %d, 'n' FROM generate_series(1, 5) i"
                        .formatted(round * 1000));
        statements.add("UPDATE whole SET other = other || '%d' WHERE n < 3".formatted(round));
        statements.add(
                "DELETE FROM whole WHERE n = 4 AND other = 'o' AND ctid IN (SELECT min(ctid)"
                        + " FROM whole WHERE n = 4)");
        statements.add("UPDATE wide SET v = 'u%d' WHERE n = %d".formatted(round, round % 5));
        statements.add("UPDATE wide SET v = v || '+'");
        statements.add(
                "UPDATE wide SET packed = repeat('p%d', 3000) WHERE n = %d"
                        .formatted(round, (round + 1) % 5));
        statements.add(
                "INSERT INTO wide SELECT 4, repeat('n%d', 2000), 'p', 'new' FROM".formatted(round)
                        + " generate_series(1, 3)");
        statements.add("DELETE FROM wide WHERE ctid IN (SELECT min(ctid) FROM wide WHERE n = 4)");
        statements.add("INSERT INTO bare SELECT FROM generate_series(1, 2)");
        // line pointers become free for what comes next
        statements.add("VACUUM (TRUNCATE off) plain, nothing, wide, late, whole");
        statements.add("INSERT INTO plain SELECT 2, 'reused' FROM generate_series(1, 300)");
        statements.add("UPDATE wide SET v = 'r' WHERE n = 0");
        return statements;
    }

    private static void requireEqual(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
        assertThat(outcome.results()).hasSize(6);
        for (TableResult result : outcome.results()) {
            assertThat(result.sourceRows()).as("%s", result.table()).isPositive();
        }
    }

    private static void namesHowManyEachSideHas(Installation installation)
            throws SQLException, InterruptedException {
        installation
                .target()
                .query(
                        "INSERT INTO public.plain (n, v, _version, _is_deleted, _tid) SELECT 1,"
                                + " 'after', 1, 0, 9999999999");
        installation
                .target()
                .query(
                        "INSERT INTO public.wide (_version, _is_deleted, _tid) SELECT"
                                + " toUInt128('170141183460469231731687303715884105728'), 1, _tid"
                                + " FROM public.wide FINAL");
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.ok()).isFalse();
        List<String> found = new ArrayList<>();
        for (TableResult result : outcome.results()) {
            result.differences()
                    .forEach(each ->
                            found.add(each.key() + ": " + each.source() + ", " + each.target()));
        }
        assertThat(found)
                .containsExactlyInAnyOrder(
                        "n=1, v=after: 10, 11",
                        "n=1, big=%s... (5000 characters), packed=null, v=kept: 1, 0"
                                .formatted("z".repeat(100)));
        assertThat(outcome.toJson()).contains("\"missing\":1", "\"extra\":1");
        Installation.CommandResult command = installation.command("verify");
        assertThat(command.exitCode()).as(command.output()).isEqualTo(1);
        assertThat(command.output())
                .contains("n=1, v=after: 10 such rows on the source, 11 in ClickHouse");
    }

    private static String count(Installation installation, String table) {
        return installation.target().query("SELECT count() FROM " + table + " FINAL").strip();
    }
}
