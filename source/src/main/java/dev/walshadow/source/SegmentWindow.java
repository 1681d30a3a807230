package dev.walshadow.source;

import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.XLogLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The WAL bytes in hand: the segment being received, and before it those whose last record is not
 * complete yet (one as a rule, more only under a record that is larger than a segment). Buffers are
 * reused. Single-threaded.
 */
final class SegmentWindow {
    /** Two segments are in hand while a record crosses from one to the next. */
    private static final int SPARES = 2;

    private final WalPages pages;
    private final int segmentSize;
    private final int shift;
    private final List<byte[]> held = new ArrayList<>();
    private final List<byte[]> spares = new ArrayList<>();
    private long start;

    SegmentWindow(WalPages pages, long start) {
        this.pages = pages;
        this.segmentSize = pages.segmentSize();
        this.shift = Integer.numberOfTrailingZeros(segmentSize);
        this.start = start;
    }

    /** Position of the first byte held. */
    long start() {
        return start;
    }

    boolean isEmpty() {
        return held.isEmpty();
    }

    /** The oldest segment. */
    byte[] first() {
        return held.getFirst();
    }

    long firstEnd() {
        return start + segmentSize;
    }

    void dropFirst() {
        byte[] free = held.removeFirst();
        if (spares.size() < SPARES) {
            spares.add(free);
        }
        start += segmentSize;
    }

    byte[] buffer(long lsn) {
        return held.get((int) ((lsn - start) >>> shift));
    }

    int offset(long lsn) {
        return (int) lsn & (segmentSize - 1);
    }

    /** Appends bytes at {@code lsn}, which end with the segment at the latest. */
    void append(long lsn, byte[] bytes, int from, int count) {
        int index = (int) ((lsn - start) >>> shift);
        if (index == held.size()) {
            held.add(spares.isEmpty() ? new byte[segmentSize] : spares.removeLast());
        }
        Invariant.check(
                index == held.size() - 1 && count <= segmentSize - offset(lsn),
                "bytes are appended to the last segment");
        System.arraycopy(bytes, from, held.get(index), offset(lsn), count);
    }

    /** Copies the raw bytes of [lsn, lsn + count), which lie in one page. */
    void copy(long lsn, int count, byte[] target, int at) {
        System.arraycopy(buffer(lsn), offset(lsn), target, at, count);
    }

    /**
     * Overwrites the record bytes that start at {@code lsn}, page headers skipped: {@code head}
     * from {@code done} on, then zeros, {@code total} bytes in all counted from {@code done}.
     */
    void rewrite(long lsn, byte[] head, int headLength, int done, int total) {
        long at = lsn;
        int written = done;
        while (written < total) {
            int inPage = XLogLayout.offsetInPage(at);
            if (inPage == 0) {
                at += pages.headerLength(at);
                continue;
            }
            int count = Math.min(total - written, XLogLayout.PAGE_SIZE - inPage);
            fill(buffer(at), offset(at), head, headLength, written, count);
            written += count;
            at += count;
        }
    }

    private static void fill(
            byte[] target, int at, byte[] head, int headLength, int done, int count) {
        int fromHead = Math.clamp((long) headLength - done, 0, count);
        System.arraycopy(head, Math.min(done, headLength), target, at, fromHead);
        Arrays.fill(target, at + fromHead, at + count, (byte) 0);
    }
}
