package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Keeps rows of a table {@code (id int, v text)} as the target does: per key the highest version.
 */
final class CollectedRows implements BaselineSink {
    /** A version of a row; the lowest bit of {@code low} is set unless deleted. */
    private record Version(long position, long low, String value) {
        boolean deleted() {
            return (low & 1) == 0;
        }

        boolean isBelow(Version other) {
            return position != other.position ? position < other.position : low < other.low;
        }
    }

    private final Map<Integer, Version> versions = new HashMap<>();
    final List<Integer> complete = new ArrayList<>();
    private long submitted;

    @Override
    public synchronized long submit(CommittedChanges rows) {
        RecordCursor cursor = rows.records();
        RawRecord record = new RawRecord();
        TupleView tuple = new TupleView();
        long count = 0;
        while (cursor.next(record)) {
            count++;
            tuple.wrapWal(record.buffer(), record.dataOffset(), record.dataLength());
            boolean deleted = record.info() == HeapRecordLayout.XLOG_HEAP_DELETE;
            int id = LittleEndian.getInt(tuple.buffer(), tuple.dataOffset());
            String value = deleted ? "" : brief(text(tuple, rows));
            Version version =
                    new Version(rows.commitPosition(), record.lsn() | (deleted ? 0 : 1), value);
            versions.merge(id, version, (old, now) -> old.isBelow(now) ? now : old);
        }
        if (count != rows.recordCount()) {
            throw new IllegalStateException(count + " records, not " + rows.recordCount());
        }
        rows.close();
        return ++submitted;
    }

    /** Long values by length and hash. */
    static String brief(String value) {
        return value.length() < 50 ? value : value.length() + " " + value.hashCode();
    }

    private static String text(TupleView tuple, CommittedChanges rows) {
        byte[] bytes = tuple.buffer();
        int at = tuple.dataOffset() + 4;
        int first = bytes[at] & 0xFF;
        if (Varlena.isExternal(bytes, at)) {
            ToastPointer pointer = new ToastPointer();
            pointer.wrap(bytes, at);
            ByteBuilder out = new ByteBuilder(16);
            boolean there = rows.toast().append(pointer.toastRelationOid(), pointer.valueId(), out);
            return there ? new String(out.toByteArray(), StandardCharsets.UTF_8) : "missing";
        }
        if ((first & 1) != 0) {
            return new String(bytes, at + 1, (first >>> 1) - 1, StandardCharsets.UTF_8);
        }
        int length = (LittleEndian.getInt(bytes, at) >>> 2) - 4;
        return new String(bytes, at + 4, length, StandardCharsets.UTF_8);
    }

    synchronized Map<Integer, String> rows() {
        Map<Integer, String> rows = new TreeMap<>();
        versions.forEach((id, version) -> {
            if (!version.deleted()) {
                rows.put(id, version.value());
            }
        });
        return rows;
    }

    @Override
    public void await(long number) {}

    @Override
    public synchronized void tableComplete(int databaseOid, int relationOid) {
        complete.add(relationOid);
    }
}
