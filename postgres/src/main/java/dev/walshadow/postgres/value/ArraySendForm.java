package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;

/**
 * An array's send form into the payload that {@link ArrayView} draws.
 *
 * <pre>
 *  0 i32 ndim
 *  4 i32 1 if there is a null bitmap, else 0
 *  8 u32 elemtype
 * 12 (i32 dim, i32 lbound)[ndim]
 *    per element: i32 length, -1 for NULL; then its send form
 * </pre>
 *
 * Source: {@code array_send} and {@code CopyArrayEls} in {@code
 * src/backend/utils/adt/arrayfuncs.c}, PostgreSQL 15-18.
 */
final class ArraySendForm implements SendForm {
    private static final int DIMENSIONS = 12;
    private static final int VARLENA = -1;

    /** The first element is 8-aligned, counted from the varlena header. */
    private static final int DATA_ALIGNMENT_MASK = 7;

    private final SendForm element;
    private final int elementLength;
    private final int alignmentMask;

    ArraySendForm(SendForm element, int elementLength, char elementAlignment) {
        this.element = element;
        this.elementLength = elementLength;
        this.alignmentMask =
                switch (elementAlignment) {
                    case 'c' -> 0;
                    case 's' -> 1;
                    case 'i' -> 3;
                    default -> 7;
                };
    }

    @Override
    public void append(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("array", bytes, offset, length);
        int dimensions = length < DIMENSIONS ? -1 : SendForms.int4(bytes, offset);
        if (dimensions < 0
                || dimensions > ArrayView.MAX_DIMENSIONS
                || length - DIMENSIONS < 8 * dimensions) {
            throw malformed("0 to 6 dimensions", dimensions + " in " + length + " bytes", offset);
        }
        boolean nulls = SendForms.int4(bytes, offset + 4) != 0;
        int end = offset + length;
        int at = offset + DIMENSIONS + 8 * dimensions;
        int items = items(bytes, offset, dimensions, end - at);
        int start = out.length();
        appendHeader(bytes, offset, dimensions, out);
        int bitmap = out.length();
        if (nulls) {
            out.putZeros((items + 7) >>> 3);
        }
        int overhead = out.length() - start + Varlena.HEADER_LENGTH;
        out.putZeros(-overhead & DATA_ALIGNMENT_MASK);
        int data = out.length();
        if (nulls) {
            LittleEndian.putInt(out.array(), start + 4, data - start + Varlena.HEADER_LENGTH);
        }
        for (int i = 0; i < items; i++) {
            if (end - at < 4) {
                throw malformed("element " + i, "the end", at);
            }
            int size = SendForms.int4(bytes, at);
            at += 4;
            if (size < 0) {
                if (!nulls) {
                    throw malformed("no NULL", "a NULL element " + i, at);
                }
                continue;
            }
            if (size > end - at) {
                throw malformed("element " + i, "the end", at);
            }
            appendElement(bytes, at, size, data, out);
            at += size;
            if (nulls) {
                out.array()[bitmap + (i >>> 3)] |= (byte) (1 << (i & 7));
            }
        }
        if (at != end) {
            throw malformed("the end", (end - at) + " more bytes", at);
        }
    }

    private static int items(byte[] bytes, int offset, int dimensions, int left) {
        long items = dimensions == 0 ? 0 : 1;
        for (int i = 0; i < dimensions; i++) {
            int size = SendForms.int4(bytes, offset + DIMENSIONS + 8 * i);
            items *= size;
            if (size < 0 || items * 4 > left) {
                throw malformed("elements inside the value", "dimension " + size, offset);
            }
        }
        return (int) items;
    }

    private static void appendHeader(byte[] bytes, int offset, int dimensions, ByteBuilder out) {
        out.putInt(dimensions);
        out.putInt(0);
        out.putInt(SendForms.int4(bytes, offset + 8));
        for (int part = 0; part < 8; part += 4) {
            for (int i = 0; i < dimensions; i++) {
                out.putInt(SendForms.int4(bytes, offset + DIMENSIONS + 8 * i + part));
            }
        }
    }

    /** Each element is padded behind, so that the next one lies aligned. */
    private void appendElement(byte[] bytes, int at, int size, int data, ByteBuilder out) {
        int start = out.length();
        if (elementLength == VARLENA) {
            out.putInt(0);
            element.append(bytes, at, size, out);
            LittleEndian.putInt(out.array(), start, (out.length() - start) << 2);
        } else {
            element.append(bytes, at, size, out);
            if (out.length() - start != elementLength) {
                throw malformed(
                        elementLength + " bytes an element", out.length() - start + " bytes", at);
            }
        }
        out.putZeros(-(out.length() - data) & alignmentMask);
    }

    private static QuarantineException malformed(String expected, String found, int offset) {
        return Malformed.value("sent array", expected, found, offset);
    }
}
