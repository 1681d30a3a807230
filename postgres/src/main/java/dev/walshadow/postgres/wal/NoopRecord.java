package dev.walshadow.postgres.wal;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Turns a record into an {@code XLOG_NOOP} of the same length with a valid checksum (I4). {@code
 * xl_tot_len}, {@code xl_xid} and {@code xl_prev} stay (I3); the body becomes one main-data header
 * and zeros:
 *
 * <pre>
 * body of 2..257 bytes: u8 255, u8 length - 2, zeros    more: u8 254, u32 length - 5, zeros
 * </pre>
 *
 * The body's bytes depend only on its length, so its part of the checksum comes from a table. CRC
 * is linear: crc(body, header) = table[length] ^ crc0(header), where the table holds the register
 * after the body moved on by the 20 header bytes as if they were zero, and crc0 starts at zero. Not
 * thread safe.
 */
public final class NoopRecord {
    /** The longest beginning of a NOOP that is not zeros. */
    public static final int HEAD_LENGTH = XLogLayout.RECORD_HEADER_LENGTH + 5;

    private static final int TABLE_LENGTH = XLogLayout.PAGE_SIZE;
    private static final int MAX_SHORT_BODY = 257;
    private static final int[] CRC_STEP = crcSteps();
    private static final byte[] ZEROS = new byte[XLogLayout.PAGE_SIZE];
    private static final int[] BODY = bodyTable();

    /** A register of all ones moved on by the header's length; what CRC32C adds to its input. */
    private static final int INITIAL_MOVED = move(-1, XLogLayout.CRC);

    private final CRC32C crc = new CRC32C();

    /** Rewrites the contiguous record of {@code length} bytes at {@code offset} in place. */
    public void rewrite(byte[] bytes, int offset, int length) {
        bytes[offset + XLogLayout.INFO] = XLogLayout.XLOG_NOOP;
        bytes[offset + XLogLayout.RMID] = ResourceManager.XLOG;
        LittleEndian.putInt(bytes, offset + XLogLayout.CRC, checksum(bytes, offset, length));
        int body = offset + XLogLayout.RECORD_HEADER_LENGTH;
        int zeros = body + putBodyHeader(bytes, body, length - XLogLayout.RECORD_HEADER_LENGTH);
        Arrays.fill(bytes, zeros, offset + length, (byte) 0);
    }

    /**
     * For a record that lies in pieces: writes what precedes the zeros to {@code head} and returns
     * its length.
     */
    public int head(WalRecord original, byte[] head) {
        return head(original.buffer(), original.offset(), head);
    }

    /** The same for a record of which only the header is needed to be there. */
    public int head(byte[] original, int offset, byte[] head) {
        System.arraycopy(original, offset, head, 0, XLogLayout.RECORD_HEADER_LENGTH);
        int length = LittleEndian.getInt(head, 0);
        head[XLogLayout.INFO] = XLogLayout.XLOG_NOOP;
        head[XLogLayout.RMID] = ResourceManager.XLOG;
        LittleEndian.putInt(head, XLogLayout.CRC, checksum(head, 0, length));
        return XLogLayout.RECORD_HEADER_LENGTH
                + putBodyHeader(
                        head,
                        XLogLayout.RECORD_HEADER_LENGTH,
                        length - XLogLayout.RECORD_HEADER_LENGTH);
    }

    private int checksum(byte[] header, int offset, int length) {
        crc.reset();
        if (length < TABLE_LENGTH) {
            crc.update(header, offset, XLogLayout.CRC);
            int fromZero = ~(int) crc.getValue() ^ INITIAL_MOVED;
            return ~(BODY[length] ^ fromZero);
        }
        updateBody(crc, length - XLogLayout.RECORD_HEADER_LENGTH);
        crc.update(header, offset, XLogLayout.CRC);
        return (int) crc.getValue();
    }

    private static int putBodyHeader(byte[] bytes, int at, int body) {
        if (body == 0) {
            return 0;
        }
        Invariant.check(body >= 2, "a record's body has room for a main data header");
        if (body <= MAX_SHORT_BODY) {
            bytes[at] = (byte) XLogLayout.XLR_BLOCK_ID_DATA_SHORT;
            bytes[at + 1] = (byte) (body - 2);
            return 2;
        }
        bytes[at] = (byte) XLogLayout.XLR_BLOCK_ID_DATA_LONG;
        LittleEndian.putInt(bytes, at + 1, body - 5);
        return 5;
    }

    private static void updateBody(CRC32C crc, int body) {
        byte[] header = new byte[5];
        int headerLength = putBodyHeader(header, 0, body);
        crc.update(header, 0, headerLength);
        for (int rest = body - headerLength; rest > 0; rest -= ZEROS.length) {
            crc.update(ZEROS, 0, Math.min(rest, ZEROS.length));
        }
    }

    private static int[] bodyTable() {
        int[] table = new int[TABLE_LENGTH];
        CRC32C crc = new CRC32C();
        for (int length = XLogLayout.RECORD_HEADER_LENGTH; length < TABLE_LENGTH; length++) {
            int body = length - XLogLayout.RECORD_HEADER_LENGTH;
            if (body == 1) {
                continue;
            }
            crc.reset();
            updateBody(crc, body);
            table[length] = move(~(int) crc.getValue(), XLogLayout.CRC);
        }
        return table;
    }

    /** The register after {@code count} zero bytes. */
    private static int move(int register, int count) {
        int moved = register;
        for (int i = 0; i < count; i++) {
            moved = moved >>> 8 ^ CRC_STEP[moved & 0xFF];
        }
        return moved;
    }

    private static int[] crcSteps() {
        int polynomial = 0x82F63B78; // Castagnoli, reflected
        int[] steps = new int[256];
        for (int i = 0; i < steps.length; i++) {
            int register = i;
            for (int bit = 0; bit < 8; bit++) {
                register = (register & 1) != 0 ? register >>> 1 ^ polynomial : register >>> 1;
            }
            steps[i] = register;
        }
        return steps;
    }
}
