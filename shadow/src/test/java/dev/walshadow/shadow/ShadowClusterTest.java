package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.SystemCommands;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** A standby of a whole copy, fed with unfiltered WAL: lifecycle and reads, without the filter. */
@Timeout(180)
@ParameterizedClass
@MethodSource("majors")
class ShadowClusterTest extends ShadowClusterRig {
    ShadowClusterTest(int major) throws Exception {
        super(major);
    }

    @Test
    void followsTheSourceThroughRestartsOfEverything() throws Exception {
        execute(
                "postgres",
                "CREATE TABLE first (id int PRIMARY KEY, t text)",
                "CREATE DATABASE other",
                "INSERT INTO first SELECT i, repeat('x', 1000) FROM generate_series(1, 30000) i");
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().acceptingConnections()).isTrue();
        assertThat(cluster.health().restarts()).isZero();
        assertThat(cluster.majorVersion()).isEqualTo(major);

        long pid = cluster.health().pid();
        cluster.crash();
        execute("postgres", "ALTER TABLE first ADD COLUMN more numeric DEFAULT 1.50");
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().restarts()).isPositive();
        assertThat(cluster.health().pid()).isNotEqualTo(pid);
        assertThat(cluster.health().lastFailure()).contains("137");

        cluster.stop();
        assertThat(cluster.health().running()).isFalse();
        sender.close();
        execute("other", "CREATE TABLE second (id int)");
        sender = openSender();
        feed = openFeed();
        cluster = openCluster();
        sessions = openSessions();
        cluster.start();
        assertSameCatalogs("other", publishAll());
        long redo = cluster.restartRedoLsn();
        assertThat(redo).isBetween((long) RawWalFeed.SEGMENT, sender.appliedLsn());
        assertThat(cluster.oldestNeededLsn())
                .isBetween(redo - RawWalFeed.SEGMENT + 1, redo)
                .matches(lsn -> lsn % RawWalFeed.SEGMENT == 0);
    }

    @Test
    void keepsOneSessionUntilItCouldReadDuringReplay() throws Exception {
        String first = backend("postgres", publishAll());
        execute("postgres", "CREATE TABLE kept" + System.nanoTime() + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        assertThat(backend("postgres", publishAll())).isEqualTo(first);
        sessions.invalidates(600);
        assertThat(backend("postgres", publishAll())).isEqualTo(first);
        sessions.invalidates(600);
        assertThat(alive(first)).isTrue();
        sessions.invalidates(600);
        assertThat(alive(first)).isFalse();
        String second = backend("postgres", publishAll());
        assertThat(second).isNotEqualTo(first);

        cluster.crash();
        String third = backend("postgres", publishAll());
        assertThat(third).isNotEqualTo(second);
        assertThat(alive(second)).isFalse();
        SystemCommands.signal("TERM", Long.parseLong(third));
        String fourth = backend("postgres", publishAll());
        assertThat(fourth).isNotEqualTo(third);
        assertThatThrownBy(() ->
                        sessions.read(
                                sender.publishedLsn(),
                                "postgres",
                                STALL,
                                session -> {
                                    throw new IllegalStateException("of the caller");
                                }))
                .hasMessage("of the caller");
        assertThat(alive(fourth)).isFalse();
        String last = backend("postgres", publishAll());
        sessions.close();
        assertThat(alive(last)).isFalse();
    }

    @Test
    void readsAPromotedCopyWhileManySubtransactionsKeepTheShadowFromAnswering() throws Exception {
        String table = "behind" + System.nanoTime();
        execute("postgres", "CREATE TABLE " + table + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        try (Connection open = connect("postgres");
                Statement statement = open.createStatement()) {
            statement.execute("BEGIN");
            for (int i = 0; i < 70; i++) {
                statement.execute("SAVEPOINT s" + i);
                statement.execute("CREATE TABLE " + table + "_" + i + " (id int)");
            }
            execute("postgres", "CHECKPOINT");
            sender.awaitApplied(publishAll(), STALL);
            cluster.stop();
            cluster.start();
            sender.awaitApplied(sender.publishedLsn(), STALL);
            long pid = cluster.health().pid();
            long connection = sender.connectionNumber();
            for (int round = 0; round < 3; round++) {
                execute("postgres", "ALTER TABLE " + table + " ADD COLUMN c" + round + " int");
                assertSameCatalogs("postgres", publishAll());
            }
            assertThat(cluster.health().acceptingConnections()).isFalse();
            assertThat(cluster.health().pid()).isEqualTo(pid);
            assertThat(sender.connectionNumber()).isEqualTo(connection);
            statement.execute("COMMIT");
        }
        // its checkpoint tells the shadow which transactions run now
        publishAll();
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().acceptingConnections()).isTrue();
        assertThat(root.resolve("shadow-promoted")).doesNotExist();
    }

    private String backend(String database, long lsn) throws InterruptedException {
        return sessions.read(
                lsn, database, STALL, session -> text(session, "SELECT pg_backend_pid()"));
    }

    private static boolean alive(String pid) {
        return ProcessHandle.of(Long.parseLong(pid)).isPresent();
    }

    @Test
    void stopsTheServerThatAKilledDaemonLeft() throws Exception {
        assertSameCatalogs("postgres", publishAll());
        cluster.stop();
        ServerUser user = ServerUser.of(null);
        ServerProcess orphan =
                ServerProcess.start(
                        source.binDirectory(),
                        root.resolve("shadow"),
                        user,
                        new ServerLog(root.resolve("run/postgres.log")),
                        null);
        while (!orphan.acceptsConnections()) {
            assertThat(orphan.awaitEnd(10)).isFalse();
        }
        cluster.start();
        assertThat(orphan.alive()).isFalse();
        execute("postgres", "CREATE TABLE later" + System.nanoTime() + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().restarts()).isZero();
    }

    @Test
    void saysWhyItDoesNotStart() throws Exception {
        cluster.stop();
        settings.put("shared_buffers", "nonsense");
        cluster = openCluster();
        cluster.start();
        assertThatThrownBy(() -> cluster.awaitAcceptingConnections(STALL))
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("invalid value for parameter \"shared_buffers\"");
        cluster.stop();
        Files.writeString(root.resolve("shadow/PG_VERSION"), "14\n");
        assertThatThrownBy(() -> openCluster().start())
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("PostgreSQL 14");
        Files.delete(root.resolve("shadow/PG_VERSION"));
        assertThatThrownBy(() -> openCluster().start())
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("no PG_VERSION");
    }
}
