package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import java.util.Arrays;

/**
 * What {@code tsqueryout} prints. Walks the tree with a stack of its own; holds that stack, so
 * single-threaded. A tsquery's payload:
 *
 * <pre>
 * 0 i32 size
 * 4 items[size], 12 bytes each, prefix notation with the right operand first:
 *   operand:  u8 1, u8 weights (bit 3 is A), u8 prefix, u8 -, i32 checksum,
 *             u32 length 0xFFF | offset in the strings << 12
 *   operator: u8 2, u8 operator (1 !, 2 &amp;, 3 |, 4 phrase), i16 distance of a phrase,
 *             u32 items from here to the left operand, u32 -
 *   strings, each with a zero byte
 * </pre>
 *
 * Source: {@code src/include/tsearch/ts_type.h}, {@code infix} in {@code
 * src/backend/utils/adt/tsquery.c}, PostgreSQL 15-18.
 */
final class TsqueryText implements ValueCodec {
    private static final int ITEMS = 4;
    private static final int ITEM_LENGTH = 12;
    private static final int OPERAND_WEIGHT = 1;
    private static final int OPERAND_PREFIX = 2;
    private static final int OPERAND_TEXT = 8;
    private static final int OPERATOR_KIND = 1;
    private static final int OPERATOR_DISTANCE = 2;
    private static final int OPERATOR_LEFT = 4;

    private static final int TYPE_OPERAND = 1;
    private static final int TYPE_OPERATOR = 2;
    private static final int NOT = 1;
    private static final int AND = 2;
    private static final int OR = 3;
    private static final int PHRASE = 4;

    /** By operator: a higher one binds tighter. */
    private static final int[] PRIORITY = {0, 4, 2, 1, 3};

    // what is left to print: pairs of a kind and its argument
    private static final int PRINT_ITEM = 0;
    private static final int PRINT_PHRASE_RIGHT = 1;
    private static final int PRINT_OPERATOR = 2;
    private static final int PRINT_CLOSE = 3;
    private static final int STEP = 3;

    private int[] stack = new int[STEP * 16];
    private int depth;

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("tsquery", bytes, offset, length);
        int size = length < ITEMS ? -1 : LittleEndian.getInt(bytes, offset);
        if (size < 0 || size > (length - ITEMS) / ITEM_LENGTH) {
            throw Malformed.value("tsquery", "items inside the value", "" + size, offset);
        }
        depth = 0;
        if (size > 0) {
            push(PRINT_ITEM, 0, -1);
        }
        int start = out.length();
        int visits = 0;
        while (depth > 0) {
            depth -= STEP;
            int kind = stack[depth];
            int index = stack[depth + 1];
            int parent = stack[depth + 2];
            switch (kind) {
                case PRINT_OPERATOR -> appendOperator(bytes, itemAt(offset, index), out);
                case PRINT_CLOSE -> out.putAscii(" )");
                default -> {
                    // a tree has each item once; damaged bytes could go in circles
                    if (index < 0 || index >= size || ++visits > size) {
                        throw Malformed.value("tsquery", "a tree of items", "another", offset);
                    }
                    print(bytes, offset, size, length, kind, index, parent, out);
                }
            }
            if (out.length() - start > Malformed.TEXT_LIMIT) {
                throw Malformed.value("tsquery", "a text below 1 GB", "more", offset);
            }
        }
    }

    private static int itemAt(int offset, int index) {
        return offset + ITEMS + ITEM_LENGTH * index;
    }

    private void push(int kind, int index, int parentPriority) {
        if (depth == stack.length) {
            stack = Arrays.copyOf(stack, stack.length * 2);
        }
        stack[depth] = kind;
        stack[depth + 1] = index;
        stack[depth + 2] = parentPriority;
        depth += STEP;
    }

    private void print(
            byte[] bytes,
            int offset,
            int size,
            int length,
            int kind,
            int index,
            int parentPriority,
            ByteBuilder out) {
        int at = itemAt(offset, index);
        int type = bytes[at];
        if (type == TYPE_OPERAND) {
            appendOperand(bytes, at, itemAt(offset, size), offset + length, out);
            return;
        }
        int operator = bytes[at + OPERATOR_KIND];
        if (type != TYPE_OPERATOR || operator < NOT || operator > PHRASE) {
            throw Malformed.value("tsquery", "an operand or operator", "type " + type, at);
        }
        int priority = PRIORITY[operator];
        boolean enclosed =
                priority < parentPriority || (operator == PHRASE && kind == PRINT_PHRASE_RIGHT);
        if (enclosed) {
            out.putAscii("( ");
            push(PRINT_CLOSE, 0, 0);
        }
        if (operator == NOT) {
            out.putByte('!');
            push(PRINT_ITEM, index + 1, priority);
            return;
        }
        int left = LittleEndian.getInt(bytes, at + OPERATOR_LEFT);
        if (left <= 1 || left > size) {
            throw Malformed.value("tsquery", "a left operand inside", "" + left, at);
        }
        push(operator == PHRASE ? PRINT_PHRASE_RIGHT : PRINT_ITEM, index + 1, priority);
        push(PRINT_OPERATOR, index, 0);
        push(PRINT_ITEM, index + left, priority);
    }

    private static void appendOperator(byte[] bytes, int at, ByteBuilder out) {
        switch (bytes[at + OPERATOR_KIND]) {
            case OR -> out.putAscii(" | ");
            case AND -> out.putAscii(" & ");
            default -> {
                int distance = LittleEndian.getShort(bytes, at + OPERATOR_DISTANCE);
                if (distance == 1) {
                    out.putAscii(" <-> ");
                } else {
                    out.putAscii(" <");
                    IntegerText.append(distance, out);
                    out.putAscii("> ");
                }
            }
        }
    }

    private static void appendOperand(byte[] bytes, int at, int strings, int end, ByteBuilder out) {
        int text = LittleEndian.getInt(bytes, at + OPERAND_TEXT);
        int length = text & 0xFFF;
        int position = text >>> 12;
        if (length > end - strings - position) {
            throw Malformed.value("tsquery", "an operand inside the value", "" + position, at);
        }
        TextSearchText.appendLexeme(bytes, strings + position, length, out);
        int weights = bytes[at + OPERAND_WEIGHT];
        boolean prefix = bytes[at + OPERAND_PREFIX] != 0;
        if (weights == 0 && !prefix) {
            return;
        }
        out.putByte(':');
        if (prefix) {
            out.putByte('*');
        }
        for (int bit = 3; bit >= 0; bit--) {
            if ((weights & 1 << bit) != 0) {
                out.putByte('D' - bit);
            }
        }
    }
}
