package dev.walshadow.catalog;

import dev.walshadow.base.LittleEndian;
import java.util.zip.CRC32C;

/**
 * The descriptor log's file, little-endian.
 *
 * <pre>
 * file header, 32 bytes               frame, at multiples of 16
 *  0 u8[8] "WSDESCL1"                  0 u32 length of the body
 *  8 u32 version: 4                    4 u32 CRC32C of the body
 * 12 u32 reserved, 0                   8 u32 frame number, from 0
 * 16 u64 system identifier            12 u32 CRC32C of bytes 0 to 11
 * 24 u32 reserved, 0                  16 body:
 * 28 u32 CRC32C of bytes 0 to 27          u64 validFromLsn,
 *                                         u32 count, i32 database and relation
 *                                         OIDs of what was dropped, then
 *                                         the present relations ({@link DescriptorFormat}),
 *                                         if there are any: u32 count, i32 database and
 *                                         relation OIDs of what changed unread
 *                                     padding to a multiple of 16
 * </pre>
 *
 * Version 3 had nothing that changed unread, and was the same otherwise. Frame headers do not cross
 * a disk sector, so a torn write leaves one whole or not at all.
 */
final class DescriptorLogLayout {
    static final long MAGIC = 0x314C_4353_4544_5357L; // "WSDESCL1"
    static final int VERSION = 4;
    static final int OLDEST_VERSION = 3;
    static final int MAGIC_AT = 0;
    static final int VERSION_AT = MAGIC_AT + 8;
    static final int SYSTEM_IDENTIFIER_AT = VERSION_AT + 8;
    static final int HEADER_CRC_AT = SYSTEM_IDENTIFIER_AT + 12;
    static final int HEADER_LENGTH = HEADER_CRC_AT + 4;

    static final int BODY_LENGTH_AT = 0;
    static final int BODY_CRC_AT = BODY_LENGTH_AT + 4;
    static final int NUMBER_AT = BODY_CRC_AT + 4;
    static final int FRAME_CRC_AT = NUMBER_AT + 4;
    static final int FRAME_HEADER_LENGTH = FRAME_CRC_AT + 4;
    static final int FRAME_ALIGNMENT = 16;

    private DescriptorLogLayout() {}

    static byte[] header(long systemIdentifier) {
        return header(systemIdentifier, VERSION);
    }

    static byte[] header(long systemIdentifier, int version) {
        byte[] header = new byte[HEADER_LENGTH];
        LittleEndian.putLong(header, MAGIC_AT, MAGIC);
        LittleEndian.putInt(header, VERSION_AT, version);
        LittleEndian.putLong(header, SYSTEM_IDENTIFIER_AT, systemIdentifier);
        LittleEndian.putInt(header, HEADER_CRC_AT, crc(header, 0, HEADER_CRC_AT));
        return header;
    }

    static int crc(byte[] bytes, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset, length);
        return (int) crc.getValue();
    }

    /** Header, body and padding of a frame with this body. */
    static long frameLength(int bodyLength) {
        long length = (long) FRAME_HEADER_LENGTH + bodyLength;
        return (length + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
    }

    /** Whether a whole, undamaged frame is at {@code at}, whatever its number. */
    static boolean isFrame(byte[] bytes, int at, int end) {
        if (end - at < FRAME_HEADER_LENGTH
                || LittleEndian.getInt(bytes, at + FRAME_CRC_AT) != crc(bytes, at, FRAME_CRC_AT)) {
            return false;
        }
        int length = LittleEndian.getInt(bytes, at + BODY_LENGTH_AT);
        return length >= 0
                && length <= end - at - FRAME_HEADER_LENGTH
                && LittleEndian.getInt(bytes, at + BODY_CRC_AT)
                        == crc(bytes, at + FRAME_HEADER_LENGTH, length);
    }
}
