package dev.walshadow.transaction;

/**
 * The stored form of one record: in a chunk of memory, in a spill frame and in a baseline chunk
 * alike. Little-endian, starts at a multiple of 8 of its chunk.
 *
 * <pre>
 *  offset  type  content
 *   0      i32   length of the whole, a multiple of 8
 *   4      u8    resource manager (RM_HEAP_ID or RM_HEAP2_ID)
 *   5      u8    xl_info as in the WAL
 *   6      u16   flags, below
 *   8      i64   LSN of the record's start
 *  16      i32   xid, of the subtransaction if one wrote it; 0 in a baseline
 *  20      i32   tablespace OID   | of block 0; a TRUNCATE has only the database
 *  24      i32   database OID     |
 *  28      i32   relation number  |
 *  32      i32   block number of block 0: the new tuple's page
 *  36      i32   block number of block 1 (the old tuple's page of an UPDATE), else as block 0
 *  40      i32   m = length of the main data
 *  44      i32   d = length of block 0's data
 *  48      m     main data: xl_heap_insert, xl_heap_update + old key, ...; a baseline has u16 offnum
 *  48+m    d     block 0's data: the new tuple or tuples
 *          0-7   padding, zero
 * </pre>
 *
 * Own to walshadow; lives no longer than the process, so it carries no version.
 */
public final class RawRecordLayout {
    public static final int LENGTH_OFFSET = 0;
    public static final int RESOURCE_MANAGER_OFFSET = LENGTH_OFFSET + Integer.BYTES;
    public static final int INFO_OFFSET = RESOURCE_MANAGER_OFFSET + Byte.BYTES;
    public static final int FLAGS_OFFSET = INFO_OFFSET + Byte.BYTES;
    public static final int LSN_OFFSET = FLAGS_OFFSET + Short.BYTES;
    public static final int XID_OFFSET = LSN_OFFSET + Long.BYTES;
    public static final int TABLESPACE_OFFSET = XID_OFFSET + Integer.BYTES;
    public static final int DATABASE_OFFSET = TABLESPACE_OFFSET + Integer.BYTES;
    public static final int RELATION_OFFSET = DATABASE_OFFSET + Integer.BYTES;
    public static final int BLOCK0_OFFSET = RELATION_OFFSET + Integer.BYTES;
    public static final int BLOCK1_OFFSET = BLOCK0_OFFSET + Integer.BYTES;
    public static final int MAIN_LENGTH_OFFSET = BLOCK1_OFFSET + Integer.BYTES;
    public static final int DATA_LENGTH_OFFSET = MAIN_LENGTH_OFFSET + Integer.BYTES;
    public static final int HEADER_LENGTH = DATA_LENGTH_OFFSET + Integer.BYTES;

    public static final int ALIGNMENT = 8;

    /** The locator and block number of block 0 are valid. */
    public static final int HAS_BLOCK0 = 1;

    /** The WAL record has a second block reference. */
    public static final int HAS_BLOCK1 = 2;

    /** A row of the initial load: the data is one tuple in its WAL shape. */
    public static final int BASELINE = 4;

    /** The WAL record carries a page image of block 0 (not stored here). */
    public static final int HAS_IMAGE = 8;

    /** A speculative insert that its own super-delete has cancelled; cursors leave it out. */
    static final int CANCELLED = 16;

    private RawRecordLayout() {}

    /** The stored length of a record with so many bytes of main and block data. */
    public static long length(int mainLength, int dataLength) {
        long bytes = (long) HEADER_LENGTH + mainLength + dataLength;
        return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
    }
}
