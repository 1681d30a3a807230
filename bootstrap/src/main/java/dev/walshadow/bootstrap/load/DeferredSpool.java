package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Rows that wait for open transactions, from the walkers until all values are here; then they are
 * made durable with their values ({@link DeferredFile}). Filled by the walkers, thread safe.
 */
final class DeferredSpool implements AutoCloseable {
    private static final int HEADER = 8;
    private static final long POLL_MILLIS = 20;

    private final SpoolFile file;
    private final SpeculativeInserts speculative;

    /** Transactions whose insertion was under way when its page was looked at. */
    private final Set<Integer> speculators = ConcurrentHashMap.newKeySet();

    DeferredSpool(Path directory, LoadCheckpoint kept, SpeculativeInserts speculative) {
        this.file = new SpoolFile(directory.resolve("deferred-spool"), kept.deferred());
        this.speculative = speculative;
        speculators.addAll(kept.speculators());
    }

    void speculative(int inserter) {
        speculators.add(inserter);
    }

    synchronized void defer(int inserter, int deleter, byte[] record, int length) {
        byte[] header = new byte[HEADER];
        LittleEndian.putInt(header, 0, inserter);
        LittleEndian.putInt(header, 4, deleter);
        file.append(header, 0, header.length);
        file.append(record, 0, length);
    }

    List<Integer> speculators() {
        return new ArrayList<>(speculators);
    }

    /** Flushes; what there is up to now has this length. */
    synchronized long flushed() {
        file.flush();
        return file.length();
    }

    void force() {
        file.force();
    }

    /**
     * Makes the rows durable.
     *
     * @param valueBytes as {@link BaselineSink#valueBytes}
     */
    void keep(
            DeferredFile.Writer writer,
            Map<RelationLocator, LoadedRelation> relations,
            ToastStore toast,
            int valueBytes)
            throws InterruptedException {
        awaitSpeculators();
        ToastValues values = toast.values();
        ByteBuilder payload = new ByteBuilder(HeapPage.SIZE);
        RawRecord record = new RawRecord();
        file.records(
                HEADER,
                (bytes, offset, length) -> {
                    payload.clear();
                    payload.putBytes(bytes, offset, HEADER);
                    payload.putInt(length - HEADER);
                    payload.putBytes(bytes, offset + HEADER, length - HEADER);
                    record.wrap(payload.array(), HEADER + Integer.BYTES);
                    int inserter = LittleEndian.getInt(bytes, offset);
                    LoadedRelation relation = relations.get(locator(record));
                    if (isCancelled(inserter, record)
                            || (relation != null
                                    && comesByTheWal(inserter, relation, record, toast))) {
                        return;
                    }
                    if (relation != null) {
                        attach(relation, record, values, valueBytes, payload);
                    }
                    writer.add(payload);
                });
        writer.finish();
    }

    /** An insertion is under way for as long as its index entries take to be made. */
    private void awaitSpeculators() throws InterruptedException {
        for (int xid : speculators) {
            while (!speculative.isDecided(xid)) {
                Thread.sleep(POLL_MILLIS);
            }
        }
    }

    private boolean isCancelled(int inserter, RawRecord record) {
        int offsetNumber = LittleEndian.getUnsignedShort(record.buffer(), record.mainOffset());
        return speculative.isCancelled(inserter, locator(record), record.block0(), offsetNumber);
    }

    /**
     * Whether a row of a transaction that was open at B lacks values out of line: they were written
     * after B, so the row, which is written behind its values, was too; or it was deleted and
     * vacuumed since, which is in the WAL as well.
     */
    private static boolean comesByTheWal(
            int inserter, LoadedRelation relation, RawRecord record, ToastStore toast) {
        try {
            return BackupSnapshot.isTransaction(inserter)
                    && !ExternalValues.areAllIn(toast, relation.layout(), record);
        } catch (QuarantineException e) {
            return false; // what is wrong with it is said where its values are read
        }
    }

    static RelationLocator locator(RawRecord record) {
        return new RelationLocator(
                record.tablespaceOid(), record.databaseOid(), record.relationNumber());
    }

    /** Appends the record's out-of-line values; after it the record is invalid. */
    private static void attach(
            LoadedRelation relation,
            RawRecord record,
            ToastValues values,
            int valueBytes,
            ByteBuilder payload) {
        try {
            ExternalValues.append(relation.layout(), record, values, valueBytes, payload);
        } catch (QuarantineException e) {
            relation.damaged(
                    "row ("
                            + Integer.toUnsignedString(record.block0())
                            + ","
                            + LittleEndian.getUnsignedShort(record.buffer(), record.mainOffset())
                            + ") of "
                            + relation.label()
                            + ": "
                            + e.getMessage());
        }
    }

    /** Ends the use of the file, which stays for a later process. */
    void leave() {
        file.leave();
    }

    @Override
    public void close() {
        file.close();
    }
}
