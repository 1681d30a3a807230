package dev.walshadow.bootstrap.walg;

import org.roaringbitmap.RoaringBitmap;

/** Which pages of a file were taken from newer backups. */
final class FilePages {
    static final int SIZE = 8192;

    private final RoaringBitmap taken = new RoaringBitmap();
    private int blocks = -1;

    /** Nothing is known of it: no newer backup has a part of it. */
    boolean isEmpty() {
        return blocks < 0;
    }

    /** The length that the newest backup says counts, of the file. */
    void blocks(int count) {
        if (blocks < 0) {
            blocks = count;
        }
    }

    int blocks() {
        return Math.max(0, blocks);
    }

    /** Whether this backup's page is the one: no newer backup has it, and it is not cut off. */
    boolean take(int block) {
        return block < blocks && taken.checkedAdd(block);
    }
}
