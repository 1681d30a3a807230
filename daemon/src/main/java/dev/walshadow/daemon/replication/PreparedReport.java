package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.PreparedTransaction;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Prepared transactions, those that hold most WAL first: what the stream has read of them, and what
 * only the source knows (their owners' names, and transactions that were prepared before the
 * initial load or are not received yet). Its keys are described in docs/operations.md.
 */
final class PreparedReport {
    private static final Logger LOG = LoggerFactory.getLogger(PreparedReport.class);
    private static final Instant POSTGRES_EPOCH = Instant.parse("2000-01-01T00:00:00Z");

    private final SourceDatabase source;
    private final FollowedDatabases databases;

    PreparedReport(SourceDatabase source, FollowedDatabases databases) {
        this.source = source;
        this.databases = databases;
    }

    /** A row of the source's pg_prepared_xacts. */
    private record SourceRow(
            String gid, int xid, Instant prepared, String owner, String database) {}

    /**
     * @param known as of before the call
     * @param handedOn end of the last record that the stream has read
     */
    ObjectNode of(JsonMapper json, Collection<PreparedTransaction> known, long handedOn) {
        ObjectNode root = json.createObjectNode();
        Map<Integer, SourceRow> there = new HashMap<>();
        boolean answers = true;
        try {
            there = onSource();
        } catch (SQLException e) {
            LOG.debug("the source does not tell its prepared transactions", e);
            answers = false;
        }
        root.put("source_answers", answers);
        ArrayNode list = root.putArray("prepared");
        List<PreparedTransaction> oldest =
                known.stream()
                        .sorted(Comparator.comparingLong(PreparedTransaction::firstLsn))
                        .toList();
        for (PreparedTransaction each : oldest) {
            SourceRow row = there.remove(each.xid());
            if (row == null && answers) {
                continue; // it has ended meanwhile, which the stream has yet to bring
            }
            describe(list.addObject(), row != null ? row : fromStream(each), each.gid())
                    .put("first_lsn", Lsn.format(each.firstLsn()))
                    .put("wal_bytes", Math.max(0, handedOn - each.firstLsn()));
        }
        there.values().stream()
                .sorted(Comparator.comparing(SourceRow::prepared))
                .forEach(row -> describe(list.addObject(), row, row.gid()).put("wal_bytes", 0));
        return root;
    }

    private static ObjectNode describe(ObjectNode into, SourceRow row, String gid) {
        return into.put("gid", gid)
                .put("xid", Integer.toUnsignedLong(row.xid()))
                .put("database", row.database())
                .put("owner", row.owner())
                .put("prepared", row.prepared().truncatedTo(ChronoUnit.MILLIS).toString())
                .put(
                        "age_seconds",
                        Math.max(0, ChronoUnit.SECONDS.between(row.prepared(), Instant.now())));
    }

    /** Where the source does not say: OIDs instead of names that are not known. */
    private SourceRow fromStream(PreparedTransaction each) {
        @Nullable String database =
                databases.known().stream()
                        .filter(one -> one.oid() == each.databaseOid())
                        .map(DatabaseDescriptor::name)
                        .findFirst()
                        .orElse(null);
        return new SourceRow(
                each.gid(),
                each.xid(),
                POSTGRES_EPOCH.plus(each.preparedMicros(), ChronoUnit.MICROS),
                "OID " + Integer.toUnsignedString(each.ownerOid()),
                database != null
                        ? database
                        : "OID " + Integer.toUnsignedString(each.databaseOid()));
    }

    private Map<Integer, SourceRow> onSource() throws SQLException {
        Map<Integer, SourceRow> rows = new HashMap<>();
        try (Connection session = source.open();
                Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT gid, transaction::text, extract(epoch FROM prepared),"
                                        + " owner, database FROM pg_prepared_xacts")) {
            while (row.next()) {
                int xid = Integer.parseUnsignedInt(row.getString(2));
                Instant prepared =
                        Instant.EPOCH.plus(
                                row.getBigDecimal(3).movePointRight(6).longValue(),
                                ChronoUnit.MICROS);
                rows.put(
                        xid,
                        new SourceRow(
                                row.getString(1),
                                xid,
                                prepared,
                                row.getString(4),
                                row.getString(5)));
            }
        }
        return rows;
    }
}
