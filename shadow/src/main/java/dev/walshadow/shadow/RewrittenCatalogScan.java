package dev.walshadow.shadow;

import dev.walshadow.base.RetryException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Finds all rewritten catalogs of a source, in every database, at the start of a base backup: what
 * the backup has to keep and the filter has to know from the beginning.
 *
 * <p>To be run after the backup's start B and before its first file. What was rewritten before B
 * and committed is seen. What is rewritten after B is in the WAL that the filter reads. Between the
 * two are transactions that have rewritten a catalog, are not committed, and wrote some of it
 * before B: they hold AccessExclusiveLock on that catalog. So those that do are waited for first;
 * then either their storage is seen, or it is gone.
 */
public final class RewrittenCatalogScan {
    private static final long POLL_MILLIS = 20;

    private static final String REWRITERS =
            """
            SELECT l.virtualtransaction || ' (pid ' || coalesce(l.pid::text, 'prepared') || ')'
            FROM pg_catalog.pg_locks l
            WHERE l.locktype = 'relation' AND l.relation < 16384 AND l.granted
              AND l.mode = 'AccessExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()\
            """;

    private static final String NO_SUCH_DATABASE = "3D000";

    /** Opens a session of the source on a database. */
    @FunctionalInterface
    public interface SourceSessions {
        Connection open(String database) throws SQLException;
    }

    private RewrittenCatalogScan() {}

    /**
     * @param database any of the source's that can be connected to
     * @param limit how long to wait for transactions that hold locks on catalogs
     * @throws RetryException when one of them is still there after the limit
     */
    public static Set<RewrittenCatalog> run(
            SourceSessions sessions, String database, Duration limit)
            throws SQLException, InterruptedException {
        CatalogReader reader = new CatalogReader();
        Set<RewrittenCatalog> found = new LinkedHashSet<>();
        try (Connection session = sessions.open(database)) {
            awaitRewriters(session, limit);
            for (DatabaseInfo each : reader.databases(session)) {
                if (each.allowsConnections()) {
                    addOf(sessions, each.name(), reader, found);
                }
            }
        }
        return found;
    }

    private static void addOf(
            SourceSessions sessions,
            String database,
            CatalogReader reader,
            Set<RewrittenCatalog> found)
            throws SQLException {
        try (Connection session = sessions.open(database)) {
            found.addAll(reader.rewrittenCatalogs(session));
        } catch (SQLException e) {
            // Dropped since it was listed: then nothing of it is needed.
            if (!NO_SUCH_DATABASE.equals(e.getSQLState())) {
                throw e;
            }
        }
    }

    private static void awaitRewriters(Connection session, Duration limit)
            throws SQLException, InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        Set<String> waitedFor = rewriters(session);
        while (!waitedFor.isEmpty()) {
            if (System.nanoTime() - deadline >= 0) {
                throw new RetryException(
                        ShadowCodes.CATALOG_LOCKED,
                        "expected no transaction of the source to lock a system catalog"
                                + " exclusively while a base backup begins, found "
                                + waitedFor
                                + " still there after "
                                + limit.toSeconds()
                                + " s; end it and start again");
            }
            Thread.sleep(POLL_MILLIS);
            waitedFor.retainAll(rewriters(session));
        }
    }

    private static Set<String> rewriters(Connection session) throws SQLException {
        Set<String> found = new HashSet<>();
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(REWRITERS)) {
            while (row.next()) {
                found.add(CatalogReader.string(row, 1));
            }
        }
        return found;
    }
}
