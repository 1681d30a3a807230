package dev.walshadow.source.store;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.RetryException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.UpstreamWal;
import dev.walshadow.source.WalChunk;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows a WAL archive without its source: gives whole segments as they appear, and asks again
 * where there is none yet. Goes on with a descendant timeline whose history is there and that has
 * everything that was received.
 *
 * <p>{@link #start}, {@link #next} and {@link #detachBuffer} belong to one thread at a time, the
 * rest is thread safe.
 */
public final class ArchivedWalSource implements UpstreamWal {
    private static final Logger LOG = LoggerFactory.getLogger(ArchivedWalSource.class);
    private static final byte[] NOTHING = {};
    private static final long POLL_NANOS = 1_000_000_000L;
    private static final long RETRY_CEILING_MILLIS = 30_000;

    private final SegmentReader archive;
    private final long reached;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
    private volatile int timeline;
    private volatile long position;
    private boolean started;
    private long nextPoll;
    private @Nullable TimelineHistory history;
    private volatile boolean readable;
    private volatile long limit = Long.MAX_VALUE;
    private boolean leftTold;

    /** Grows with each question for a segment. */
    private final AtomicLong questions = new AtomicLong();

    /** The newest question that found nothing. */
    private volatile long answeredEmpty;

    /**
     * @param archive closed by its owner
     * @param reached what an earlier run has received, of the timeline that {@link #start} is told
     */
    public ArchivedWalSource(SegmentReader archive, long reached) {
        this.archive = archive;
        this.reached = reached;
    }

    @Override
    public void start(int timeline, long lsn) {
        Invariant.check(!started, "a WAL source is started once");
        started = true;
        this.timeline = timeline;
        position = lsn;
        nextPoll = System.nanoTime();
        LOG.info("following the archive {} from {}", archive.address(), Lsn.format(lsn));
    }

    @Override
    public boolean next(WalChunk into) throws InterruptedException {
        Invariant.check(started, "the source has been started");
        if (System.nanoTime() - nextPoll >= 0 && position < limit) {
            try {
                if (read(into)) {
                    return !isClosed();
                }
                nextPoll = System.nanoTime() + POLL_NANOS;
            } catch (RetryException e) {
                readable = false;
                LOG.warn("the archive cannot be read now: {}; trying again", e.getMessage());
                nextPoll =
                        System.nanoTime()
                                + TimeUnit.MILLISECONDS.toNanos(backoff.nextDelayMillis());
            }
        }
        boolean ends = closed.await(IDLE_MILLIS, TimeUnit.MILLISECONDS);
        into.set(NOTHING, 0, 0, position, position);
        return !ends;
    }

    private boolean read(WalChunk into) {
        long end = limit;
        long question = questions.incrementAndGet();
        if (!archive.isWithin(position)) {
            TimelineHistory found = archive.newest(timeline, Math.max(position, reached));
            if (found != null) {
                follow(found);
            }
        }
        TimelineHistory known = history;
        int name = known == null ? timeline : archive.nameOf(known, position);
        boolean there = archive.next(name, position, position, into);
        readable = true;
        backoff.reset();
        if (!there) {
            answeredEmpty = question;
            tellLeft();
            return false;
        }
        if (into.endLsn() > end) {
            int count = (int) (end - position);
            into.set(into.buffer(), into.offset(), count, position, position);
        }
        position = into.endLsn();
        if (known != null && position >= reached) {
            timeline = known.timelineOf(position);
        }
        return true;
    }

    /** Whoever was promoted without all of what was received: nothing follows here any more. */
    private void tellLeft() {
        long received = Math.max(position, reached);
        OptionalLong end = archive.end(timeline);
        if (end.isPresent() && end.getAsLong() < received && !leftTold) {
            leftTold = true;
            LOG.warn(
                    "the archive has a timeline that left timeline {} at {}, but WAL up to {}"
                            + " was received: it is not followed",
                    Integer.toUnsignedString(timeline),
                    Lsn.format(end.getAsLong()),
                    Lsn.format(received));
        }
    }

    private void follow(TimelineHistory found) {
        TimelineHistory known = history;
        if (known != null && known.timeline() == found.timeline()) {
            return;
        }
        OptionalLong end = found.endOf(timeline);
        LOG.info(
                "the archive has timeline {}, which begins at {}",
                Integer.toUnsignedString(found.timeline()),
                Lsn.format(end.orElse(position)));
        history = found;
    }

    /** Gives nothing from here on, until another position is told. Any thread. */
    public void holdAt(long lsn) {
        limit = lsn;
    }

    /**
     * Waits until the archive had no more when it was asked, after this call began.
     *
     * @return the position up to which it has everything; -1 after the deadline
     */
    public long awaitEnd(long deadlineNanos) throws InterruptedException {
        long question = questions.get();
        while (answeredEmpty <= question) {
            if (deadlineNanos - System.nanoTime() <= 0
                    || closed.await(IDLE_MILLIS, TimeUnit.MILLISECONDS)) {
                return -1;
            }
        }
        return position;
    }

    @Override
    public int timeline() {
        return timeline;
    }

    @Override
    public long serverEnd() {
        return position;
    }

    @Override
    public boolean isConnected() {
        return readable;
    }

    @Override
    public void detachBuffer() {
        archive.detachBuffer();
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
