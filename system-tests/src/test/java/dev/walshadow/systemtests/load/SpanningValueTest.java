package dev.walshadow.systemtests.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A transaction that writes one large value after the other is in the midst of one when the base
 * backup begins: that value's beginning is in the backup, its end in the WAL, its row comes when
 * the load has long been done and the daemon was killed since.
 */
final class SpanningValueTest {
    /** Writing one takes nearly all of the time between two. */
    private static final int VALUE_BYTES = 4 << 20;

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void aValueThatIsBegunBeforeTheBackupSurvivesAKillAfterIt(int major) throws Exception {
        try (Installation installation =
                        Installation.start(major, source -> source.setting("max_wal_size", "2GB"));
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            installation.execute(
                    "CREATE TABLE large (id int PRIMARY KEY, v text)",
                    "ALTER TABLE large ALTER v SET STORAGE EXTERNAL",
                    "INSERT INTO large VALUES (0, 'small')");
            try (Connection session = installation.session()) {
                session.setAutoCommit(false);
                AtomicBoolean begun = new AtomicBoolean();
                Future<?> writing = executor.submit(() -> insertUntil(begun, session));
                installation.startDaemon();
                installation.await("the backup begins", () -> hasBackup(installation));
                begun.set(true);
                writing.get();
                installation.awaitStreaming();
                assertThat(spoolFiles(installation)).isNotEmpty();
                installation.killDaemon();
                installation.startDaemon();
                installation.awaitStreaming();
                session.commit();
            }
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason())
                    .as("%s %s", outcome.results(), outcome.setAside())
                    .isEmpty();
            // which transactions have ended is known with the next list of those that run
            installation.execute("CHECKPOINT");
            installation.await(
                    "the load's files are gone", () -> spoolFiles(installation).isEmpty());
        }
    }

    private static boolean hasBackup(Installation installation) {
        try {
            return Files.readString(installation.log()).contains("base backup begins");
        } catch (IOException e) {
            return false; // it has not said anything yet
        }
    }

    private static int insertUntil(AtomicBoolean end, Connection session) throws SQLException {
        int id = 0;
        try (Statement statement = session.createStatement()) {
            while (!end.get()) {
                id++;
                statement.execute(
                        "INSERT INTO large VALUES (%d, repeat(md5('%d'), %d))"
                                .formatted(id, id, VALUE_BYTES / 32));
            }
        }
        return id;
    }

    /** What the load has left in the state directory. */
    private static List<Path> spoolFiles(Installation installation) {
        try (Stream<Path> files = Files.walk(installation.state().resolve("deferred"))) {
            return files.filter(Files::isRegularFile).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
