package dev.walshadow.bootstrap.walg;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.bootstrap.backup.Route;
import java.io.IOException;

/**
 * A file of which a delta backup has the changed pages only. After wal-g's {@code pagefile.go}:
 *
 * <pre>
 * 0 "wi1" 0x55   4 u64 length of the file   12 u32 count   16 { u32 block } * count   { page } * count
 * </pre>
 *
 * Little-endian. Blocks may come in any order.
 */
final class Increment {
    private static final int HEADER = 16;
    private static final int COUNT = 12;
    private static final int MAGIC = 'w' | 'i' << 8 | '1' << 16 | 0x55 << 24;

    /** Of a segment of a relation: a gigabyte. */
    private static final int MOST_BLOCKS = 131_072;

    private Increment() {}

    /** Hands on the pages that no newer backup has. IOException says what is wrong. */
    static void read(
            BackupUnpacker.Body body, long size, FilePages pages, FileTargets targets, Route route)
            throws IOException, InterruptedException {
        byte[] header = new byte[HEADER];
        if (size < HEADER) {
            throw new IOException("an increment of " + size + " bytes");
        }
        body.readFully(header, HEADER);
        long length = LittleEndian.getLong(header, 4);
        long count = Integer.toUnsignedLong(LittleEndian.getInt(header, COUNT));
        if (LittleEndian.getInt(header, 0) != MAGIC) {
            throw new IOException("no increment of the only known version");
        }
        long blocks = length / FilePages.SIZE;
        if (length < 0 || blocks > MOST_BLOCKS || count > blocks) {
            throw new IOException(
                    "an increment of " + count + " pages to a file of " + length + " bytes");
        }
        if (size != HEADER + count * (Integer.BYTES + FilePages.SIZE)) {
            throw new IOException("an increment of " + count + " pages has " + size + " bytes");
        }
        byte[] numbers = new byte[(int) count * Integer.BYTES];
        body.readFully(numbers, numbers.length);
        pages.blocks((int) blocks);
        FileTargets.Pages into = targets.beginPages(route, pages.blocks());
        byte[] page = new byte[FilePages.SIZE];
        for (int i = 0; i < count; i++) {
            int block = LittleEndian.getInt(numbers, i * Integer.BYTES);
            if (block < 0 || block >= blocks) {
                throw new IOException(
                        "an increment with block "
                                + Integer.toUnsignedString(block)
                                + " of "
                                + blocks);
            }
            body.readFully(page, FilePages.SIZE);
            if (pages.take(block)) {
                into.page(block, page);
            }
        }
        into.end();
    }
}
