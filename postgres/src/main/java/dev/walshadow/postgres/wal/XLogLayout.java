package dev.walshadow.postgres.wal;

/**
 * WAL pages and record headers.
 *
 * <pre>
 * XLogPageHeaderData (24 bytes with its padding; long form 40, first page of a segment)
 *    0 u16 xlp_magic      0xD110 (15)  0xD113 (16)  0xD116 (17)  0xD118 (18)
 *    2 u16 xlp_info
 *    4 u32 xlp_tli
 *    8 u64 xlp_pageaddr
 *   16 u32 xlp_rem_len    bytes of a record that still follow from the page before
 *   24 u64 xlp_sysid      } long header only
 *   32 u32 xlp_seg_size   }
 *   36 u32 xlp_xlog_blcksz}
 *
 * XLogRecord (24 bytes, starts 8-byte aligned, may itself cross a page end)
 *    0 u32 xl_tot_len     whole record, header included
 *    4 u32 xl_xid
 *    8 u64 xl_prev        position of the record before
 *   16 u8  xl_info        high 4 bits: the resource manager's; low 4: XLogInsert's
 *   17 u8  xl_rmid
 *   18     2 bytes of zero
 *   20 u32 xl_crc         CRC32C of bytes 24.. then 0..20
 *
 * then, in this order: block headers (id 0..32), origin (253), top-level xid (252), main data
 * header (255 short, 254 long); then per block its image and its data; then the main data.
 *
 * block header:  u8 id, u8 fork_flags, u16 data_length
 *   [image: u16 length, u16 hole_offset, u8 bimg_info, [u16 hole_length if hole and compressed]]
 *   [RelFileLocator: u32 tablespace, u32 database, u32 number, unless BKPBLOCK_SAME_REL]
 *   u32 block number
 * origin:        u8 253, u16 origin id
 * top-level xid: u8 252, u32 xid
 * main data:     u8 255, u8 length  |  u8 254, u32 length
 * </pre>
 *
 * Source: {@code src/include/access/xlog_internal.h}, {@code xlogrecord.h}, PostgreSQL 15-18; only
 * the magic changed between them.
 */
public final class XLogLayout {
    public static final int PAGE_SIZE = 8192;
    public static final int MIN_SEGMENT_SIZE = 1 << 20;
    public static final int MAX_SEGMENT_SIZE = 1 << 30;

    public static final int PAGE_MAGIC = 0;
    public static final int PAGE_INFO = 2;
    public static final int PAGE_TIMELINE = 4;
    public static final int PAGE_ADDRESS = 8;
    public static final int PAGE_REMAINING_LENGTH = 16;
    public static final int SHORT_HEADER_LENGTH = 24;
    public static final int PAGE_SYSTEM_IDENTIFIER = 24;
    public static final int PAGE_SEGMENT_SIZE = 32;
    public static final int PAGE_BLOCK_SIZE = 36;
    public static final int LONG_HEADER_LENGTH = 40;

    public static final int XLP_FIRST_IS_CONTRECORD = 0x0001;
    public static final int XLP_LONG_HEADER = 0x0002;
    public static final int XLP_BKP_REMOVABLE = 0x0004;
    public static final int XLP_FIRST_IS_OVERWRITE_CONTRECORD = 0x0008;
    public static final int XLP_ALL_FLAGS = 0x000F;

    public static final int MAGIC_15 = 0xD110;
    public static final int MAGIC_16 = 0xD113;
    public static final int MAGIC_17 = 0xD116;
    public static final int MAGIC_18 = 0xD118;

    public static final int TOTAL_LENGTH = 0;
    public static final int XID = 4;
    public static final int PREVIOUS = 8;
    public static final int INFO = 16;
    public static final int RMID = 17;
    public static final int CRC = 20;
    public static final int RECORD_HEADER_LENGTH = 24;

    /** PostgreSQL's XLogRecordMaxSize (16+), which 15 never exceeds in practice. */
    public static final int MAX_RECORD_LENGTH = 1020 * 1024 * 1024;

    public static final int XLR_INFO_MASK = 0x0F;
    public static final int XLR_RMGR_INFO_MASK = 0xF0;

