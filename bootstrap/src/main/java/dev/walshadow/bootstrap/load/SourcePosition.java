package dev.walshadow.bootstrap.load;

import dev.walshadow.postgres.Lsn;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Where the source's WAL is, asked seldom: one answer serves everything that had arrived before the
 * question was put. Thread safe.
 */
final class SourcePosition {
    /** Guarded by this. */
    private long askedNanos;

    private long flushed;
    private boolean asked;

    /**
     * The source's flush position at some moment after {@code arrivedNanos}.
     *
     * @param session the caller's own
     */
    synchronized long flushedAfter(long arrivedNanos, Connection session) throws SQLException {
        if (!asked || askedNanos - arrivedNanos <= 0) {
            long now = System.nanoTime();
            flushed = ask(session, "pg_current_wal_flush_lsn()");
            askedNanos = now;
            asked = true;
        }
        return flushed;
    }

    private static long ask(Connection session, String function) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT " + function)) {
            row.next();
            return Lsn.parse(row.getString(1));
        }
    }
}
