package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.Sql;
import dev.walshadow.testkit.cluster.Standby;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The source fails over to its standby while the daemon runs, and while it does not. */
@Timeout(900)
final class FailoverTest {
    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak")
                ? Stream.of(15, 16, 17, 18)
                : Stream.of(Integer.getInteger("walshadow.major", 16));
    }

    @SuppressWarnings("NullAway.Init") // every test starts with it
    private Installation at;

    @ParameterizedTest
    @MethodSource("majors")
    void theStreamGoesOnWithThePromotedStandby(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            at = installation;
            Sql.on(
                    at.source(),
                    "CREATE TABLE item (id int PRIMARY KEY, name text, big text)",
                    "INSERT INTO item SELECT i, 'n' || i, repeat(md5(i::text), 100)"
                            + " FROM generate_series(1, 200) i");
            try (EmbeddedPostgres second = Standby.of(at.source(), at.folder("b"), s -> s)) {
                use(at.source(), second);
                at.startDaemon();
                at.awaitStreaming();
                write(at.source(), 1000);
                failOver(at.source(), second, true);
                write(second, 2000);
                ddl(second);
                assertEqual();
                at.stopDaemon();
                at.startDaemon();
                write(second, 3000);
                assertEqual();
                try (EmbeddedPostgres third = Standby.of(second, at.folder("c"), s -> s)) {
                    use(second, third);
                    assertEqual();
                    at.stopDaemon();
                    at.startDaemon();
                    write(second, 4000);
                    failOverBesideTheDaemon(second, third);
                    write(third, 5000);
                    assertEqual();
                    at.killShadow();
                    Sql.on(third, "ALTER TABLE item ADD COLUMN more int DEFAULT 5");
                    write(third, 6000);
                    assertEqual();
                    at.stopDaemon();
                }
            }
        }
    }

    /** Rows of it may have been delivered that the new primary never had. */
    @Test
    void aStandbyThatLacksWhatWasReceivedIsRefused() throws Exception {
        int major = Integer.getInteger("walshadow.major", 17);
        try (Installation installation = Installation.start(major)) {
            at = installation;
            Sql.on(at.source(), "CREATE TABLE item (id int PRIMARY KEY, name text, big text)");
            try (EmbeddedPostgres second = Standby.of(at.source(), at.folder("b"), s -> s)) {
                use(at.source(), second);
                at.startDaemon();
                at.awaitStreaming();
                write(at.source(), 1000);
                Standby.awaitCaughtUp(at.source(), second);
                second.stop();
                write(at.source(), 2000);
                assertThat(at.command("wait").exitCode()).isZero();
                at.source().kill();
                second.start();
                Standby.promote(second);
                write(second, 3000);
                assertThat(at.awaitDaemonEnd()).isEqualTo(3);
                assertThat(at.logged("WS-1414")).isTrue();
                assertThat(at.logged("promoted without all WAL of the old primary")).isTrue();
                Sql.on(second, "SELECT pg_create_physical_replication_slot('walshadow', true)");
                at.launchDaemon();
                assertThat(at.awaitDaemonEnd()).isEqualTo(3);
            }
        }
    }

    /** The transaction that is open, and the source's checkpoint, are the old primary's. */
    private void failOver(EmbeddedPostgres from, EmbeddedPostgres to, boolean prepared)
            throws SQLException {
        try (Connection open = DriverManager.getConnection(from.jdbcUrl("postgres"));
                Statement statement = open.createStatement()) {
            open.setAutoCommit(false);
            statement.execute("INSERT INTO item VALUES (-1, 'lost', 'lost')");
            if (prepared) {
                Sql.on(
                        from,
                        "BEGIN; INSERT INTO item VALUES (-2, 'kept'); PREPARE TRANSACTION 'p'");
            }
            Sql.on(from, "CHECKPOINT", "DELETE FROM item WHERE id % 7 = 0");
            Standby.awaitCaughtUp(from, to);
            from.kill();
        }
        Standby.promote(to);
        if (prepared) {
            Sql.on(to, "COMMIT PREPARED 'p'");
        }
    }

    private void failOverBesideTheDaemon(EmbeddedPostgres from, EmbeddedPostgres to)
            throws Exception {
        at.killDaemon();
        Sql.on(from, "UPDATE item SET name = name || '.' WHERE id % 3 = 0");
        failOver(from, to, false);
        write(to, 4500);
        Sql.on(to, "SELECT pg_switch_wal()", "CHECKPOINT");
        at.startDaemon();
    }

    private static void write(EmbeddedPostgres server, int from) throws SQLException {
        Sql.on(
                server,
                "INSERT INTO item (id, name, big) SELECT i, 'x' || i, repeat(md5(i::text), 100)"
                        + " FROM generate_series(%d, %d) i".formatted(from, from + 99),
                "UPDATE item SET name = name || '!' WHERE id % 10 = 0",
                "DELETE FROM item WHERE id % 13 = 0");
    }

    private static void ddl(EmbeddedPostgres server) throws SQLException {
        Sql.on(
                server,
                "CREATE TABLE fresh (id serial PRIMARY KEY, v int)",
                "INSERT INTO fresh (v) SELECT i FROM generate_series(1, 50) i",
                "ALTER TABLE item ADD COLUMN extra text DEFAULT 'e'",
                "INSERT INTO item VALUES (9999, 'n', 'b', 'f')");
    }

    private void assertEqual() throws Exception {
        assertThat(at.command("wait").exitCode()).isZero();
        assertThat(at.verify().reason()).isEmpty();
    }

    private void use(EmbeddedPostgres one, EmbeddedPostgres other) {
        at.configure(text ->
                text.replaceFirst(
                        "url = \"postgres:.*",
                        "url = \"postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres\""
                                .formatted(one.port(), other.port())));
    }
}
