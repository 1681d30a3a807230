package dev.walshadow.bootstrap.reload;

import dev.walshadow.catalog.RelationName;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Holds a materialized view still from before the snapshot of its load until the load has ended.
 * LOCK TABLE refuses views, and whatever else locks one takes a snapshot too: so a session of its
 * own holds the lock.
 */
final class ViewLock implements AutoCloseable {
    /** object_not_in_prerequisite_state: WITH NO DATA. */
    private static final String NOT_POPULATED = "55000";

    private final Connection connection;

    private ViewLock(Connection connection) {
        this.connection = connection;
    }

    static ViewLock open(TableLoad.Sessions sessions) throws SQLException {
        ViewLock lock = new ViewLock(sessions.open());
        lock.connection.setAutoCommit(false);
        return lock;
    }

    /**
     * Waits for the lock as long as the session may.
     *
     * @return false if the view has no content that could be read
     */
    boolean take(RelationName view, int timeoutMillis) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET LOCAL lock_timeout = " + timeoutMillis);
            statement.execute("SET LOCAL idle_in_transaction_session_timeout = 0");
            statement.execute("SELECT FROM ONLY " + CopySql.plain(view) + " LIMIT 0");
            return true;
        } catch (SQLException e) {
            if (NOT_POPULATED.equals(e.getSQLState())) {
                return false;
            }
            throw e;
        }
    }

    void release() throws SQLException {
        connection.rollback();
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
