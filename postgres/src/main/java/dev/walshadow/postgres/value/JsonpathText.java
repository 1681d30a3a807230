package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import java.util.Arrays;

/**
 * What {@code jsonpath_out} prints. Walks the tree with a stack of its own; holds that stack, so
 * single-threaded. A jsonpath's payload:
 *
 * <pre>
 * 0 u32 version 1 | lax 0x80000000
 * 4 items; positions in an item count from its own start, 0 for none:
 *   u8 type ({@link JsonpathItem}), padding to 4 counted from the varlena header,
 *   i32 next item of the path, then by type:
 *   string, key, variable   i32 length, bytes
 *   numeric                 its datum with varlena header
 *   bool                    u8
 *   two operands            i32 left, i32 right
 *   one operand             i32
 *   subscripts              i32 count, (i32 from, i32 to)[count]
 *   .**                     u32 first level, u32 last level
 *   like_regex              u32 flags, i32 operand, i32 length, pattern
 * </pre>
 *
 * Source: {@code src/include/utils/jsonpath.h}, {@code src/backend/utils/adt/jsonpath.c},
 * PostgreSQL 15-18.
 */
final class JsonpathText implements ValueCodec {
    private static final int VERSION = 1;
    private static final int LAX = 0x8000_0000;
    private static final int ITEMS = 4;
    private static final int HEADER = 4;

    /** Type and next take this much at least. */
    private static final int LEAST_ITEM = 5;

    private static final String REGEX_FLAGS = "ismxq";

    /** Constant texts between items, by index; brackets first. */
    private static final String[] TEXTS = {")", "]", ",", " to ", ") is unknown"};

    private static final int CLOSE = 0;
    private static final int CLOSE_SUBSCRIPTS = 1;
    private static final int COMMA = 2;
    private static final int TO = 3;
    private static final int IS_UNKNOWN = 4;

    // what is left to print: an item's position with flags, a constant, an operator, a regex
    private static final int PRINT_ITEM = 0;
    private static final int PRINT_IN_KEY = 1;
    private static final int PRINT_BRACKETS = 2;
    private static final int PRINT_TEXT = 4;
    private static final int PRINT_OPERATOR = 8;
    private static final int PRINT_REGEX = 16;
    private static final int STEP = 2;

    private int[] stack = new int[STEP * 16];
    private int depth;

    private byte[] bytes = new byte[0];
    private int base;
    private int end;

