package dev.walshadow.bootstrap.load;

import dev.walshadow.postgres.heap.HeapPage;
import org.jspecify.annotations.Nullable;

/**
 * Pages on their way to a walker: consecutive ones of one relation's file from the tar reader, or
 * images of any blocks from the WAL.
 */
final class PageBatch {
    static final int PAGES = 64;
    static final int BYTES = PAGES * HeapPage.SIZE;

    final byte[] bytes = new byte[BYTES];
    int length;

    /** Of pages of the backup: when the last of them had arrived. */
    long arrivedNanos;

    private final @Nullable LoadedRelation[] relations = new @Nullable LoadedRelation[PAGES];
    private final int[] blocks = new int[PAGES];
    private final long[] lsns = new long[PAGES];

    void clear() {
        length = 0;
    }

    int pages() {
        return length / HeapPage.SIZE;
    }

    boolean hasRoom() {
        return length < BYTES;
    }

    /** Makes the bytes that are, or will be, here pages of the backup. */
    void ofFile(LoadedRelation relation, int firstBlock) {
        for (int i = 0; i < PAGES; i++) {
            relations[i] = relation;
            blocks[i] = firstBlock + i;
            lsns[i] = 0;
        }
    }

    /** Takes the page behind {@link #length} for an image of the record at {@code lsn}. */
    void addImage(LoadedRelation relation, int block, long lsn) {
        int i = pages();
        relations[i] = relation;
        blocks[i] = block;
        lsns[i] = lsn;
        length += HeapPage.SIZE;
    }

    LoadedRelation relation(int page) {
        LoadedRelation relation = relations[page];
        if (relation == null) {
            throw new IllegalStateException("a page belongs to a relation");
        }
        return relation;
    }

    int block(int page) {
        return blocks[page];
    }

    /** The record that the image came with; 0 for a page of the backup. */
    long imageLsn(int page) {
        return lsns[page];
    }
}
