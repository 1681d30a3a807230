package dev.walshadow.postgres.wal;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.value.Lz4;
import dev.walshadow.postgres.value.Pglz;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Restores full-page images: hole, pglz, lz4, zstd. Source: {@code RestoreBlockImage} in {@code
 * src/backend/access/transam/xlogreader.c}, PostgreSQL 15-18. Not thread safe (keeps scratch).
 */
public final class BlockImage {
    private final ByteBuilder scratch = new ByteBuilder(XLogLayout.PAGE_SIZE);

    /**
     * Writes the page of block reference {@code i}, which has an image, to {@code page[0..8192)}.
     *
     * @throws HaltException {@link WalCodes#CORRUPT_IMAGE} if the stored bytes are no page
     */
    public void restore(WalRecord record, int i, byte[] page) {
        int holeOffset = record.imageHoleOffset(i);
        int holeLength = record.imageHoleLength(i);
        int stored = XLogLayout.PAGE_SIZE - holeLength;
        byte[] bytes;
        int at;
        if ((record.imageFlags(i) & XLogLayout.BKPIMAGE_COMPRESSED_MASK) != 0) {
            decompress(record, i, stored);
            bytes = scratch.array();
            at = 0;
        } else {
            bytes = record.buffer();
            at = record.imageOffset(i);
        }
        System.arraycopy(bytes, at, page, 0, holeOffset);
        Arrays.fill(page, holeOffset, holeOffset + holeLength, (byte) 0);
        System.arraycopy(
                bytes, at + holeOffset, page, holeOffset + holeLength, stored - holeOffset);
    }

    private void decompress(WalRecord record, int i, int size) {
        byte[] bytes = record.buffer();
        int at = record.imageOffset(i);
        int length = record.imageLength(i);
        scratch.clear();
        try {
            switch (record.imageFlags(i) & XLogLayout.BKPIMAGE_COMPRESSED_MASK) {
                case XLogLayout.BKPIMAGE_COMPRESS_PGLZ ->
                        Pglz.decompress(bytes, at, length, size, scratch);
                case XLogLayout.BKPIMAGE_COMPRESS_LZ4 ->
                        Lz4.decompress(bytes, at, length, size, scratch);
                case XLogLayout.BKPIMAGE_COMPRESS_ZSTD -> {
                    scratch.ensure(size);
                    long written =
                            Zstd.decompressByteArray(scratch.array(), 0, size, bytes, at, length);
                    if (Zstd.isError(written) || written != size) {
                        throw corrupt(record, i, null);
                    }
                }
                default -> throw corrupt(record, i, null);
            }
        } catch (WalshadowException e) {
            throw corrupt(record, i, e);
        } catch (ZstdException e) {
            throw corrupt(record, i, e);
        }
    }

    private static HaltException corrupt(WalRecord record, int i, @Nullable Throwable cause) {
        return new HaltException(
                WalCodes.CORRUPT_IMAGE,
                "the image of block reference "
                        + record.blockId(i)
                        + " in the WAL record at "
                        + Lsn.format(record.lsn())
                        + " does not decompress to a page (bimg_info "
                        + record.imageFlags(i)
                        + ", "
                        + record.imageLength(i)
                        + " bytes): the WAL is damaged. Compare with pg_waldump on the source.",
                cause);
    }
}
