package dev.walshadow.source;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.wal.BlockImage;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.WalRecord;

/**
 * The one column of pg_class rows that the filter looks at. Not thread safe.
 *
 * <pre>
 * pg_class, fixed part: 0 oid  4 relname (64)  68 relnamespace ... 104 relallvisible
 *   15-17: 108 reltoastrelid  112 relhasindex  113 relisshared  114 relpersistence
 *   18:    108 relallfrozen   112 reltoastrelid  116 relhasindex  117 relisshared
 *          118 relpersistence
 * </pre>
 *
 * Source: {@code src/include/catalog/pg_class.h}, PostgreSQL 15-18.
 */
final class ClassRow {
    private static final int PERSISTENCE_15 = 114;
    private static final int PERSISTENCE_18 = 118;

    private final int column;
    private final TupleView tuple = new TupleView();
    private final HeapPage heapPage = new HeapPage();
    private final BlockImage images = new BlockImage();
    private final byte[] page = new byte[HeapPage.SIZE];

    ClassRow(int majorVersion) {
        column = majorVersion >= 18 ? PERSISTENCE_18 : PERSISTENCE_15;
    }

    /** What an INSERT record says about relpersistence; permanent where it does not say. */
    long persistenceOfInsert(WalRecord record, int block) {
        try {
            if (find(record, block)
                    && tuple.dataOffset() + column < tuple.end()
                    && tuple.buffer()[tuple.dataOffset() + column] == 't') {
                return Catalogs.CLASS_INSERTED_TEMPORARY;
            }
        } catch (WalshadowException e) {
            // no tuple of a shape that could be read: unknown, so the boundary holds
            return Catalogs.CLASS_INSERTED_PERMANENT;
        }
        return Catalogs.CLASS_INSERTED_PERMANENT;
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
