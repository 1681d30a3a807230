package dev.walshadow.pipeline;

import static dev.walshadow.postgres.wal.HeapRecordLayout.TRUNCATE_COUNT;
import static dev.walshadow.postgres.wal.HeapRecordLayout.TRUNCATE_DATABASE;
import static dev.walshadow.postgres.wal.HeapRecordLayout.TRUNCATE_RELATIONS;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;

/**
 * What a TRUNCATE record names. Source: {@code xl_heap_truncate} in {@code
 * src/include/access/heapam_xlog.h}, PostgreSQL 15-18.
 */
final class TruncatedTables {
    private final byte[] bytes;
    private final int main;
    private final int count;

    private TruncatedTables(byte[] bytes, int main, int count) {
        this.bytes = bytes;
        this.main = main;
        this.count = count;
    }

    /**
     * @param record is read until the next one is
     * @throws HaltException it is malformed
     */
    static TruncatedTables of(RawRecord record) {
        int main = record.mainOffset();
        int length = record.mainLength();
        int count =
                length < TRUNCATE_RELATIONS
                        ? -1
                        : LittleEndian.getInt(record.buffer(), main + TRUNCATE_COUNT);
        if (count < 0 || count > (length - TRUNCATE_RELATIONS) / Integer.BYTES) {
            throw new HaltException(
                    PipelineCodes.DECODE_FAILED,
                    "malformed TRUNCATE record at "
                            + Lsn.format(record.lsn())
                            + ": expected room for its relations, found "
                            + length
                            + " bytes with a count of "
                            + count
                            + "; the WAL is damaged or of an unknown version");
        }
        return new TruncatedTables(record.buffer(), main, count);
    }

    /** Calls back for every table that one of the records names. */
    static void in(CommittedChanges changes, Visitor visitor) {
        RawRecord record = new RawRecord();
        RecordCursor cursor = changes.records();
        while (cursor.next(record)) {
            if (HeapChanges.isTruncate(record)) {
                TruncatedTables names = of(record);
                for (int i = 0; i < names.count; i++) {
                    visitor.truncated(names.databaseOid(), names.relationOid(i));
                }
            }
        }
    }

    /** Of a table. */
    interface Visitor {
        void truncated(int databaseOid, int relationOid);
    }

    int databaseOid() {
        return LittleEndian.getInt(bytes, main + TRUNCATE_DATABASE);
    }

    int count() {
        return count;
    }

    int relationOid(int index) {
        return LittleEndian.getInt(bytes, main + TRUNCATE_RELATIONS + index * Integer.BYTES);
    }
}
