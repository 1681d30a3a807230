package dev.walshadow.transaction;

/**
 * A spill file: a header, then frames. Little-endian. Written and read by one process; a file left
 * by an earlier one is only recognised and deleted, so the version matters for that alone.
 *
 * <pre>
 * file header, 40 bytes                        frame header, 64 bytes
 *   0 u64 magic "WSSPILL1"                       0 u32 magic "FRAM"
 *   8 u32 version                                4 i32 p = payload length, a multiple of 8
 *  12 u32 xid of the transaction                 8 u32 smallest xid among its records
 *  16 u64 system identifier of the cluster      12 i32 number of records
 *  24 u64 LSN of the first record               16 u64 position of its first record
 *  32 u32 CRC32C of bytes 0..32                 24 u64 offset of the frame before, 0 for none
 *  36 u32 zero                                  32 16  TOAST values, see ToastRange
 *                                               48 u32 zero
 *                                               52 u32 CRC32C of the payload
 *                                               56 u32 CRC32C of bytes 0..56
 *                                               60 u32 zero
 *                                               64 p   records, see RawRecordLayout
 * </pre>
 */
final class SpillLayout {
    static final long FILE_MAGIC = 0x314C_4C49_5053_5357L;
    static final int VERSION = 1;

    static final int FILE_MAGIC_OFFSET = 0;
    static final int FILE_VERSION_OFFSET = 8;
    static final int FILE_XID_OFFSET = 12;
    static final int FILE_SYSTEM_IDENTIFIER_OFFSET = 16;
    static final int FILE_FIRST_LSN_OFFSET = 24;
    static final int FILE_CRC_OFFSET = 32;
    static final int FILE_HEADER_LENGTH = 40;

    static final int FRAME_MAGIC = 0x4D41_5246;

    static final int FRAME_MAGIC_OFFSET = 0;
    static final int FRAME_LENGTH_OFFSET = 4;
    static final int FRAME_SMALLEST_XID_OFFSET = 8;
    static final int FRAME_RECORDS_OFFSET = 12;
    static final int FRAME_POSITION_OFFSET = 16;
    static final int FRAME_PREVIOUS_OFFSET = 24;
    static final int FRAME_TOAST_OFFSET = 32;
    static final int FRAME_PAYLOAD_CRC_OFFSET = 52;
    static final int FRAME_CRC_OFFSET = 56;
    static final int FRAME_HEADER_LENGTH = 64;

    private SpillLayout() {}
}
