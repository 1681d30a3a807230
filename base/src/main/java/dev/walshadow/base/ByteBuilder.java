package dev.walshadow.base;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A growable byte array whose inside is open to its users: {@link #array()} holds {@link #length()}
 * valid bytes from index 0. Not thread safe. Growth doubles, so appends are amortised O(1) and free
 * of allocation once warm; {@link #clear()} keeps the array.
 */
public final class ByteBuilder {
    private static final int MAX_LENGTH = Integer.MAX_VALUE - 16;

    private static final byte[] NOTHING = {};

    private final int maxLength;

    /** Of the first array. */
    private final int initialCapacity;

    private byte[] array;
    private int length;

    public ByteBuilder(int initialCapacity) {
        this(initialCapacity, MAX_LENGTH);
    }

    /**
     * @param maxLength what needs more is refused with {@link FullException}
     */
    public ByteBuilder(int initialCapacity, int maxLength) {
        this(initialCapacity, maxLength, false);
    }

    private ByteBuilder(int initialCapacity, int maxLength, boolean onDemand) {
        this.maxLength = Math.max(16, maxLength);
        this.initialCapacity = Math.clamp(initialCapacity, 16, this.maxLength);
        array = onDemand ? NOTHING : new byte[this.initialCapacity];
    }

    /** Takes its memory when the first byte is appended: there are many of it, mostly unused. */
    public static ByteBuilder onDemand(int initialCapacity) {
        return new ByteBuilder(initialCapacity, MAX_LENGTH, true);
    }

    /**
     * @param maxLength what needs more is refused with {@link FullException}
     */
    public static ByteBuilder onDemand(int initialCapacity, int maxLength) {
        return new ByteBuilder(initialCapacity, maxLength, true);
    }

    /** The builder would become longer than it may; what was in it is unchanged or incomplete. */
    public static final class FullException extends RuntimeException {
        private static final long serialVersionUID = 1;

        FullException(int maxLength) {
            super("more than " + maxLength + " bytes");
        }
    }

    public byte[] array() {
        return array;
    }

    public int length() {
        return length;
    }

    public int capacity() {
        return array.length;
    }

    public void clear() {
        length = 0;
    }

    /** Shortens or lengthens (within what {@link #ensure} made room for) the valid bytes. */
    public void setLength(int newLength) {
        Invariant.check(newLength >= 0 && newLength <= array.length, "length within capacity");
        length = newLength;
    }

    /** Makes room for {@code more} bytes behind the valid ones. */
    public void ensure(int more) {
        if (array.length - length < more) {
            grow(more);
        }
    }

    /** As {@link #ensure}, with no room for yet more: for the rest of a large value. */
    public void ensureExactly(int more) {
        if (array.length - length < more) {
            array = Arrays.copyOf(array, (int) wanted(more));
        }
    }

    private long wanted(int more) {
        long wanted = (long) length + more;
        if (wanted > maxLength) {
            throw new FullException(maxLength);
        }
        return wanted;
    }

    private void grow(int more) {
        long wanted = wanted(more);
        long twice = array.length == 0 ? initialCapacity : array.length * 2L;
        array = Arrays.copyOf(array, (int) Math.min(maxLength, Math.max(wanted, twice)));
    }

    public void putByte(int value) {
        if (length == array.length) {
            grow(1);
        }
        array[length++] = (byte) value;
    }

    public void putShort(int value) {
        ensure(2);
        LittleEndian.putShort(array, length, value);
        length += 2;
    }

    public void putInt(int value) {
        ensure(4);
        LittleEndian.putInt(array, length, value);
        length += 4;
    }

    public void putLong(long value) {
        ensure(8);
        LittleEndian.putLong(array, length, value);
        length += 8;
    }

    public void putBytes(byte[] source) {
        putBytes(source, 0, source.length);
    }

    public void putBytes(byte[] source, int offset, int count) {
        ensure(count);
        System.arraycopy(source, offset, array, length, count);
        length += count;
    }

    /** Appends {@code count} zero bytes. */
    public void putZeros(int count) {
        ensure(count);
        Arrays.fill(array, length, length + count, (byte) 0);
        length += count;
    }

    /** Appends characters that are all below U+0080, one byte each. */
    public void putAscii(CharSequence text) {
        int count = text.length();
        ensure(count);
        for (int i = 0; i < count; i++) {
            array[length + i] = (byte) text.charAt(i);
        }
        length += count;
    }

    public byte[] toByteArray() {
        return Arrays.copyOf(array, length);
    }

    /** The valid bytes, without a copy where they fill their array; none are left here. */
    public byte[] take() {
        byte[] taken = length == array.length ? array : toByteArray();
        array = NOTHING;
        length = 0;
        return taken;
    }

    /** The valid bytes read as UTF-8. */
    @Override
    public String toString() {
        return new String(array, 0, length, StandardCharsets.UTF_8);
    }
}