    public static final int XLR_MAX_BLOCK_ID = 32;
    public static final int XLR_BLOCK_ID_DATA_SHORT = 255;
    public static final int XLR_BLOCK_ID_DATA_LONG = 254;
    public static final int XLR_BLOCK_ID_ORIGIN = 253;
    public static final int XLR_BLOCK_ID_TOPLEVEL_XID = 252;

    public static final int BLOCK_HEADER_LENGTH = 4;
    public static final int BLOCK_FORK_FLAGS = 1;
    public static final int BLOCK_DATA_LENGTH = 2;
    public static final int BKPBLOCK_FORK_MASK = 0x0F;
    public static final int BKPBLOCK_HAS_IMAGE = 0x10;
    public static final int BKPBLOCK_HAS_DATA = 0x20;
    public static final int BKPBLOCK_WILL_INIT = 0x40;
    public static final int BKPBLOCK_SAME_REL = 0x80;

    public static final int IMAGE_LENGTH = 0;
    public static final int IMAGE_HOLE_OFFSET = 2;
    public static final int IMAGE_INFO = 4;
    public static final int IMAGE_HEADER_LENGTH = 5;
    public static final int BKPIMAGE_HAS_HOLE = 0x01;
    public static final int BKPIMAGE_APPLY = 0x02;
    public static final int BKPIMAGE_COMPRESS_PGLZ = 0x04;
    public static final int BKPIMAGE_COMPRESS_LZ4 = 0x08;
    public static final int BKPIMAGE_COMPRESS_ZSTD = 0x10;
    public static final int BKPIMAGE_COMPRESSED_MASK =
            BKPIMAGE_COMPRESS_PGLZ | BKPIMAGE_COMPRESS_LZ4 | BKPIMAGE_COMPRESS_ZSTD;

    public static final int LOCATOR_TABLESPACE = 0;
    public static final int LOCATOR_DATABASE = 4;
    public static final int LOCATOR_RELATION = 8;
    public static final int LOCATOR_LENGTH = 12;

    public static final int FORK_MAIN = 0;
    public static final int FORK_FSM = 1;
    public static final int FORK_VISIBILITY_MAP = 2;
    public static final int FORK_INIT = 3;

    /** Info values of {@link ResourceManager#XLOG}: {@code src/include/catalog/pg_control.h}. */
    public static final int XLOG_CHECKPOINT_SHUTDOWN = 0x00;

    public static final int XLOG_CHECKPOINT_ONLINE = 0x10;
    public static final int XLOG_NOOP = 0x20;
    public static final int XLOG_NEXTOID = 0x30;
    public static final int XLOG_SWITCH = 0x40;
    public static final int XLOG_BACKUP_END = 0x50;
    public static final int XLOG_PARAMETER_CHANGE = 0x60;
    public static final int XLOG_RESTORE_POINT = 0x70;
    public static final int XLOG_FPW_CHANGE = 0x80;
    public static final int XLOG_END_OF_RECOVERY = 0x90;
    public static final int XLOG_FPI_FOR_HINT = 0xA0;
    public static final int XLOG_FPI = 0xB0;
    public static final int XLOG_OVERWRITE_CONTRECORD = 0xD0;

    /** Since 17. */
    public static final int XLOG_CHECKPOINT_REDO = 0xE0;

    private XLogLayout() {}

    /** The major version that writes this page magic, or 0. */
    public static int majorVersion(int pageMagic) {
        return switch (pageMagic) {
            case MAGIC_15 -> 15;
            case MAGIC_16 -> 16;
            case MAGIC_17 -> 17;
            case MAGIC_18 -> 18;
            default -> 0;
        };
    }

    /** PostgreSQL's MAXALIGN: up to the next multiple of 8. */
    public static int align(int length) {
        return (length + 7) & ~7;
    }

    public static long align(long position) {
        return (position + 7) & ~7L;
    }

    /** Bytes from the start of the page that holds {@code lsn}. */
    public static int offsetInPage(long lsn) {
        return (int) lsn & (PAGE_SIZE - 1);
    }
}
