package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.state.SequenceFile;
import dev.walshadow.postgres.Lsn;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the source for the values of sequences that no record has told: those that were there before
 * the stream, and those of a cloned database. What can be given without another record counts as
 * given, as in a record.
 */
final class SequenceReader implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(SequenceReader.class);
    private static final long LOOK_MILLIS = 500;
    private static final long RETRY_CEILING_MILLIS = 60_000;
    private static final int TOGETHER = 50;

    private final FollowedDatabases databases;
    private final Sequences sequences;
    private final Consumer<List<Sequences.Reading>> found;
    private final Set<String> told = new HashSet<>();

    /**
     * @param found hands over to the WAL pump
     */
    SequenceReader(
            FollowedDatabases databases,
            Sequences sequences,
            Consumer<List<Sequences.Reading>> found) {
        this.databases = databases;
        this.sequences = sequences;
        this.found = found;
    }

    @Override
    public void run() {
        try {
            Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
            while (true) {
                Thread.sleep(LOOK_MILLIS);
                List<RelationDescriptor> wanted = sequences.unread();
                if (!wanted.isEmpty() && read(wanted) == 0) {
                    backoff.pause();
                } else {
                    backoff = new Backoff(RETRY_CEILING_MILLIS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private int read(List<RelationDescriptor> wanted) {
        int count = 0;
        Map<Integer, List<RelationDescriptor>> byDatabase =
                wanted.stream().collect(Collectors.groupingBy(RelationDescriptor::databaseOid));
        for (Map.Entry<Integer, List<RelationDescriptor>> each : byDatabase.entrySet()) {
            try (Connection session = databases.open(each.getKey())) {
                List<RelationDescriptor> own = each.getValue();
                for (int from = 0; from < own.size(); from += TOGETHER) {
                    List<Sequences.Reading> readings =
                            read(session, own.subList(from, Math.min(own.size(), from + TOGETHER)));
                    found.accept(readings);
                    count += readings.size();
                }
            } catch (SQLException e) {
                LOG.debug("sequences cannot be read now: {}", e.getMessage());
            }
        }
        return count;
    }

    /** One that is gone, renamed or forbidden is left out. */
    private List<Sequences.Reading> read(Connection session, List<RelationDescriptor> wanted)
            throws SQLException {
        try {
            return ask(session, wanted);
        } catch (SQLException e) {
            if (session.isClosed()) {
                throw e;
            }
            if (wanted.size() > 1) {
                List<Sequences.Reading> singly = new ArrayList<>();
                for (RelationDescriptor each : wanted) {
                    singly.addAll(read(session, List.of(each)));
                }
                return singly;
            }
            if (told.add(wanted.getFirst().label())) {
                LOG.warn(
                        "the value of the sequence {} is not known before its next use: {}",
                        wanted.getFirst().label(),
                        e.getMessage());
            }
            return List.of();
        }
    }

    private static List<Sequences.Reading> ask(Connection session, List<RelationDescriptor> wanted)
            throws SQLException {
        List<Sequences.Reading> readings = new ArrayList<>();
        try (Statement statement = session.createStatement()) {
            long position;
            try (ResultSet row = statement.executeQuery("SELECT pg_current_wal_insert_lsn()")) {
                row.next();
                position = Lsn.parse(row.getString(1));
            }
            StringJoiner query = new StringJoiner(" UNION ALL ");
            for (int i = 0; i < wanted.size(); i++) {
                query.add(question(i, wanted.get(i)));
            }
            try (ResultSet row = statement.executeQuery(query.toString())) {
                while (row.next()) {
                    RelationDescriptor asked = wanted.get(row.getInt(1));
                    // others have been given other storage since
                    if ((int) row.getLong(2) == Sequences.storage(asked).relationNumber()) {
                        readings.add(
                                new Sequences.Reading(
                                        asked,
                                        new SequenceFile.Value(
                                                row.getLong(3), row.getBoolean(4), position)));
                    }
                }
            }
        }
        return readings;
    }

    /**
     * 1 which one, 2 its file, 3 the last value that no record need tell, 4 whether it is given.
     */
    private static String question(int index, RelationDescriptor sequence) {
        String oid = Integer.toUnsignedString(sequence.oid());
        return "SELECT "
                + index
                + ", pg_catalog.pg_relation_filenode("
                + oid
                + ")::int8, s.last_value + s.log_cnt * q.seqincrement, s.is_called FROM "
                + quoted(sequence.name().schema())
                + "."
                + quoted(sequence.name().name())
                + " s JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.tableoid AND q.seqrelid = "
                + oid;
    }

    private static String quoted(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }
}
