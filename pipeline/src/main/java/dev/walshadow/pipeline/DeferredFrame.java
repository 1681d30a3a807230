package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;

/**
 * Flyweight over one deferred change. Valid until the next wrap.
 *
 * <pre>
 *  0  i32  length of the whole
 *  4  i32  top-level xid
 *  8  i64  sequence in the stream's ledger
 * 16  i64  commit position
 * 24  i64  commit time, microseconds
 * 32  i32  t = number of TOAST values
 * 36  i32  offset of the record
 * 40  t times: i32 TOAST relation OID, i32 value id, i32 length, i32 number of the chunk that the
 *     bytes begin with (0 unless the value's beginning is not here), stored datum
 *     the record in its stored form (RawRecordLayout)
 * </pre>
 */
final class DeferredFrame implements ToastValues {
    private final BaselineToast baseline;
    private final MirroredValues mirrored;
    private final RawRecord own = new RawRecord();

    /**
     * @param baseline the backup's values, for those that the change's own transaction lacks
     * @param mirrored for those that neither has
     */
    DeferredFrame(BaselineToast baseline, MirroredValues mirrored) {
        this.baseline = baseline;
        this.mirrored = mirrored;
    }

    private static final int LENGTH = 0;
    private static final int XID = LENGTH + Integer.BYTES;
    private static final int SEQUENCE = XID + Integer.BYTES;
    private static final int COMMIT_POSITION = SEQUENCE + Long.BYTES;
    private static final int COMMIT_MICROS = COMMIT_POSITION + Long.BYTES;
    private static final int TOAST_COUNT = COMMIT_MICROS + Long.BYTES;
    private static final int RECORD_OFFSET = TOAST_COUNT + Integer.BYTES;
    private static final int HEADER_LENGTH = RECORD_OFFSET + Integer.BYTES;

    private static final int TOAST_RELATION = 0;
    private static final int TOAST_VALUE = TOAST_RELATION + Integer.BYTES;
    private static final int TOAST_LENGTH = TOAST_VALUE + Integer.BYTES;
    private static final int TOAST_FIRST = TOAST_LENGTH + Integer.BYTES;
    private static final int TOAST_HEADER_LENGTH = TOAST_FIRST + Integer.BYTES;

    private byte[] buffer = new byte[HEADER_LENGTH];
    private boolean baselineUsed;
    private int offset;

    static void write(
            ByteBuilder out, TransactionWork work, RawRecord record, CollectedToast toast) {
        CommittedChanges changes = work.changes;
        int start = out.length();
        out.putInt(0);
        out.putInt(changes.xid());
        out.putLong(work.sequence);
        out.putLong(changes.commitPosition());
        out.putLong(changes.commitMicros());
        out.putInt(toast.count());
        out.putInt(0);
        for (int i = 0; i < toast.count(); i++) {
            out.putInt(toast.relation(i));
            out.putInt(toast.value(i));
            out.putInt(toast.length(i));
            out.putInt(toast.first(i));
            out.putBytes(toast.buffer(), toast.offset(i), toast.length(i));
        }
        LittleEndian.putInt(out.array(), start + RECORD_OFFSET, out.length() - start);
        out.putBytes(record.buffer(), record.offset(), record.length());
        LittleEndian.putInt(out.array(), start + LENGTH, out.length() - start);
    }

    void wrap(byte[] bytes, int atOffset) {
        buffer = bytes;
        offset = atOffset;
    }

    byte[] buffer() {
        return buffer;
    }

    int offset() {
        return offset;
    }

    int length() {
        return LittleEndian.getInt(buffer, offset + LENGTH);
    }

    int xid() {
        return LittleEndian.getInt(buffer, offset + XID);
    }

    long sequence() {
        return LittleEndian.getLong(buffer, offset + SEQUENCE);
    }

    long commitPosition() {
        return LittleEndian.getLong(buffer, offset + COMMIT_POSITION);
    }

    long commitMicros() {
        return LittleEndian.getLong(buffer, offset + COMMIT_MICROS);
    }

    void record(RawRecord into) {
        into.wrap(buffer, offset + LittleEndian.getInt(buffer, offset + RECORD_OFFSET));
    }

    /** Starts anew what {@link #baselineUsed} tells. */
    void forgetUse() {
        baselineUsed = false;
    }

    /** Whether a value came from the backup: it may be gone after a restart. */
    boolean baselineUsed() {
        return baselineUsed;
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
        return appendPrefix(toastRelationOid, valueId, Integer.MAX_VALUE, out);
    }

    @Override
    public boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
        int count = LittleEndian.getInt(buffer, offset + TOAST_COUNT);
        int at = offset + HEADER_LENGTH;
        for (int i = 0; i < count; i++) {
            int length = LittleEndian.getInt(buffer, at + TOAST_LENGTH);
            if (LittleEndian.getInt(buffer, at + TOAST_RELATION) == toastRelationOid
                    && LittleEndian.getInt(buffer, at + TOAST_VALUE) == valueId) {
                int data = at + TOAST_HEADER_LENGTH;
                int left = limit;
                int first = LittleEndian.getInt(buffer, at + TOAST_FIRST);
                if (first > 0) {
                    int head = (int) Math.min(limit, (long) first * CHUNK_BYTES);
                    left = appendBackups(toastRelationOid, valueId, head, out) ? limit - head : 0;
                }
                out.putBytes(buffer, data, Math.min(left, length));
                return true;
            }
            at += TOAST_HEADER_LENGTH + length;
        }
        return appendBackups(toastRelationOid, valueId, limit, out)
                || mirrored.append(valueId, limit, commitPosition(), out);
    }

    /**
     * So many bytes of a value that was there before the stream's beginning, or of one that began
     * before it. False if the backup has not all of them: pages are copied while they change, and
     * what one has not comes with the WAL, by another way.
     */
    private boolean appendBackups(int toastRelationOid, int valueId, int bytes, ByteBuilder out) {
        int start = out.length();
        record(own);
        baseline.append(own.databaseOid(), toastRelationOid, valueId, bytes, out);
        boolean whole = out.length() - start == bytes;
        if (!whole) {
            out.setLength(start);
        }
        baselineUsed |= whole;
        return whole;
    }
}
