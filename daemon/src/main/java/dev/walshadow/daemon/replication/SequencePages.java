package dev.walshadow.daemon.replication;

import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.state.SequenceFile;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.SequencePage;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.SequenceRecord;
import dev.walshadow.postgres.wal.WalRecord;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the values of sequences from their pages in a backup, where there is no source to be asked;
 * other files go on to another sink. A page was copied after B: a sequence that was changed since
 * has a record in the WAL from B on, whose value then counts; of any other it is as it was at B.
 * What can be given without another record counts as given, as in a record as a rule; a record that
 * leaves some of it to be given, of a sequence that was made a logged one, is read here, too.
 */
final class SequencePages implements HeapFileSink {
    private static final String INCREMENTS = "SELECT seqrelid, seqincrement FROM pg_sequence";

    /** As the backup's end shows it. */
    record Sequence(RelationDescriptor relation, long increment) {}

    private final HeapFileSink others;
    private final Map<RelationLocator, Sequence> sequences;
    private final LongSupplier startLsn;
    private final Map<RelationLocator, Sequences.Reading> ofPages = new ConcurrentHashMap<>();
    private final Map<RelationLocator, Sequences.Reading> ofRecords = new ConcurrentHashMap<>();
    private final SequenceRecord record = new SequenceRecord();
    private final SequencePage view = new SequencePage();
    private final byte[] page = new byte[HeapPage.SIZE];
    private @Nullable Sequence current;
    private int filled;

    /**
     * @param startLsn B; known when the first file comes
     */
    SequencePages(
            HeapFileSink others, Map<RelationLocator, Sequence> sequences, LongSupplier startLsn) {
        this.others = others;
        this.sequences = sequences;
        this.startLsn = startLsn;
    }

    /** The followed databases' sequences by their storage. */
    static Map<RelationLocator, Sequence> find(
            FollowedDatabases databases, Collection<RelationDescriptor> relations)
            throws SQLException {
        Map<RelationLocator, Sequence> found = new HashMap<>();
        for (DatabaseDescriptor database : databases.followed()) {
            Map<Integer, Long> increments = increments(databases, database.oid());
            for (RelationDescriptor each : relations) {
                Long increment = increments.get(each.oid());
                if (Sequences.isSequence(each)
                        && each.databaseOid() == database.oid()
                        && increment != null) {
                    found.put(Sequences.storage(each), new Sequence(each, increment));
                }
            }
        }
        return found;
    }

    private static Map<Integer, Long> increments(FollowedDatabases databases, int databaseOid)
            throws SQLException {
        Map<Integer, Long> found = new HashMap<>();
        try (Connection session = databases.open(databaseOid);
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(INCREMENTS)) {
            while (row.next()) {
                found.put((int) row.getLong(1), row.getLong(2));
            }
        }
        return found;
    }

    /** A record behind B; by the WAL pump. */
    void onRecord(WalRecord next) {
        if (sequences.isEmpty() || next.resourceManager() != ResourceManager.SEQUENCE) {
            return;
        }
        record.wrap(next);
        Sequence found = sequences.get(record.locator());
        if (found != null && record.logCount() != 0) {
            ofRecords.put(
                    record.locator(),
                    reading(
                            found,
                            record.lastValue() + record.logCount() * found.increment(),
                            record.isCalled(),
                            next.lsn()));
        }
    }

    /** What has been found, a newer one first. By the WAL pump. */
    List<Sequences.Reading> readings() {
        List<Sequences.Reading> all = new ArrayList<>(ofRecords.values());
        all.addAll(ofPages.values());
        return all;
    }

    private static Sequences.Reading reading(
            Sequence of, long lastValue, boolean called, long lsn) {
        return new Sequences.Reading(of.relation(), new SequenceFile.Value(lastValue, called, lsn));
    }

    @Override
    public boolean wants(RelationLocator locator) {
        return sequences.containsKey(locator) || others.wants(locator);
    }

    @Override
    public void begin(RelationLocator locator, int segmentNumber, long fileSize)
            throws InterruptedException {
        current = sequences.get(locator);
        filled = 0;
        if (current == null) {
            others.begin(locator, segmentNumber, fileSize);
        }
    }

    @Override
    public void skipTo(int block) throws InterruptedException {
        if (current == null) {
            others.skipTo(block);
        }
    }

    @Override
    public void data(byte[] bytes, int offset, int length) throws InterruptedException {
        if (current == null) {
            others.data(bytes, offset, length);
            return;
        }
        int count = Math.min(length, page.length - filled);
        System.arraycopy(bytes, offset, page, filled, count);
        filled += count;
    }

    @Override
    public void end() throws InterruptedException {
        Sequence ended = current;
        current = null;
        if (ended == null) {
            others.end();
        } else if (filled == page.length && view.wrap(page, 0)) {
            long last = view.lastValue() + view.logCount() * ended.increment();
            ofPages.put(
                    Sequences.storage(ended.relation()),
                    reading(ended, last, view.isCalled(), startLsn.getAsLong()));
        }
    }
}
