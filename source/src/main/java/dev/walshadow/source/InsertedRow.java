package dev.walshadow.source;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.wal.BlockImage;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.WalRecord;

/**
 * The fixed part of a catalog's row, from the INSERT record that made it. Not thread safe; valid
 * until the next {@link #wrap}.
 */
final class InsertedRow {
    private final TupleView tuple = new TupleView();
    private final HeapPage heapPage = new HeapPage();
    private final BlockImage images = new BlockImage();
    private final byte[] page = new byte[HeapPage.SIZE];

    /** False where the record does not show the row's first {@code length} bytes. */
    boolean wrap(WalRecord record, int block, int length) {
        try {
            return find(record, block) && tuple.dataOffset() + length <= tuple.end();
        } catch (WalshadowException e) {
            return false; // no tuple of a shape that could be read: unknown
        }
    }

    int getInt(int offset) {
        return LittleEndian.getInt(tuple.buffer(), tuple.dataOffset() + offset);
    }

    byte getByte(int offset) {
        return tuple.buffer()[tuple.dataOffset() + offset];
    }

    /** Catalog rows come as block data, or inside the page image alone. */
    private boolean find(WalRecord record, int block) {
        if (record.hasData(block)) {
            tuple.wrapWal(record.buffer(), record.dataOffset(block), record.dataLength(block));
            return true;
        }
        if (!record.hasImage(block) || record.mainDataLength() < HeapRecordLayout.INSERT_LENGTH) {
            return false;
        }
        int offset =
                LittleEndian.getUnsignedShort(
                        record.buffer(), record.mainDataOffset() + HeapRecordLayout.INSERT_OFFNUM);
        images.restore(record, block, page);
        if (!heapPage.wrap(page, 0)
                || offset == 0
                || offset > heapPage.lineCount()
                || heapPage.lineFlags(offset) != HeapPage.LP_NORMAL) {
            return false;
        }
        heapPage.tuple(offset, tuple);
        return true;
    }
}
