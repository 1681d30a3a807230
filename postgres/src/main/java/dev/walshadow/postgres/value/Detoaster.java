package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;

/** Turns stored datums into their payload: what the codecs of this package read. */
public final class Detoaster {
    private Detoaster() {}

    /**
     * Appends the payload of a datum that is in the tuple: plain, short or compressed.
     *
     * @param totalLength what {@link Varlena#totalLength} said
     */
    public static void appendInline(byte[] bytes, int offset, int totalLength, ByteBuilder out) {
        if (Varlena.isCompressed(bytes, offset)) {
            append(
                    bytes,
                    offset + Varlena.COMPRESSED_HEADER_LENGTH,
                    totalLength - Varlena.COMPRESSED_HEADER_LENGTH,
                    Varlena.compressedRawSize(bytes, offset),
                    Varlena.compressedMethod(bytes, offset),
                    out);
        } else if (Varlena.isExternal(bytes, offset)) {
            throw malformed("a value that is in the tuple", "a TOAST pointer");
        } else {
            out.putBytes(
                    bytes,
                    Varlena.payloadOffset(bytes, offset),
                    Varlena.payloadLength(bytes, offset, totalLength));
        }
    }

    /**
     * Appends the payload of an external datum, given all its chunks' bytes in order.
     *
     * <p>Stored bytes of a compressed external datum start with the u32 of raw size and method that
     * an inline compressed datum has behind its length word.
     */
    public static void appendExternal(
            ToastPointer pointer, byte[] stored, int offset, int length, ByteBuilder out) {
        if (length != pointer.storedSize()) {
            throw malformed(
                    "an external value of " + pointer.storedSize() + " bytes",
                    "chunks of "
                            + length
                            + " bytes for chunk_id "
                            + Integer.toUnsignedString(pointer.valueId()));
        }
        if (!pointer.isCompressed()) {
            out.putBytes(stored, offset, length);
            return;
        }
        if (length < 4) {
            throw malformed("a compressed external value's header", length + " bytes");
        }
        int info = LittleEndian.getInt(stored, offset);
        if ((info & Varlena.SIZE_MASK) != pointer.rawSize() || info >>> 30 != pointer.method()) {
            throw malformed(
                    "an external value of raw size "
                            + pointer.rawSize()
                            + ", method "
                            + pointer.method(),
                    "raw size " + (info & Varlena.SIZE_MASK) + ", method " + (info >>> 30));
        }
        append(stored, offset + 4, length - 4, pointer.rawSize(), pointer.method(), out);
    }

    /**
     * Appends {@code rawSize} bytes decompressed from {@code length} bytes.
     *
     * @param method {@link Varlena#METHOD_PGLZ} or {@link Varlena#METHOD_LZ4}
     */
    public static void append(
            byte[] stored, int offset, int length, int rawSize, int method, ByteBuilder out) {
        switch (method) {
            case Varlena.METHOD_PGLZ -> Pglz.decompress(stored, offset, length, rawSize, out);
            case Varlena.METHOD_LZ4 -> Lz4.decompress(stored, offset, length, rawSize, out);
            default -> throw malformed("compression method 0 (pglz) or 1 (lz4)", "" + method);
        }
    }

    /**
     * How many of an external datum's stored bytes give the first {@code rawLength} of its payload,
     * whatever they are.
     */
    public static int storedPrefix(ToastPointer pointer, int rawLength) {
        if (!pointer.isCompressed()) {
            return Math.min(pointer.storedSize(), rawLength);
        }
        // pglz: a control byte for 8 literals; lz4: a byte for 255; and one whole match behind
        long most = Integer.BYTES + rawLength + rawLength / 8L + 64 + rawLength / 255L;
        return (int) Math.min(pointer.storedSize(), most);
    }

    /**
     * Appends the first {@code rawLength} payload bytes of a compressed external datum.
     *
     * @param stored as many of the datum's stored bytes as {@link #storedPrefix} says
     */
    public static void appendPrefix(
            ToastPointer pointer, byte[] stored, int length, int rawLength, ByteBuilder out) {
        if (length < Integer.BYTES) {
            throw malformed("a compressed external value's header", length + " bytes");
        }
        int count = Math.min(rawLength, pointer.rawSize());
        int from = Integer.BYTES;
        switch (LittleEndian.getInt(stored, 0) >>> 30) {
            case Varlena.METHOD_PGLZ ->
                    Pglz.decompressPrefix(stored, from, length - from, count, out);
            case Varlena.METHOD_LZ4 ->
                    Lz4.decompressPrefix(stored, from, length - from, count, out);
            default -> throw malformed("compression method 0 (pglz) or 1 (lz4)", "another");
        }
    }

    private static QuarantineException malformed(String expected, String found) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_COMPRESSION,
                "malformed TOAST value: expected "
                        + expected
                        + ", found "
                        + found
                        + ". The source's data or the WAL is damaged: check it with pg_amcheck.");
    }
}
