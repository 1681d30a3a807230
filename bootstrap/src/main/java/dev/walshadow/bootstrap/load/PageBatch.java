package dev.walshadow.bootstrap.load;

import dev.walshadow.postgres.heap.HeapPage;
import org.jspecify.annotations.Nullable;

/** Consecutive pages of one relation on their way from the tar reader to a walker. */
final class PageBatch {
    static final int PAGES = 64;
    static final int BYTES = PAGES * HeapPage.SIZE;

    final byte[] bytes = new byte[BYTES];
    int length;
    int firstBlock;
    @Nullable LoadedRelation relation;
}
