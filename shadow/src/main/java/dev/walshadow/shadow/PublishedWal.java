package dev.walshadow.shadow;

import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The filtered WAL as far as it is published: what is not in the archive yet lies here in memory,
 * one array per unfinished segment. One writer, the WAL pump, which never waits for readers; any
 * number of reading connections.
 *
 * <p>The pump copies bytes into the newest segment and then moves {@link #publishedLsn} (a volatile
 * write), so a reader that stays below that position needs no lock for the bytes. Arrays are reused
 * when neither the stream nor a reader holds them.
 */
final class PublishedWal {
    /** XLOG_BLCKSZ; positions inside segments and absolute ones agree modulo this. */
    static final int PAGE_SIZE = 8192;

    private static final int SPARE_SEGMENTS = 2;

    private final int timeline;
    private final int segmentSize;
    private final Path archiveDirectory;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Segment> segments = new ArrayDeque<>();
    private final Deque<byte[]> spare = new ArrayDeque<>();
    private volatile long publishedLsn;
    private final AtomicInteger waiting = new AtomicInteger();

    /** Guarded by {@link #lock}, but for the bytes below the published position. */
    private static final class Segment {
        final long startLsn;
        final byte[] bytes;
        int readers;
        boolean dropped;

        Segment(long startLsn, byte[] bytes) {
            this.startLsn = startLsn;
            this.bytes = bytes;
        }
    }

    PublishedWal(int timeline, int segmentSize, long startLsn, Path archiveDirectory) {
        Invariant.check(
                (startLsn & (segmentSize - 1)) == 0, "published WAL starts at a segment's start");
        this.timeline = timeline;
        this.segmentSize = segmentSize;
        this.publishedLsn = startLsn;
        this.archiveDirectory = archiveDirectory;
    }

    long publishedLsn() {
        return publishedLsn;
    }

    /** Pump thread. */
    void append(long startLsn, byte[] bytes, int offset, int length) {
        Invariant.check(startLsn == publishedLsn, "published WAL has no gap");
        long lsn = startLsn;
        int from = offset;
        int left = length;
        while (left > 0) {
            int inSegment = (int) (lsn & (segmentSize - 1));
            int count = Math.min(left, segmentSize - inSegment);
            System.arraycopy(bytes, from, newest(lsn - inSegment).bytes, inSegment, count);
            lsn += count;
            from += count;
            left -= count;
        }
        publishedLsn = lsn;
        if (waiting.get() != 0) {
            wake();
        }
    }

    /** Pump thread: the segment can be read from the archive from now on. */
    void drop(long segmentStartLsn) {
        lock.lock();
        try {
            for (Segment segment : segments) {
                if (segment.startLsn == segmentStartLsn) {
                    segments.remove(segment);
                    segment.dropped = true;
                    recycle(segment);
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private Segment newest(long segmentStartLsn) {
        Segment last = segments.peekLast();
        if (last != null && last.startLsn == segmentStartLsn) {
            return last;
        }
        lock.lock();
        try {
            byte[] bytes = spare.poll();
            Segment next =
                    new Segment(segmentStartLsn, bytes != null ? bytes : new byte[segmentSize]);
            segments.add(next);
            return next;
        } finally {
            lock.unlock();
        }
    }

    private void recycle(Segment segment) {
        if (segment.dropped && segment.readers == 0 && spare.size() < SPARE_SEGMENTS) {
            spare.add(segment.bytes);
        }
    }

    /** Lets every waiting reader look again. */
    void wake() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** What a waiting reader waits for besides new bytes; evaluated under the lock. */
    interface Wanted {
        boolean now();
    }

    /** Waits until bytes beyond {@code lsn} are published, {@code or} holds, or time is up. */
    void await(long lsn, Wanted or, long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            waiting.incrementAndGet();
            long left = nanos;
            while (publishedLsn <= lsn && !or.now() && left > 0) {
                left = changed.awaitNanos(left);
            }
        } finally {
            waiting.decrementAndGet();
            lock.unlock();
        }
    }

    /** One reading position; holds an archive file open while it reads from it. One thread. */
    final class Cursor implements AutoCloseable {
        private @Nullable FileChannel archived;
        private long archivedStart;
        private long lsn;

        Cursor(long lsn) {
            this.lsn = lsn;
        }

        long lsn() {
            return lsn;
        }

        /**
         * Copies published bytes from the cursor's position and moves it. What it copies ends at
         * the published position (a record's or a page's end) or at an earlier page's end; never
         * beyond a segment.
         *
         * @param max at least two pages
         * @return the number of bytes, 0 when nothing more is published
         * @throws NoSuchFileException when the segment is not in the archive any more
         */
        int read(byte[] target, int offset, int max) throws IOException {
            long published = publishedLsn;
            if (lsn >= published) {
                return 0;
            }
            long segmentStart = lsn & -(long) segmentSize;
            long end = Math.min(published, Math.min(segmentStart + segmentSize, lsn + max));
            if (end != published) {
                end &= -(long) PAGE_SIZE;
            }
            int count = (int) (end - lsn);
            int inSegment = (int) (lsn - segmentStart);
            if (!readBuffered(segmentStart, inSegment, target, offset, count)) {
                readArchived(segmentStart, inSegment, ByteBuffer.wrap(target, offset, count));
            }
            lsn = end;
            return count;
        }

        private boolean readBuffered(
                long segmentStart, int inSegment, byte[] target, int offset, int count) {
            Segment segment = acquire(segmentStart);
            if (segment == null) {
                return false;
            }
            System.arraycopy(segment.bytes, inSegment, target, offset, count);
            lock.lock();
            try {
                segment.readers--;
                recycle(segment);
            } finally {
                lock.unlock();
            }
            return true;
        }

        private @Nullable Segment acquire(long segmentStart) {
            lock.lock();
            try {
                for (Segment segment : segments) {
                    if (segment.startLsn == segmentStart) {
                        segment.readers++;
                        return segment;
                    }
                }
                return null;
            } finally {
                lock.unlock();
            }
        }

        private void readArchived(long segmentStart, int inSegment, ByteBuffer target)
                throws IOException {
            FileChannel file = archived;
            if (file == null || archivedStart != segmentStart) {
                close();
                String name = Lsn.segmentFileName(timeline, segmentStart, segmentSize);
                file = FileChannel.open(archiveDirectory.resolve(name), StandardOpenOption.READ);
                archived = file;
                archivedStart = segmentStart;
            }
            int start = target.position();
            while (target.hasRemaining()) {
                if (file.read(target, (long) inSegment + target.position() - start) < 0) {
                    throw new IOException(
                            "expected "
                                    + segmentSize
                                    + " bytes, found "
                                    + file.size()
                                    + " in the archived segment "
                                    + Lsn.segmentFileName(timeline, segmentStart, segmentSize));
                }
            }
        }

        @Override
        public void close() throws IOException {
            if (archived != null) {
                archived.close();
                archived = null;
            }
        }
    }
}
