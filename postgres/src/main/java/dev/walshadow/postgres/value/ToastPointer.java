package dev.walshadow.postgres.value;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;

/**
 * Flyweight over an on-disk TOAST pointer: where an external value's chunks are. Valid until the
 * next wrap; single-threaded.
 *
 * <pre>
 *  0 u8  0x01               va_header
 *  1 u8  18                 va_tag = VARTAG_ONDISK
 *  2 i32 va_rawsize         size with a 4-byte header once decompressed
 *  6 u32 va_extinfo         stored size without header | method << 30
 * 10 u32 va_valueid         chunk_id
 * 14 u32 va_toastrelid
 * 18
 * </pre>
 *
 * Source: {@code varatt_external} in {@code src/include/varatt.h} (15: {@code postgres.h}).
 */
public final class ToastPointer {
    static final int RAW_SIZE = 2;
    static final int EXT_INFO = RAW_SIZE + 4;
    static final int VALUE_ID = EXT_INFO + 4;
    static final int TOAST_RELATION_OID = VALUE_ID + 4;
    public static final int LENGTH = TOAST_RELATION_OID + 4;

    private byte[] buffer = new byte[LENGTH];
    private int offset;

    /** Wraps the datum at {@code offset}, which {@link Varlena#totalLength} has accepted. */
    public ToastPointer wrap(byte[] bytes, int offset) {
        Invariant.check(
                Varlena.isExternal(bytes, offset) && bytes[offset + 1] == Varlena.TAG_ON_DISK,
                "a TOAST pointer is wrapped after its header was checked");
        this.buffer = bytes;
        this.offset = offset;
        return this;
    }

    /** The payload length of the value itself: va_rawsize without the header. */
    public int rawSize() {
        return LittleEndian.getInt(buffer, offset + RAW_SIZE) - Varlena.HEADER_LENGTH;
    }

    /** How many bytes the chunks hold together. */
    public int storedSize() {
        return LittleEndian.getInt(buffer, offset + EXT_INFO) & Varlena.SIZE_MASK;
    }

    /** Meaningful if {@link #isCompressed()}. */
    public int method() {
        return LittleEndian.getInt(buffer, offset + EXT_INFO) >>> 30;
    }

    /** VARATT_EXTERNAL_IS_COMPRESSED: the stored bytes are shorter than the value. */
    public boolean isCompressed() {
        return storedSize() < rawSize();
    }

    public int valueId() {
        return LittleEndian.getInt(buffer, offset + VALUE_ID);
    }

    public int toastRelationOid() {
        return LittleEndian.getInt(buffer, offset + TOAST_RELATION_OID);
    }
}
