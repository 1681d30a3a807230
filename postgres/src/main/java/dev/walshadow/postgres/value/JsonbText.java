package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import java.util.Arrays;

/**
 * What {@code jsonb_out} prints. Walks the tree with a stack of its own, so nesting depth is
 * bounded by memory only; holds that stack, so single-threaded.
 *
 * <pre>
 * container: u32 header: count 0x0FFFFFFF | scalar 0x10000000 | object 0x20000000 | array 0x40000000
 *            u32 entries[count]: an object has its count keys first, then its count values
 *            data of the entries, in the same order
 * entry:     offset or length 0x0FFFFFFF | type 0x70000000 | 0x80000000 = it is the end offset
 * types:     0 string, 1 numeric, 2 false, 3 true, 4 null, 5 container; numerics (with their varlena
 *            header) and containers start at the next multiple of 4
 * </pre>
 *
 * Source: {@code src/include/utils/jsonb.h}, PostgreSQL 15-18.
 */
public final class JsonbText implements ValueCodec {
    private static final int COUNT_MASK = 0x0FFF_FFFF;
    private static final int CONTAINER_SCALAR = 0x1000_0000;
    private static final int CONTAINER_OBJECT = 0x2000_0000;
    private static final int CONTAINER_ARRAY = 0x4000_0000;

    private static final int ENTRY_LENGTH_MASK = 0x0FFF_FFFF;
    private static final int ENTRY_HAS_OFFSET = 0x8000_0000;
    private static final int TYPE_STRING = 0;
    private static final int TYPE_NUMERIC = 1;
    private static final int TYPE_FALSE = 2;
    private static final int TYPE_TRUE = 3;
    private static final int TYPE_NULL = 4;
    private static final int TYPE_CONTAINER = 5;

    // one frame per open container
    private static final int HEADER_AT = 0;
    private static final int INDEX = 1;
    private static final int KEY_END = 2;
    private static final int VALUE_END = 3;
    private static final int LIMIT = 4;
    private static final int FRAME = 5;

