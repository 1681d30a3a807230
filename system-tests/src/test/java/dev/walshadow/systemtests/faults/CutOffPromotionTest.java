package dev.walshadow.systemtests.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.Sql;
import dev.walshadow.testkit.cluster.Standby;
import java.io.IOException;
import java.sql.SQLException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The source fails over to a standby that lacks the record of which the daemon has received the
 * beginning: of that nothing was used, so the stream goes on by itself. A long record is filtered
 * and archived before its end has come.
 */
@Timeout(900)
final class CutOffPromotionTest {
    private static final int MAJOR = Integer.getInteger("walshadow.major", 17);

    @SuppressWarnings("NullAway.Init") // every test starts with it
    private Installation at;

    @ParameterizedTest
    @CsvSource({"3000000, 300000, 0", "3000000, 300000, 1GB", "60000000, 50000000, 1GB"})
    void theStreamGoesOnBehindTheLastWholeRecord(int length, int passed, String spool)
            throws Exception {
        try (Installation installation =
                Installation.start(MAJOR, source -> source.setting("autovacuum", "off"))) {
            at = installation;
            EmbeddedPostgres first = at.source();
            Sql.on(first, "CREATE TABLE item (id int PRIMARY KEY, name text)");
            at.configure("\n[wal]\nspool_max = \"" + spool + "\"\n");
            try (DamagingProxy proxy = new DamagingProxy(first.port());
                    EmbeddedPostgres second = Standby.of(first, at.folder("b"), s -> s)) {
                at.configure(text ->
                        text.replaceFirst(
                                "url = \"postgres:.*",
                                "url = \"postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres\""
                                        .formatted(proxy.port(), second.port())));
                at.startDaemon();
                at.awaitStreaming();
                write(first, 1000);
                assertThat(at.command("wait").exitCode()).isZero();
                cutOff(first, second, proxy, length, passed);
                write(second, 2000);
                Sql.on(second, "ALTER TABLE item ADD COLUMN more int DEFAULT 5");
                write(second, 3000);
                at.await(
                        "it has begun anew", () -> at.logged("going on behind the last whole one"));
                at.awaitStreaming();
                assertThat(at.command("wait").exitCode()).isZero();
                assertThat(at.verify().reason()).isEmpty();
                at.stopDaemon();
                at.startDaemon();
                write(second, 4000);
                assertThat(at.command("wait").exitCode()).isZero();
                assertThat(at.verify().reason()).isEmpty();
                at.stopDaemon();
            }
        }
    }

    /** The background writer is stopped meanwhile: it would write a record before this one. */
    private void cutOff(
            EmbeddedPostgres first,
            EmbeddedPostgres second,
            DamagingProxy proxy,
            int length,
            int passed)
            throws SQLException, IOException, InterruptedException {
        String writer =
                Sql.ask(
                        first,
                        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background"
                                + " writer'");
        signal("-STOP", writer);
        Standby.awaitCaughtUp(first, second);
        assertThat(at.command("wait").exitCode()).isZero();
        second.stop();
        proxy.pass(passed);
        Sql.on(
                first,
                "SELECT pg_logical_emit_message(true, 'walshadow.x', repeat('x', " + length + "))");
        at.await("the beginning has come", proxy::isExhausted);
        signal("-CONT", writer);
        first.kill();
        proxy.refuse(true);
        second.start();
        Standby.promote(second);
    }

    private static void signal(String name, String pid) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("kill", name, pid).inheritIO().start().waitFor()).isZero();
    }

    private static void write(EmbeddedPostgres server, int from) throws SQLException {
        Sql.on(
                server,
                "INSERT INTO item (id, name) SELECT i, 'x' || i FROM generate_series(%d, %d) i"
                        .formatted(from, from + 99),
                "UPDATE item SET name = name || '!' WHERE id % 10 = 0",
                "DELETE FROM item WHERE id % 13 = 0");
    }
}
