package dev.walshadow.systemtests.load;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.function.BooleanSupplier;
import tools.jackson.databind.JsonNode;

/**
 * Whether the daemon is not far behind the source, so that a load goes on at the pace of a machine
 * that runs both. In the backup, where it holds at nothing, it is not asked. Any thread; looked at
 * ten times a second.
 */
final class Pace implements BooleanSupplier {
    private static final long LOOK_NANOS = 100_000_000;

    private final Installation installation;
    private final long behindBytes;
    private long nextLook = System.nanoTime();
    private boolean last;

    /**
     * @param behindBytes of WAL that the daemon may be behind
     */
    Pace(Installation installation, long behindBytes) {
        this.installation = installation;
        this.behindBytes = behindBytes;
    }

    @Override
    public synchronized boolean getAsBoolean() {
        if (System.nanoTime() - nextLook >= 0) {
            last = keepsUp();
            nextLook = System.nanoTime() + LOOK_NANOS;
        }
        return last;
    }

    private boolean keepsUp() {
        JsonNode status = installation.status();
        if (!status.path("shadow").path("running").asBoolean(false)) {
            return true;
        }
        long handedOn = Lsn.parse(status.path("handed_on").asString("0/0"));
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_current_wal_lsn()")) {
            row.next();
            return Lsn.parse(row.getString(1)) - handedOn < behindBytes;
        } catch (SQLException e) {
            return false; // it cannot be asked just now
        }
    }
}
