package dev.walshadow.daemon.replication;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The source's transactions that were open at a moment, prepared ones included. Records of theirs
 * may lie before everything that was ever read, of tables whose rows nobody kept; once they have
 * ended, every snapshot shows what they did. Used by one thread.
 *
 * <p>They are known by the lock that each transaction holds on its own id from before its first
 * record until its end is seen by snapshots. A snapshot would not do: it ends at the last id that
 * has been completed, and what is open beyond that is not told.
 */
final class OlderTransactions {
    private static final String OPEN =
            "SELECT transactionid::text FROM pg_catalog.pg_locks WHERE locktype = 'transactionid'"
                    + " AND mode = 'ExclusiveLock' AND granted";

    private final SourceDatabase source;

    /** Those that are still open; null until the source has been asked. */
    private @Nullable Set<String> left;

    OlderTransactions(SourceDatabase source) {
        this.source = source;
    }

    /** Whether those have ended that were open when this was asked first. */
    boolean haveEnded() throws SQLException {
        Set<String> open = open();
        Set<String> still = left;
        if (still == null) {
            left = open;
            return open.isEmpty();
        }
        still.retainAll(open);
        return still.isEmpty();
    }

    private Set<String> open() throws SQLException {
        Set<String> open = new HashSet<>();
        try (Connection session = source.open();
                Statement statement = session.createStatement();
                ResultSet rows = statement.executeQuery(OPEN)) {
            while (rows.next()) {
                open.add(rows.getString(1));
            }
        }
        return open;
    }
}
