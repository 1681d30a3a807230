package dev.walshadow.bootstrap.reload;

import java.sql.SQLException;
import java.util.Arrays;

/**
 * Cuts a binary COPY stream into rows, whatever its messages hold of them. A row that one message
 * holds whole is read in place.
 *
 * <pre>
 * "PGCOPY\n\377\r\n\0", i32 flags, i32 n, n bytes of extension
 * per row: i16 number of fields, per field: i32 length, -1 for NULL; then its send form
 * i16 -1
 * </pre>
 *
 * Big-endian. Source: {@code src/backend/commands/copyto.c}, PostgreSQL 15-18. Single-threaded;
 * what a row's accessors give is valid until the next {@link #add} or {@link #next}.
 */
final class CopyStream {
    private static final byte[] SIGNATURE = {
        'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0xFF, '\r', '\n', 0
    };
    private static final int HEADER = SIGNATURE.length + 8;
    private static final int END = -1;
    private static final int CARRY_KEPT = 1 << 20;

    private final int[] offsets;
    private final int[] lengths;

    private byte[] buffer = new byte[0];
    private int position;
    private int limit;
    private byte[] carry = new byte[0];
    private boolean headerRead;
    private boolean ended;

    CopyStream(int fields) {
        this.offsets = new int[fields];
        this.lengths = new int[fields];
    }

    /** Takes a message; all rows before it must have been read. Its bytes stay the stream's. */
    void add(byte[] message) {
        int left = limit - position;
        if (left == 0) {
            buffer = message;
            position = 0;
            limit = message.length;
            return;
        }
        int needed = Math.addExact(left, message.length);
        byte[] into = carry;
        if (into.length < needed) {
            into = new byte[Math.max(needed, (int) Math.min(1 << 30, needed + needed / 2L))];
        }
        System.arraycopy(buffer, position, into, 0, left);
        System.arraycopy(message, 0, into, left, message.length);
        carry = into.length <= CARRY_KEPT ? into : carry;
        buffer = into;
        position = 0;
        limit = needed;
    }

    /** Moves to the next row; false if more bytes are needed, or at the end. */
    boolean next() throws SQLException {
        if (!headerRead && !readHeader()) {
            return false;
        }
        if (ended) {
            if (position < limit) {
                throw malformed("nothing behind the end", (limit - position) + " bytes");
            }
            return false;
        }
        int at = position;
        if (limit - at < 2) {
            return false;
        }
        int fields = (short) (buffer[at] << 8 | (buffer[at + 1] & 0xFF));
        at += 2;
        if (fields == END) {
            position = at;
            ended = true;
            return next();
        }
        if (fields != offsets.length) {
            throw malformed(offsets.length + " fields", "" + fields);
        }
        for (int i = 0; i < fields; i++) {
            if (limit - at < 4) {
                return false;
            }
            int length = int4(buffer, at);
            at += 4;
            if (length < -1) {
                throw malformed("a field's length", "" + length);
            }
            if (length > limit - at) {
                return false;
            }
            offsets[i] = at;
            lengths[i] = length;
            at += Math.max(length, 0);
        }
        position = at;
        return true;
    }

    private boolean readHeader() throws SQLException {
        if (limit - position < HEADER) {
            return false;
        }
        if (!Arrays.equals(
                buffer, position, position + SIGNATURE.length, SIGNATURE, 0, SIGNATURE.length)) {
            throw malformed("the signature PGCOPY", "other bytes");
        }
        int flags = int4(buffer, position + SIGNATURE.length);
        int extension = int4(buffer, position + SIGNATURE.length + 4);
        if (flags != 0 || extension < 0) {
            throw malformed("no flags", flags + " and an extension of " + extension + " bytes");
        }
        if (limit - position - HEADER < extension) {
            return false;
        }
        position += HEADER + extension;
        headerRead = true;
        return true;
    }

    /** Whether the stream's own end has been read. */
    boolean ended() {
        return ended;
    }

    byte[] buffer() {
        return buffer;
    }

    int offset(int field) {
        return offsets[field];
    }

    /** -1 for NULL. */
    int length(int field) {
        return lengths[field];
    }

    static int int4(byte[] bytes, int at) {
        return bytes[at] << 24
                | (bytes[at + 1] & 0xFF) << 16
                | (bytes[at + 2] & 0xFF) << 8
                | (bytes[at + 3] & 0xFF);
    }

    private SQLException malformed(String expected, String found) {
        return new SQLException(
                "malformed COPY stream: expected " + expected + ", found " + found, "08P01");
    }
}
