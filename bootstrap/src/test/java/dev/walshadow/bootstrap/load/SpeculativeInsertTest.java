package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** INSERT ... ON CONFLICT that is under way at B and loses its race after its page was read. */
@Timeout(600)
final class SpeculativeInsertTest {
    private static final int LOCK = 1;

    @TempDir Path folder;

    private static void run(Connection session, String... statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** An index whose entries can be made to wait comes before the unique one. */
    private static void fill(Connection session) throws SQLException {
        run(
                session,
                "CREATE FUNCTION slow(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF"
                        + " current_setting('test.wait', true) = 'on' THEN PERFORM"
                        + " pg_advisory_lock_shared("
                        + LOCK
                        + "); END IF; RETURN $1; END $$",
                "CREATE TABLE t (id int, v text)",
                "CREATE INDEX waits ON t (slow(id))",
                "CREATE UNIQUE INDEX decides ON t (id)",
                "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 50) i");
    }

    private static long waiting(Connection session) throws SQLException {
        return Long.parseLong(
                LiveBackup.ask(
                        session,
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT"
                                + " granted"));
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void aCancelledInsertionIsNoRowOfItsTransaction(int major) throws Exception {
        try (EmbeddedPostgres server =
                        EmbeddedPostgres.at(folder.resolve("server"))
                                .version(major)
                                .setting("fsync", "off")
                                .setting("autovacuum", "off")
                                .setting("wal_keep_size", "1GB")
                                .start();
                Connection plain = LiveBackup.open(server);
                Connection loser = LiveBackup.open(server)) {
            fill(plain);
            run(plain, "SELECT pg_advisory_lock(" + LOCK + ")");
            loser.setAutoCommit(false);
            run(loser, "INSERT INTO t VALUES (100, 'of the loser')", "SET test.wait = 'on'");
            CompletableFuture<Void> inserted = insert(loser);
            while (waiting(plain) == 0) {
                LockSupport.parkNanos(1_000_000);
            }
            run(plain, "INSERT INTO t VALUES (77, 'winner')");

            LiveBackup backup = new LiveBackup(server, major, folder, false);
            backup.beforeFinish =
                    loader -> {
                        while (loader.pages() == 0) {
                            LockSupport.parkNanos(1_000_000);
                        }
                        run(plain, "SELECT pg_advisory_unlock(" + LOCK + ")");
                    };
            backup.load(UnaryOperator.identity(), () -> {});
            inserted.join();
            loser.commit();

            DeferredRows deferred =
                    DeferredRows.open(backup.directory(), LiveBackup.IDENTIFIER, 5, backup.target);
            List<TransactionEnd> ends = new ArrayList<>();
            long end = backup.endLsn + 8;
            for (int xid : deferred.waitsFor()) {
                ends.add(new TransactionEnd(xid, true, end, end, 0));
            }
            assertThat(ends).isNotEmpty();
            deferred.resolve(ends);
            Map<Integer, String> rows = backup.target.rows();
            assertThat(rows).hasSize(52).containsEntry(77, "winner");
            assertThat(rows).containsEntry(100, "of the loser");
        }
    }

    private static CompletableFuture<Void> insert(Connection session) {
        return CompletableFuture.runAsync(() -> {
            try {
                run(session, "INSERT INTO t VALUES (77, 'never') ON CONFLICT (id) DO NOTHING");
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        });
    }
}
