package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/**
 * What the output functions of pgvector's types print. Payloads:
 *
 * <pre>
 * vector    0 i16 dim, 2 i16 unused, 4 f32 x[dim]
 * halfvec   0 i16 dim, 2 i16 unused, 4 f16 x[dim]
 * sparsevec 0 i32 dim, 4 i32 nnz, 8 i32 unused, 12 i32 indices[nnz] (from 0), f32 values[nnz]
 * </pre>
 *
 * Source: {@code src/vector.h}, {@code src/halfvec.h}, {@code src/sparsevec.h} of pgvector 0.8.
 */
public final class VectorText {
    /** Where the numbers of vector and halfvec start. */
    public static final int ELEMENTS = 4;

    private static final int NONZERO = 4;
    private static final int INDICES = 12;

    private VectorText() {}

    /**
     * How many numbers a vector or halfvec has, all inside the value.
     *
     * @param width bytes of one number
     */
    public static int dimensions(byte[] bytes, int offset, int length, int width) {
        Malformed.requireInside("vector", bytes, offset, length);
        int count = length < ELEMENTS ? -1 : LittleEndian.getShort(bytes, offset);
        if (count < 0 || length != ELEMENTS + count * width) {
            throw Malformed.value(
                    "vector", "as many numbers as it says", length + " bytes", offset);
        }
        return count;
    }

    static void vector(byte[] bytes, int offset, int length, ByteBuilder out) {
        int count = dimensions(bytes, offset, length, Float.BYTES);
        out.putByte('[');
        for (int i = 0; i < count; i++) {
            separate(i, out);
            appendFloat(bytes, offset + ELEMENTS + Float.BYTES * i, out);
        }
        out.putByte(']');
    }

    static void halfvec(byte[] bytes, int offset, int length, ByteBuilder out) {
        int count = dimensions(bytes, offset, length, Short.BYTES);
        out.putByte('[');
        for (int i = 0; i < count; i++) {
            separate(i, out);
            int at = offset + ELEMENTS + Short.BYTES * i;
            FloatText.append(Float.float16ToFloat(LittleEndian.getShort(bytes, at)), out);
        }
        out.putByte(']');
    }

    static void sparsevec(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireInside("sparsevec", bytes, offset, length);
        int count = length < INDICES ? -1 : LittleEndian.getInt(bytes, offset + NONZERO);
        if (count < 0 || length != INDICES + 8L * count) {
            throw Malformed.value(
                    "sparsevec", "as many numbers as it says", length + " bytes", offset);
        }
        int values = offset + INDICES + Integer.BYTES * count;
        out.putByte('{');
        for (int i = 0; i < count; i++) {
            separate(i, out);
            IntegerText.append(
                    LittleEndian.getInt(bytes, offset + INDICES + Integer.BYTES * i) + 1L, out);
            out.putByte(':');
            appendFloat(bytes, values + Float.BYTES * i, out);
        }
        out.putAscii("}/");
        IntegerText.append(LittleEndian.getInt(bytes, offset), out);
    }

    private static void separate(int index, ByteBuilder out) {
        if (index > 0) {
            out.putByte(',');
        }
    }

    private static void appendFloat(byte[] bytes, int at, ByteBuilder out) {
        FloatText.append(Float.intBitsToFloat(LittleEndian.getInt(bytes, at)), out);
    }
}
