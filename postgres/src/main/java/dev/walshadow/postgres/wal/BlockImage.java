package dev.walshadow.postgres.wal;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.value.Lz4;
import dev.walshadow.postgres.value.Pglz;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Restores full-page images: hole, pglz, lz4, zstd. An image is restored from its record, or from
 * the stored form that outlives the record:
 *
 * <pre>
 * 0 u16 stored bytes (8192 at most)  2 u16 hole offset  4 u16 hole length  6 u8 bimg_info
 * 7 the image's bytes as they are in the WAL: compressed, or without the hole
 * </pre>
 *
 * Source: {@code RestoreBlockImage} in {@code src/backend/access/transam/xlogreader.c}, PostgreSQL
 * 15-18. Not thread safe (keeps scratch).
 */
public final class BlockImage {
    private static final int STORED_HOLE_OFFSET = 2;
    private static final int STORED_HOLE_LENGTH = 4;
    private static final int STORED_FLAGS = 6;
    private static final int STORED_BYTES = 7;

    private final ByteBuilder scratch = new ByteBuilder(XLogLayout.PAGE_SIZE);
    private final ByteBuilder stored = new ByteBuilder(STORED_BYTES + XLogLayout.PAGE_SIZE);

    /**
     * Writes the page of block reference {@code i}, which has an image, to {@code page[0..8192)}.
     *
     * @throws HaltException {@link WalCodes#CORRUPT_IMAGE} if the stored bytes are no page
     */
    public void restore(WalRecord record, int i, byte[] page) {
        stored.clear();
        store(record, i, stored);
        restore(stored.array(), 0, record.lsn(), page, 0);
    }

    /** Appends the image of block reference {@code i} in its stored form. */
    public static void store(WalRecord record, int i, ByteBuilder out) {
        out.putShort(record.imageLength(i));
        out.putShort(record.imageHoleOffset(i));
        out.putShort(record.imageHoleLength(i));
        out.putByte(record.imageFlags(i));
        out.putBytes(record.buffer(), record.imageOffset(i), record.imageLength(i));
    }

    /**
     * Writes the page of the stored image at {@code bytes[from..]} to {@code page[at..at + 8192)}.
     *
     * @param lsn the record that it came with, for messages
     * @throws HaltException {@link WalCodes#CORRUPT_IMAGE} if the stored bytes are no page
     */
    public void restore(byte[] bytes, int from, long lsn, byte[] page, int at) {
        int holeOffset = LittleEndian.getUnsignedShort(bytes, from + STORED_HOLE_OFFSET);
        int holeLength = LittleEndian.getUnsignedShort(bytes, from + STORED_HOLE_LENGTH);
        int size = XLogLayout.PAGE_SIZE - holeLength;
        byte[] image = bytes;
        int start = from + STORED_BYTES;
        if ((bytes[from + STORED_FLAGS] & XLogLayout.BKPIMAGE_COMPRESSED_MASK) != 0) {
            if (!decompress(bytes, from, lsn, size)) {
                throw corrupt(lsn, bytes, from, null);
            }
            image = scratch.array();
            start = 0;
        }
        System.arraycopy(image, start, page, at, holeOffset);
        int behind = at + holeOffset + holeLength;
        Arrays.fill(page, at + holeOffset, behind, (byte) 0);
        System.arraycopy(image, start + holeOffset, page, behind, size - holeOffset);
    }

    /** To {@link #scratch}; false if it is no page or of an unknown method. */
    private boolean decompress(byte[] bytes, int from, long lsn, int size) {
        int at = from + STORED_BYTES;
        int length = LittleEndian.getUnsignedShort(bytes, from);
        scratch.clear();
        try {
            switch (bytes[from + STORED_FLAGS] & XLogLayout.BKPIMAGE_COMPRESSED_MASK) {
                case XLogLayout.BKPIMAGE_COMPRESS_PGLZ ->
                        Pglz.decompress(bytes, at, length, size, scratch);
                case XLogLayout.BKPIMAGE_COMPRESS_LZ4 ->
                        Lz4.decompress(bytes, at, length, size, scratch);
                case XLogLayout.BKPIMAGE_COMPRESS_ZSTD -> {
                    scratch.ensure(size);
                    long written =
                            Zstd.decompressByteArray(scratch.array(), 0, size, bytes, at, length);
                    return !Zstd.isError(written) && written == size;
                }
                default -> {
                    return false;
                }
            }
            return true;
        } catch (WalshadowException | ZstdException e) {
            throw corrupt(lsn, bytes, from, e);
        }
    }

    private static HaltException corrupt(
            long lsn, byte[] bytes, int from, @Nullable Throwable cause) {
        return new HaltException(
                WalCodes.CORRUPT_IMAGE,
                "a page image in the WAL record at "
                        + Lsn.format(lsn)
                        + " does not decompress to a page (bimg_info "
                        + (bytes[from + STORED_FLAGS] & 0xFF)
                        + ", "
                        + LittleEndian.getUnsignedShort(bytes, from)
                        + " bytes): the WAL is damaged. Compare with pg_waldump on the source.",
                cause);
    }
}
