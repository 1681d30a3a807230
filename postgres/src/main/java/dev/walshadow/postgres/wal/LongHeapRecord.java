package dev.walshadow.postgres.wal;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.LittleEndian;

/**
 * Makes a short record of the beginning of a long one: an UPDATE or DELETE whose main data ends in
 * an old row with values of any size (REPLICA IDENTITY FULL), or a logical message. What is left
 * out is the old row, which {@link #isCut} tells, or the message.
 */
public final class LongHeapRecord {
    private static final int LONG_HEADER = 5;

    private LongHeapRecord() {}

    /** Whether records of this kind can be shortened at all. */
    public static boolean isKind(byte[] bytes, int offset) {
        int manager = bytes[offset + XLogLayout.RMID] & 0xFF;
        return manager == ResourceManager.LOGICAL_MESSAGE
                || (manager == ResourceManager.HEAP
                        && fixedLength(bytes[offset + XLogLayout.INFO]) > 0);
    }

    private static int fixedLength(int info) {
        return switch (info & XLOG_HEAP_OPMASK) {
            case XLOG_HEAP_UPDATE, XLOG_HEAP_HOT_UPDATE -> UPDATE_LENGTH;
            case XLOG_HEAP_DELETE -> DELETE_LENGTH;
            default -> 0;
        };
    }

    /**
     * Changes the beginning into a whole record; its checksum is not that of its bytes.
     *
     * @param available bytes of it, more than its headers and blocks' data have as a rule
     * @return the length of the short record; 0 if it has no such form
     */
    public static int shorten(byte[] bytes, int available, long lsn) {
        WalRecord record = new WalRecord();
        record.wrapBeginning(bytes, 0, available, lsn);
        int fixed =
                record.resourceManager() == ResourceManager.HEAP ? fixedLength(record.info()) : 0;
        int main = record.mainDataOffset();
        int header = (record.blockCount() == 0 ? main : record.imageOffset(0)) - LONG_HEADER;
        boolean fits =
                header >= XLogLayout.RECORD_HEADER_LENGTH
                        && (bytes[header] & 0xFF) == XLogLayout.XLR_BLOCK_ID_DATA_LONG
                        && main + fixed <= available
                        && record.mainDataLength() > fixed;
        if (!fits) {
            return 0;
        }
        LittleEndian.putInt(bytes, header + 1, fixed);
        LittleEndian.putInt(bytes, XLogLayout.TOTAL_LENGTH, main + fixed);
        return main + fixed;
    }

    /**
     * Whether an UPDATE or DELETE has lost its old row on the way, because the record was too long.
     *
     * @param flags of the UPDATE or DELETE
     * @param containsOld XLH_UPDATE_CONTAINS_OLD or XLH_DELETE_CONTAINS_OLD
     * @param oldLength bytes of main data behind the fixed ones
     */
    public static boolean isCut(int flags, int containsOld, int oldLength) {
        return (flags & containsOld) != 0 && oldLength == 0;
    }
}