    @Override
    public void appendText(byte[] value, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("jsonpath", value, offset, length);
        int header = length < ITEMS ? 0 : LittleEndian.getInt(value, offset);
        if ((header & ~LAX) != VERSION) {
            throw bad("version 1", Integer.toHexString(header), offset);
        }
        bytes = value;
        base = offset - HEADER;
        end = offset + length;
        depth = 0;
        if ((header & LAX) == 0) {
            out.putAscii("strict ");
        }
        push(offset + ITEMS, PRINT_BRACKETS);
        int start = out.length();
        int visits = 0;
        while (depth > 0) {
            depth -= STEP;
            int what = stack[depth];
            int flags = stack[depth + 1];
            switch (flags) {
                case PRINT_TEXT -> out.putAscii(TEXTS[what]);
                case PRINT_OPERATOR -> out.putAscii(JsonpathItem.operator(bytes[what]));
                case PRINT_REGEX -> appendRegex(what, out);
                default -> {
                    // a tree has each item once; damaged bytes could go in circles
                    if (++visits > length / LEAST_ITEM) {
                        throw bad("a tree of items", "another", offset);
                    }
                    print(what, flags, out);
                }
            }
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw bad("a text below 1 GB", "more", offset);
            }
        }
    }

    private void push(int what, int flags) {
        if (depth == stack.length) {
            stack = Arrays.copyOf(stack, stack.length * 2);
        }
        stack[depth] = what;
        stack[depth + 1] = flags;
        depth += STEP;
    }

    /** Prints an item's beginning and pushes the rest of it, the last part first. */
    private void print(int at, int flags, ByteBuilder out) {
        if (at >= end) {
            throw bad("an item inside the value", "its end", at);
        }
        int type = bytes[at];
        int next = fields(at) - Integer.BYTES;
        int following = number(next);
        if (following != 0) {
            push(child(at, following), PRINT_IN_KEY | PRINT_BRACKETS);
        }
        int data = next + Integer.BYTES;
        boolean inKey = (flags & PRINT_IN_KEY) != 0;
        boolean brackets = (flags & PRINT_BRACKETS) != 0;
        switch (type) {
            case JsonpathItem.STRING -> appendString(data, out);
            case JsonpathItem.NUMERIC -> appendNumeric(data, following != 0, out);
            case JsonpathItem.BOOL -> out.putAscii(byteAt(data) != 0 ? "true" : "false");
            case JsonpathItem.NOT -> unary(at, data, "!(", CLOSE, out);
            case JsonpathItem.IS_UNKNOWN -> unary(at, data, "(", IS_UNKNOWN, out);
            case JsonpathItem.FILTER -> unary(at, data, "?(", CLOSE, out);
            case JsonpathItem.EXISTS -> unary(at, data, "exists (", CLOSE, out);
            case JsonpathItem.PLUS, JsonpathItem.MINUS -> sign(at, data, brackets, out);
            case JsonpathItem.ANY_KEY -> out.putAscii(inKey ? ".*" : "*");
            case JsonpathItem.INDEX_ARRAY -> subscripts(at, data, out);
            case JsonpathItem.ANY -> appendLevels(data, inKey, out);
            case JsonpathItem.KEY -> {
                if (inKey) {
                    out.putByte('.');
                }
                appendString(data, out);
            }
            case JsonpathItem.VARIABLE -> {
                out.putByte('$');
                appendString(data, out);
            }
            case JsonpathItem.LIKE_REGEX -> regex(at, data, brackets, out);
            case JsonpathItem.DECIMAL -> method(at, data, 2, out);
            case JsonpathItem.DATETIME,
                    JsonpathItem.TIME,
                    JsonpathItem.TIME_TZ,
                    JsonpathItem.TIMESTAMP,
                    JsonpathItem.TIMESTAMP_TZ ->
                    method(at, data, 1, out);
            default -> {
                if (JsonpathItem.isBinary(type)) {
                    binary(at, data, brackets, out);
                } else {
                    out.putAscii(word(type, at));
                }
            }
        }
    }

    private static String word(int type, int at) {
        String word = JsonpathItem.word(type);
        if (word == null) {
            throw bad("an item type of PostgreSQL 15 to 18", "" + type, at);
        }
        return word;
    }

    /** Behind the type, its padding and the position of the next item. */
    private int fields(int at) {
        return base + (at + 1 - base + 3 & ~3) + Integer.BYTES;
    }

    private int number(int at) {
        if (Integer.BYTES > end - at) {
            throw bad("an item inside the value", "its end", at);
        }
        return LittleEndian.getInt(bytes, at);
    }

    private int byteAt(int at) {
        if (at >= end) {
            throw bad("an item inside the value", "its end", at);
        }
        return bytes[at];
    }

    /** Children always come behind their parent. */
    private int child(int at, int distance) {
        if (distance <= 0 || distance >= end - at) {
            throw bad("an item behind its parent", "distance " + distance, at);
        }
        return at + distance;
    }

    private void unary(int at, int data, String open, int close, ByteBuilder out) {
        out.putAscii(open);
        push(close, PRINT_TEXT);
        push(child(at, number(data)), PRINT_ITEM);
    }

    private void sign(int at, int data, boolean brackets, ByteBuilder out) {
        open(brackets, out);
        out.putByte(bytes[at] == JsonpathItem.PLUS ? '+' : '-');
        operand(at, number(data));
    }

    private void binary(int at, int data, boolean brackets, ByteBuilder out) {
        open(brackets, out);
        operand(at, number(data + Integer.BYTES));
        push(at, PRINT_OPERATOR);
        operand(at, number(data));
    }

    private void open(boolean brackets, ByteBuilder out) {
        if (brackets) {
            out.putByte('(');
            push(CLOSE, PRINT_TEXT);
        }
    }

    /** In brackets where it binds no tighter than its operator. */
    private void operand(int at, int distance) {
        int item = child(at, distance);
        boolean brackets = JsonpathItem.priority(bytes[item]) <= JsonpathItem.priority(bytes[at]);
        push(item, brackets ? PRINT_BRACKETS : PRINT_ITEM);
    }

    private void subscripts(int at, int data, ByteBuilder out) {
        int count = number(data);
        if (count < 0 || count > (end - data) / (2 * Integer.BYTES)) {
            throw bad("subscripts inside the value", "" + count, at);
        }
        out.putByte('[');
        push(CLOSE_SUBSCRIPTS, PRINT_TEXT);
        for (int i = count - 1; i >= 0; i--) {
            int pair = data + Integer.BYTES + 2 * Integer.BYTES * i;
            int to = number(pair + Integer.BYTES);
            if (to != 0) {
                push(child(at, to), PRINT_ITEM);
                push(TO, PRINT_TEXT);
            }
            push(child(at, number(pair)), PRINT_ITEM);
            if (i > 0) {
                push(COMMA, PRINT_TEXT);
            }
        }
    }

    private void method(int at, int data, int most, ByteBuilder out) {
        out.putAscii(word(bytes[at], at));
        push(CLOSE, PRINT_TEXT);
        int second = most == 2 ? number(data + Integer.BYTES) : 0;
        if (second != 0) {
            push(child(at, second), PRINT_ITEM);
            push(COMMA, PRINT_TEXT);
        }
        int first = number(data);
        if (first != 0) {
            push(child(at, first), PRINT_ITEM);
        }
    }

    private void regex(int at, int data, boolean brackets, ByteBuilder out) {
        open(brackets, out);
        push(data, PRINT_REGEX);
        operand(at, number(data + Integer.BYTES));
    }

    private void appendRegex(int data, ByteBuilder out) {
        int flags = number(data);
        out.putAscii(" like_regex ");
        appendString(data + 2 * Integer.BYTES, out);
        if (flags == 0) {
            return;
        }
        out.putAscii(" flag \"");
        for (int i = 0; i < REGEX_FLAGS.length(); i++) {
            if ((flags & 1 << i) != 0) {
                out.putByte(REGEX_FLAGS.charAt(i));
            }
        }
        out.putByte('"');
    }

    private void appendString(int at, ByteBuilder out) {
        int length = number(at);
        if (length < 0 || length > end - at - Integer.BYTES) {
            throw bad("a string inside the value", length + " bytes", at);
        }
        JsonbText.appendString(bytes, at + Integer.BYTES, length, out);
    }

    private void appendNumeric(int at, boolean followed, ByteBuilder out) {
        int total = Varlena.totalLength(bytes, at, end);
        if (!Varlena.isPlain(bytes, at)) {
            throw bad("a plain numeric", "a toasted one", at);
        }
        if (followed) {
            out.putByte('(');
        }
        NumericText.append(
                bytes,
                Varlena.payloadOffset(bytes, at),
                Varlena.payloadLength(bytes, at, total),
                out);
        if (followed) {
            out.putByte(')');
        }
    }

    /** {@code **}, or with a level or a range of them; -1 is the last. */
    private void appendLevels(int data, boolean inKey, ByteBuilder out) {
        int first = number(data);
        int last = number(data + Integer.BYTES);
        out.putAscii(inKey ? ".**" : "**");
        if (first == 0 && last == -1) {
            return;
        }
        out.putByte('{');
        appendLevel(first, out);
        if (first != last) {
            out.putAscii(" to ");
            appendLevel(last, out);
        }
        out.putByte('}');
    }

    private static void appendLevel(int level, ByteBuilder out) {
        if (level == -1) {
            out.putAscii("last");
        } else {
            IntegerText.append(Integer.toUnsignedLong(level), out);
        }
    }

    private static QuarantineException bad(String expected, String found, int offset) {
        return Malformed.value("jsonpath", expected, found, offset);
    }
}
