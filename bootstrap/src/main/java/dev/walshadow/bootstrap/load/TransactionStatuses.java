package dev.walshadow.bootstrap.load;

import dev.walshadow.base.QuarantineException;
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

    private final Connection source;
    private final Map<Integer, Status> statuses = new HashMap<>();

    /** Multixact to its updater's xid, 0 if it only locks. */
    private final Map<Integer, Integer> updaters = new HashMap<>();

    /** Multixacts that the source cannot take apart, and what it said. */
    private final Map<Integer, String> lost = new HashMap<>();

    TransactionStatuses(Connection source) {
        this.source = source;
    }

    /** Forgets what is kept if it is too much; never between learning and using. */
    void trim() {
        if (statuses.size() + updaters.size() > KEPT_LIMIT) {
            statuses.clear();
            updaters.clear();
            lost.clear();
        }
    }

    /** Asks for those that are not known yet. */
    void learn(Set<Integer> xids, Set<Integer> multixacts) {
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
        String reason = lost.get(multixact);
        if (reason != null) {
            throw new QuarantineException(
                    BootstrapCodes.DAMAGED_PAGE,
                    "a tuple names multixact "
                            + Integer.toUnsignedString(multixact)
                            + ", which the source cannot take apart ("
                            + reason
                            + "): the source's file is damaged; check it with pg_amcheck");
        }
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
        long near = recentFullXid();
        List<Long> full = new ArrayList<>(xids.size());
        for (int xid : xids) {
            // the nearest on the circle: half of it lies before, and what is open may lie behind
            long candidate = near + (xid - (int) near);
            if (candidate >= 0) {
                full.add(candidate);
            }
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

    /** One behind the last that has ended: transactions that are open may have later ones. */
    private long recentFullXid() throws SQLException {
        try (Statement statement = source.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")) {
            row.next();
            return Long.parseLong(row.getString(1));
        }
    }

    private void learnUpdaters(List<Integer> multixacts) throws SQLException {
        if (multixacts.isEmpty()) {
            return;
        }
        try {
            askUpdaters(multixacts);
        } catch (SQLException e) {
            if (!isRefusal(e)) {
                throw e;
            }
            learnUpdatersSingly(multixacts);
        }
    }

    /** One of them is refused: which? */
    private void learnUpdatersSingly(List<Integer> multixacts) throws SQLException {
        for (int multixact : multixacts) {
            try {
                askUpdaters(List.of(multixact));
            } catch (SQLException e) {
                if (!isRefusal(e)) {
                    throw e;
                }
                lost.put(multixact, String.valueOf(e.getMessage()));
            }
        }
    }

    /** The function's own errors: no such multixact. */
    private static boolean isRefusal(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("XX") || state.startsWith("22");
    }

    private void askUpdaters(List<Integer> multixacts) throws SQLException {
        Array parameter =
                source.createArrayOf(
                        "text", multixacts.stream().map(Integer::toUnsignedString).toArray());
        Map<Integer, Integer> found = new HashMap<>();
        multixacts.forEach(each -> found.put(each, 0));
        try (PreparedStatement statement =
                source.prepareStatement(
                        "SELECT m, member.xid::text FROM unnest(?::text[]) m,"
                                + " LATERAL pg_get_multixact_members(m::xid) member"
                                + " WHERE member.mode IN ('nokeyupd', 'upd')")) {
            statement.setArray(1, parameter);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.put(
                            Integer.parseUnsignedInt(rows.getString(1)),
                            Integer.parseUnsignedInt(rows.getString(2)));
                }
            }
        }
        updaters.putAll(found);
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
