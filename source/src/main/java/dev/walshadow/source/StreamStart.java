package dev.walshadow.source;

import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.XLogLayout;

/**
 * Leads the bytes of the first segment that precede the stream's first record to the shadow: page
 * headers are checked and kept, the rest passes or becomes the end of a rewritten record ({@link
 * StreamSnapshot}). Single-threaded.
 */
final class StreamStart {
    private final WalPages pages;
    private final StreamSnapshot.Tail tail;
    private final long end;
    private long position;

    /**
     * Bytes of the tail's record before {@link #position}; only up to the head's length matters.
     */
    private int done;

    StreamStart(StreamSnapshot snapshot) {
        pages = snapshot.pages();
        tail = snapshot.tail();
        end = snapshot.firstRecord();
        position = snapshot.segmentStart();
        if (tail.isRewritten()) {
            countBefore();
        }
    }

    private void countBefore() {
        long at = tail.start();
        while (at < position && done < tail.head().length) {
            int inPage = XLogLayout.offsetInPage(at);
            if (inPage == 0) {
                at += pages.headerLength(at);
            } else {
                long count = Math.min(position - at, XLogLayout.PAGE_SIZE - inPage);
                done += (int) count;
                at += count;
            }
        }
    }

    boolean isOver() {
        return position >= end;
    }

    /** Goes on to what has been received. */
    void advance(SegmentWindow window, long received) {
        while (position < Math.min(received, end)) {
            int inPage = XLogLayout.offsetInPage(position);
            if (inPage == 0) {
                int header = pages.headerLength(position);
                if (received - position < header) {
                    return;
                }
                pages.check(window.buffer(position), window.offset(position), position);
                position += header;
                continue;
            }
            int count =
                    (int)
                            Math.min(
                                    Math.min(received, end) - position,
                                    XLogLayout.PAGE_SIZE - inPage);
            if (tail.isRewritten()) {
                window.rewrite(position, tail.head(), tail.head().length, done, done + count);
                done = Math.min(done + count, tail.head().length);
            }
            position += count;
        }
    }
}
