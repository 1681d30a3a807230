package dev.walshadow.bootstrap.load;

import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How transactions ended that finished before the backup's start, asked of the source in batches:
 * {@code pg_xact_status} and, for the updater of a multixact, {@code pg_get_multixact_members}.
 * Answers are kept. One owner thread at a time.
 */
final class TransactionStatuses {
    /** How a transaction ended. */
    enum Status {
        COMMITTED,
        ABORTED,
        IN_PROGRESS,
        /** Older than the source's commit log: only hint bits and frozen rows can name it. */
        FORGOTTEN
    }

    private static final int KEPT_LIMIT = 1 << 20;
    private static final long EPOCH = 1L << 32;

    private final Connection source;
    private final Map<Integer, Status> statuses = new HashMap<>();

    /** Multixact to its updater's xid, 0 if it only locks. */
    private final Map<Integer, Integer> updaters = new HashMap<>();

    TransactionStatuses(Connection source) {
        this.source = source;
    }

    /** Asks for those that are not known yet. */
    void learn(Set<Integer> xids, Set<Integer> multixacts) {
        if (statuses.size() > KEPT_LIMIT || updaters.size() > KEPT_LIMIT) {
            statuses.clear();
            updaters.clear();
        }
        try {
            learnUpdaters(multixacts.stream().filter(each -> !updaters.containsKey(each)).toList());
            learnStatuses(xids.stream().filter(each -> !statuses.containsKey(each)).toList());
        } catch (SQLException e) {
            throw failed(e);
        }
    }

    /** Of an xid that was learned. */
    Status status(int xid) {
        return statuses.getOrDefault(xid, Status.FORGOTTEN);
    }

    /** Of a multixact that was learned; 0 if none of its members updates. */
    int updater(int multixact) {
        return updaters.getOrDefault(multixact, 0);
    }

    /** Asks anew, whatever is kept: for transactions that may have been in progress. */
    Map<Integer, Status> ask(Collection<Integer> xids) {
        try {
            xids.forEach(statuses::remove);
            learnStatuses(List.copyOf(xids));
            Map<Integer, Status> answers = new HashMap<>();
            xids.forEach(xid -> answers.put(xid, status(xid)));
            return answers;
        } catch (SQLException e) {
            throw failed(e);
        }
    }

    private void learnStatuses(List<Integer> xids) throws SQLException {
        if (xids.isEmpty()) {
            return;
        }
        long next = nextFullXid();
        List<Long> full = new ArrayList<>(xids.size());
        for (int xid : xids) {
            long candidate = (next & -EPOCH) | Integer.toUnsignedLong(xid);
            full.add(candidate > next ? candidate - EPOCH : candidate);
        }
        Array parameter = source.createArrayOf("bigint", full.toArray());
        try (PreparedStatement statement =
                source.prepareStatement(
                        "SELECT x, pg_xact_status(x::text::xid8) FROM unnest(?::bigint[]) x")) {
            statement.setArray(1, parameter);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    statuses.put((int) rows.getLong(1), parse(rows.getString(2)));
                }
            }
        }
    }

    private static Status parse(@org.jspecify.annotations.Nullable String text) {
        return switch (text) {
            case "committed" -> Status.COMMITTED;
            case "aborted" -> Status.ABORTED;
            case "in progress" -> Status.IN_PROGRESS;
            case null, default -> Status.FORGOTTEN;
        };
    }

    private long nextFullXid() throws SQLException {
        try (Statement statement = source.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")) {
            row.next();
            return Long.parseLong(row.getString(1));
        }
    }

    private void learnUpdaters(List<Integer> multixacts) throws SQLException {
        try (PreparedStatement statement =
                source.prepareStatement(
                        "SELECT xid::text FROM pg_get_multixact_members(?::text::xid) WHERE mode IN"
                                + " ('nokeyupd', 'upd')")) {
            for (int multixact : multixacts) {
                statement.setString(1, Integer.toUnsignedString(multixact));
                int updater = 0;
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        updater = Integer.parseUnsignedInt(rows.getString(1));
                    }
                }
                updaters.put(multixact, updater);
            }
        }
    }

    private static RetryException failed(SQLException e) {
        return new RetryException(
                BootstrapCodes.SOURCE_QUERY,
                "the source could not be asked how transactions ended: "
                        + e.getMessage()
                        + "; the initial load is tried again",
                e);
    }
}
