package dev.walshadow.pipeline;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.RowPlace;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.wal.LongHeapRecord;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.transaction.RawRecord;
import org.jspecify.annotations.Nullable;

/**
 * What a stored heap record means for its table: rows and deletions. Formats: {@link
 * dev.walshadow.postgres.wal.HeapRecordLayout}. Rows of the initial load come as inserts (the data
 * is the tuple, the main data its offset number); a baseline record with the DELETE opcode is the
 * deletion of the key in its data. Single-threaded; the views are reused.
 */
final class HeapChanges {
    /** Takes what a record means, in order. */
    interface Handler {
        /**
         * A row as it is after the record.
         *
         * @param oldKey of an UPDATE that logged it; it may equal the new key. Where the table has
         *     no key, the places in {@code meta} tell the rows apart
         * @return false to stop: the rest of the record is not wanted
         */
        boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta meta);

        /**
         * A row is gone.
         *
         * @param key null where the table has none: then it is the row at {@code meta}'s place
         */
        void tombstone(@Nullable TupleView key, RowMeta meta);
    }

    private static final int NOTHING = -1;

    private final TupleView tuple = new TupleView();
    private final TupleView old = new TupleView();

    /** The tuple whose header is being looked at, for messages. */
    private int wrappedAt = NOTHING;

    private int wrappedLength;

    /** True for the ordered barrier; it concerns whole tables, see {@link Planner}. */
    static boolean isTruncate(RawRecord record) {
        return record.resourceManager() == ResourceManager.HEAP
                && (record.info() & XLOG_HEAP_OPMASK) == XLOG_HEAP_TRUNCATE
                && !record.isBaseline();
    }

    /** How many rows the record changes. */
    static int count(RawRecord record) {
        if (isMultiInsert(record) && record.mainLength() >= MULTI_INSERT_LENGTH) {
            return LittleEndian.getUnsignedShort(
                    record.buffer(), record.mainOffset() + MULTI_INSERT_NTUPLES);
        }
        return 1;
    }

    private static boolean isMultiInsert(RawRecord record) {
        return record.resourceManager() == ResourceManager.HEAP2
                && (record.info() & XLOG_HEAP_OPMASK) == XLOG_HEAP2_MULTI_INSERT
                && !record.isBaseline();
    }

    /**
     * Hands the record's changes to {@code handler}.
     *
     * @param meta of the record's transaction
     * @return false if the handler stopped
     * @throws QuarantineException if the record lacks what its table needs
     * @throws HaltException if the source no longer logs rows
     */
    boolean decode(TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        wrappedAt = NOTHING;
        try {
            return decoded(table, record, meta, handler);
        } catch (QuarantineException e) {
            throw wrappedAt == NOTHING ? e : malformed(e, table, record, meta);
        }
    }

    private QuarantineException malformed(
            QuarantineException e, TargetTable table, RawRecord record, RowMeta meta) {
        return new QuarantineException(
                e.code(),
                table.label()
                        + ", "
                        + RowPlace.of(meta)
                        + ": "
                        + e.getMessage()
                        + " The tuple is "
                        + RowPlace.bytes(record.buffer(), wrappedAt, wrappedLength),
                e);
    }

    private void wrap(TupleView view, RawRecord record, int offset, int length) {
        wrappedAt = offset;
        wrappedLength = length;
        view.wrapWal(record.buffer(), offset, length);
        wrappedAt = NOTHING;
    }

    private boolean decoded(TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        if (record.isBaseline()) {
            return baseline(table, record, meta, handler);
        }
        if (record.resourceManager() == ResourceManager.HEAP2) {
            return !isMultiInsert(record) || multiInsert(table, record, meta, handler);
        }
        switch (record.info() & XLOG_HEAP_OPMASK) {
            case XLOG_HEAP_INSERT:
                return insert(table, record, meta, handler);
            case XLOG_HEAP_UPDATE, XLOG_HEAP_HOT_UPDATE:
                return update(table, record, meta, handler);
            case XLOG_HEAP_DELETE:
                return delete(table, record, meta, handler);
            default:
                return true;
        }
    }

    private boolean baseline(TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        require(table, record, Short.BYTES);
        long offset = LittleEndian.getUnsignedShort(record.buffer(), record.mainOffset());
        meta.record(record.lsn(), tid(record.block0(), offset));
        wrap(tuple, record, record.dataOffset(), record.dataLength());
        if (record.resourceManager() == ResourceManager.HEAP
                && (record.info() & XLOG_HEAP_OPMASK) == XLOG_HEAP_DELETE) {
            handler.tombstone(tuple, meta);
            return true;
        }
        return handler.row(tuple, null, meta);
    }

    private boolean insert(TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        require(table, record, INSERT_LENGTH);
        byte[] bytes = record.buffer();
        int main = record.mainOffset();
        if ((bytes[main + INSERT_FLAGS] & XLH_INSERT_CONTAINS_NEW_TUPLE) == 0) {
            throw notLogged(table, record, "the row of an INSERT");
        }
        long offset = LittleEndian.getUnsignedShort(bytes, main + INSERT_OFFNUM);
        meta.record(record.lsn(), tid(record.block0(), offset));
        wrap(tuple, record, record.dataOffset(), record.dataLength());
        return handler.row(tuple, null, meta);
    }

    private boolean multiInsert(
            TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        require(table, record, MULTI_INSERT_LENGTH);
        byte[] bytes = record.buffer();
        int main = record.mainOffset();
        if ((bytes[main + MULTI_INSERT_FLAGS] & XLH_INSERT_CONTAINS_NEW_TUPLE) == 0) {
            throw notLogged(table, record, "the rows of a multi-insert");
        }
        int count = LittleEndian.getUnsignedShort(bytes, main + MULTI_INSERT_NTUPLES);
        boolean initPage = (record.info() & XLOG_HEAP_INIT_PAGE) != 0;
        if (!initPage) {
            require(table, record, MULTI_INSERT_OFFSETS + count * Short.BYTES);
        }
        int start = record.dataOffset();
        int end = start + record.dataLength();
        int position = start;
        for (int i = 0; i < count; i++) {
            long offset =
                    initPage
                            ? i + 1
                            : LittleEndian.getUnsignedShort(
                                    bytes, main + MULTI_INSERT_OFFSETS + i * Short.BYTES);
            meta.record(record.lsn(), tid(record.block0(), offset));
            wrappedAt = position;
            wrappedLength = end - position;
            position = tuple.wrapMulti(bytes, start, position, end);
            wrappedAt = NOTHING;
            if (!handler.row(tuple, null, meta)) {
                return false;
            }
        }
        return true;
    }

    private boolean update(TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        require(table, record, UPDATE_LENGTH);
        byte[] bytes = record.buffer();
        int main = record.mainOffset();
        int flags = bytes[main + UPDATE_FLAGS];
        int compressed = XLH_UPDATE_PREFIX_FROM_OLD | XLH_UPDATE_SUFFIX_FROM_OLD;
        if ((flags & XLH_UPDATE_CONTAINS_NEW_TUPLE) == 0 || (flags & compressed) != 0) {
            throw notLogged(table, record, "the new row of an UPDATE");
        }
        long offset = LittleEndian.getUnsignedShort(bytes, main + UPDATE_NEW_OFFNUM);
        long oldOffset = LittleEndian.getUnsignedShort(bytes, main + UPDATE_OLD_OFFNUM);
        int oldBlock = record.hasBlock1() ? record.block1() : record.block0();
        meta.record(record.lsn(), tid(record.block0(), offset)).oldTid(tid(oldBlock, oldOffset));
        TupleView oldKey = null;
        if (LongHeapRecord.isCut(
                flags, XLH_UPDATE_CONTAINS_OLD, record.mainLength() - UPDATE_LENGTH)) {
            requireKeyless(table, record);
        } else if ((flags & XLH_UPDATE_CONTAINS_OLD) != 0) {
            int oldLength = record.mainLength() - UPDATE_LENGTH;
            wrap(old, record, main + UPDATE_LENGTH, oldLength);
            oldKey = old;
        }
        meta.oldKey(oldKey);
        wrap(tuple, record, record.dataOffset(), record.dataLength());
        return handler.row(tuple, oldKey, meta);
    }

    private boolean delete(TargetTable table, RawRecord record, RowMeta meta, Handler handler) {
        require(table, record, DELETE_LENGTH);
        byte[] bytes = record.buffer();
        int main = record.mainOffset();
        int flags = bytes[main + DELETE_FLAGS];
        if ((flags & XLH_DELETE_IS_SUPER) != 0) {
            return true; // undoes a speculative insertion that the buffer has dropped
        }
        long offset = LittleEndian.getUnsignedShort(bytes, main + DELETE_OFFNUM);
        meta.record(record.lsn(), tid(record.block0(), offset));
        if (table.mapped().isKeyless()) {
            handler.tombstone(null, meta);
            return true;
        }
        if ((flags & XLH_DELETE_CONTAINS_OLD) == 0) {
            throw new QuarantineException(
                    PipelineCodes.OLD_KEY_MISSING,
                    "the DELETE at "
                            + Lsn.format(record.lsn())
                            + " on "
                            + table.label()
                            + " carries no key: expected the old key, as the table's replica"
                            + " identity ('"
                            + table.shape().replicaIdentity()
                            + "') and wal_level = logical make PostgreSQL log it; check"
                            + " wal_level and ALTER TABLE ... REPLICA IDENTITY, then load the"
                            + " table anew");
        }
        if (LongHeapRecord.isCut(
                flags, XLH_DELETE_CONTAINS_OLD, record.mainLength() - DELETE_LENGTH)) {
            requireKeyless(table, record);
        }
        wrap(old, record, main + DELETE_LENGTH, record.mainLength() - DELETE_LENGTH);
        handler.tombstone(old, meta);
        return true;
    }

    /** The old row was too long to be read; where its place is the key, it is not needed. */
    private static void requireKeyless(TargetTable table, RawRecord record) {
        if (!table.mapped().isKeyless()) {
            throw new QuarantineException(
                    PipelineCodes.OLD_KEY_MISSING,
                    "the change at "
                            + Lsn.format(record.lsn())
                            + " on "
                            + table.label()
                            + " logs an old row that is too long to be read (REPLICA IDENTITY FULL"
                            + " logs it whole), and its key with it; give the table the identity"
                            + " DEFAULT or USING INDEX, then load it anew");
        }
    }

    private static long tid(int block, long offsetNumber) {
        return Integer.toUnsignedLong(block) << 16 | offsetNumber;
    }

    private static void require(TargetTable table, RawRecord record, int mainLength) {
        if (record.mainLength() < mainLength) {
            throw new QuarantineException(
                    PipelineCodes.DECODE_FAILED,
                    "the record at "
                            + Lsn.format(record.lsn())
                            + " on "
                            + table.label()
                            + " is too short: expected "
                            + mainLength
                            + " bytes of main data, found "
                            + record.mainLength()
                            + "; the WAL is damaged or of an unknown version");
        }
    }

    private static HaltException notLogged(TargetTable table, RawRecord record, String what) {
        return new HaltException(
                PipelineCodes.WAL_LEVEL_LOWERED,
                "the WAL record at "
                        + Lsn.format(record.lsn())
                        + " does not carry "
                        + what
                        + " of "
                        + table.label()
                        + ": wal_level was lowered below logical on the source. Set it back to"
                        + " logical, restart the source, then load the tables anew");
    }
}