    private int[] stack = new int[FRAME * 8];
    private int depth;

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("jsonb", bytes, offset, length);
        depth = 0;
        int start = out.length();
        open(bytes, offset, offset + length, out);
        while (depth > 0) {
            int frame = (depth - 1) * FRAME;
            int header = LittleEndian.getInt(bytes, stack[frame + HEADER_AT]);
            if (stack[frame + INDEX] == (header & COUNT_MASK)) {
                close(header, out);
                depth--;
            } else {
                next(bytes, frame, header, out);
            }
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw malformed("a text below 1 GB", "more", offset);
            }
        }
    }

    /** Checks a container's header and entries and pushes it. */
    private void open(byte[] bytes, int at, int limit, ByteBuilder out) {
        if (limit - at < 4) {
            throw malformed("a container", (limit - at) + " bytes", at);
        }
        int header = LittleEndian.getInt(bytes, at);
        int count = header & COUNT_MASK;
        boolean object = (header & CONTAINER_OBJECT) != 0;
        long entries = object ? 2L * count : count;
        if (object == ((header & CONTAINER_ARRAY) != 0) || 4 * entries > limit - at - 4) {
            throw malformed(
                    "an object or array with its entries",
                    "header 0x" + Integer.toHexString(header),
                    at);
        }
        boolean scalar = (header & CONTAINER_SCALAR) != 0;
        if (scalar && (object || count != 1)) {
            throw malformed("one scalar", count + " entries", at);
        }
        if (depth * FRAME == stack.length) {
            stack = Arrays.copyOf(stack, stack.length * 2);
        }
        int frame = depth++ * FRAME;
        stack[frame + HEADER_AT] = at;
        stack[frame + INDEX] = 0;
        stack[frame + KEY_END] = 0;
        stack[frame + VALUE_END] = object ? keysEnd(bytes, at, count, limit) : 0;
        stack[frame + LIMIT] = limit;
        if (!scalar) {
            out.putByte(object ? '{' : '[');
        }
    }

    private static void close(int header, ByteBuilder out) {
        if ((header & CONTAINER_OBJECT) != 0) {
            out.putByte('}');
        } else if ((header & CONTAINER_SCALAR) == 0) {
            out.putByte(']');
        }
    }

    /** Where an object's keys end in its data: where its values start. */
    private static int keysEnd(byte[] bytes, int at, int count, int limit) {
        int end = 0;
        int data = at + 4 + 8 * count;
        for (int i = 0; i < count; i++) {
            end = entryEnd(bytes, at + 4 + 4 * i, end, limit - data);
        }
        return end;
    }

    /** The end of an entry that starts at {@code start}, both counted from the data. */
    private static int entryEnd(byte[] bytes, int entryAt, int start, int dataLength) {
        int entry = LittleEndian.getInt(bytes, entryAt);
        int value = entry & ENTRY_LENGTH_MASK;
        int end = (entry & ENTRY_HAS_OFFSET) != 0 ? value : start + value;
        if (end < start || end > dataLength) {
            throw malformed(
                    "an entry inside its container",
                    "end " + end + " of " + dataLength + " bytes",
                    entryAt);
        }
        return end;
    }

    /** Prints the frame's next key and value; a container is opened instead. */
    private void next(byte[] bytes, int frame, int header, ByteBuilder out) {
        int at = stack[frame + HEADER_AT];
        int limit = stack[frame + LIMIT];
        int count = header & COUNT_MASK;
        int index = stack[frame + INDEX]++;
        if (index > 0) {
            out.putByte(',');
            out.putByte(' ');
        }
        boolean object = (header & CONTAINER_OBJECT) != 0;
        int data = at + 4 + (object ? 8 : 4) * count;
        int entryAt = at + 4 + 4 * index;
        if (object) {
            int keyStart = stack[frame + KEY_END];
            int keyEnd = entryEnd(bytes, entryAt, keyStart, limit - data);
            if (type(bytes, entryAt) != TYPE_STRING) {
                throw malformed("a string as key", "type " + type(bytes, entryAt), entryAt);
            }
            stack[frame + KEY_END] = keyEnd;
            appendString(bytes, data + keyStart, keyEnd - keyStart, out);
            out.putByte(':');
            out.putByte(' ');
            entryAt += 4 * count;
        }
        int start = stack[frame + VALUE_END];
        int end = entryEnd(bytes, entryAt, start, limit - data);
        stack[frame + VALUE_END] = end;
        appendValue(bytes, type(bytes, entryAt), data, start, end, out);
    }

    private static int type(byte[] bytes, int entryAt) {
        return LittleEndian.getInt(bytes, entryAt) >>> 28 & 7;
    }

    /** {@code start} and {@code end} count from {@code data}, as alignment does. */
    private void appendValue(
            byte[] bytes, int type, int data, int start, int end, ByteBuilder out) {
        switch (type) {
            case TYPE_STRING -> appendString(bytes, data + start, end - start, out);
            case TYPE_FALSE -> out.putAscii("false");
            case TYPE_TRUE -> out.putAscii("true");
            case TYPE_NULL -> out.putAscii("null");
            case TYPE_NUMERIC -> appendNumeric(bytes, data + (start + 3 & ~3), data + end, out);
            case TYPE_CONTAINER -> open(bytes, data + (start + 3 & ~3), data + end, out);
            default -> throw malformed("a value type of 0 to 5", "" + type, data + start);
        }
    }

    private static void appendNumeric(byte[] bytes, int at, int limit, ByteBuilder out) {
        int total = Varlena.totalLength(bytes, at, limit);
        if (!Varlena.isPlain(bytes, at)) {
            throw malformed("a plain numeric", "a toasted one", at);
        }
        NumericText.append(
                bytes,
                Varlena.payloadOffset(bytes, at),
                Varlena.payloadLength(bytes, at, total),
                out);
    }

    /** escape_json: quotes, backslashes and control characters, nothing else. */
    static void appendString(byte[] bytes, int offset, int length, ByteBuilder out) {
        out.ensure(length + 2);
        out.putByte('"');
        int from = offset;
        int end = offset + length;
        for (int i = offset; i < end; i++) {
            int c = bytes[i];
            if ((c < ' ' && c >= 0) || c == '"' || c == '\\') {
                out.putBytes(bytes, from, i - from);
                appendEscape(c, out);
                from = i + 1;
            }
        }
        out.putBytes(bytes, from, end - from);
        out.putByte('"');
    }

    private static void appendEscape(int c, ByteBuilder out) {
        out.putByte('\\');
        switch (c) {
            case '\b' -> out.putByte('b');
            case '\f' -> out.putByte('f');
            case '\n' -> out.putByte('n');
            case '\r' -> out.putByte('r');
            case '\t' -> out.putByte('t');
            case '"', '\\' -> out.putByte(c);
            default -> {
                out.putAscii("u00");
                out.putByte('0' + (c >>> 4));
                out.putByte((c & 15) < 10 ? '0' + (c & 15) : 'a' + (c & 15) - 10);
            }
        }
    }

    private static QuarantineException malformed(String expected, String found, int offset) {
        return Malformed.value("jsonb", expected, found, offset);
    }
}
