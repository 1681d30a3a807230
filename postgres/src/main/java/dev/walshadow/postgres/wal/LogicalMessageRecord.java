package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * View over {@code XLOG_LOGICAL_MESSAGE}, what {@code pg_logical_emit_message} writes. Reused.
 *
 * <pre>
 *    0 u32 dbId   4 bool transactional   8 u64 prefix_size, its zero byte included
 *   16 u64 message_size   24 prefix, zero byte, message
 * </pre>
 *
 * Source: {@code src/include/replication/message.h}, PostgreSQL 15-18.
 */
public final class LogicalMessageRecord {
    private static final int DATABASE = 0;
    private static final int TRANSACTIONAL = 4;
    private static final int PREFIX_SIZE = 8;
    private static final int MESSAGE_SIZE = 16;
    private static final int FIXED = 24;

    private byte[] bytes = new byte[0];
    private int start;
    private int prefixLength;
    private int messageLength;

    /**
     * @return false if its contents are left out, as of a record that is too long
     */
    public boolean wrap(WalRecord record) {
        int length = record.mainDataLength();
        if (length == 0) {
            return false;
        }
        bytes = record.buffer();
        start = record.mainDataOffset();
        long prefix = length < FIXED ? 0 : LittleEndian.getLong(bytes, start + PREFIX_SIZE);
        long message = length < FIXED ? 0 : LittleEndian.getLong(bytes, start + MESSAGE_SIZE);
        boolean fits =
                prefix > 0
                        && prefix <= length - FIXED
                        && message >= 0
                        && message <= length - FIXED - prefix;
        if (!fits) {
            throw record.corrupt("a logical message is cut off");
        }
        prefixLength = (int) prefix - 1;
        messageLength = (int) message;
        return true;
    }

    public int databaseOid() {
        return LittleEndian.getInt(bytes, start + DATABASE);
    }

    /** Whether it belongs to its transaction, and is gone when that is rolled back. */
    public boolean isTransactional() {
        return bytes[start + TRANSACTIONAL] != 0;
    }

    public boolean hasPrefix(String ascii) {
        return Arrays.equals(
                bytes,
                start + FIXED,
                start + FIXED + prefixLength,
                ascii.getBytes(StandardCharsets.US_ASCII),
                0,
                ascii.length());
    }

    public int messageLength() {
        return messageLength;
    }

    /** A copy of the message's bytes. */
    public byte[] message() {
        int from = start + FIXED + prefixLength + 1;
        return Arrays.copyOfRange(bytes, from, from + messageLength);
    }
}
