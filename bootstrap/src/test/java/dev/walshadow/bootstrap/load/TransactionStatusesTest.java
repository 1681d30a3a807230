package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.bootstrap.load.TransactionStatuses.Status;
import dev.walshadow.embedded.EmbeddedPostgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The source is asked how transactions ended. */
final class TransactionStatusesTest {
    @TempDir Path folder;

    /** Nothing has ended behind them: a snapshot knows nothing of their ids. */
    @Test
    void transactionsThatAreTheLastOfAQuietSourceAreInProgress() throws Exception {
        try (EmbeddedPostgres server =
                        EmbeddedPostgres.at(folder.resolve("server"))
                                .setting("autovacuum", "off")
                                .start();
                Connection plain = LiveBackup.open(server);
                Connection open = LiveBackup.open(server);
                Statement statement = open.createStatement()) {
            open.setAutoCommit(false);
            statement.execute("CREATE TABLE t (id int)");
            int xid = Integer.parseInt(LiveBackup.ask(open, "SELECT pg_current_xact_id()"));
            statement.execute("SAVEPOINT s");
            statement.execute("INSERT INTO t VALUES (1)");
            statement.execute("SAVEPOINT s2");
            statement.execute("INSERT INTO t VALUES (2)");
            List<Integer> xids = List.of(xid, xid + 1, xid + 2);
            TransactionStatuses statuses = new TransactionStatuses(plain);
            assertThat(statuses.ask(xids))
                    .isEqualTo(
                            Map.of(
                                    xid,
                                    Status.IN_PROGRESS,
                                    xid + 1,
                                    Status.IN_PROGRESS,
                                    xid + 2,
                                    Status.IN_PROGRESS));
            statement.execute("ROLLBACK TO s2");
            open.commit();
            assertThat(statuses.ask(xids))
                    .isEqualTo(
                            Map.of(
                                    xid,
                                    Status.COMMITTED,
                                    xid + 1,
                                    Status.COMMITTED,
                                    xid + 2,
                                    Status.ABORTED));
        }
    }
}
