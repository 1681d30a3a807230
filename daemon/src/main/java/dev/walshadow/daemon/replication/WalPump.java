package dev.walshadow.daemon.replication;

import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import dev.walshadow.shadow.WalSender;
import dev.walshadow.source.CatalogBoundary;
import dev.walshadow.source.Decision;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalSource;
import dev.walshadow.source.WalStream;
import dev.walshadow.transaction.TransactionBuffer;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The thread that everything about the WAL happens on: receive, filter, publish, hold, buffer,
 * commit, keep progress. The one writer of the stream, the buffer, the descriptor log, the archive
 * and the manifest.
 */
final class WalPump implements Runnable {
    /** What the pump does between chunks: the hand-off of the initial load, for one. */
    interface Between {
        /**
         * @param position the end of the last record that was handed on
         * @param readTo no record that ends at or before it is still to come
         */
        void atRecordEnd(long position, long readTo) throws InterruptedException;
    }

    /** Something that only the pump may do, between records. */
    interface Errand {
        void run(long handedOn) throws InterruptedException;
    }

    /** Who else wants to see the records, before they are buffered. */
    interface Observer {
        void onRecord(WalRecord record) throws InterruptedException;
    }

    private static final long TIDYING_NANOS = 10_000_000_000L;

    private final WalSource source;
    private final int timeline;
    private final long start;
    private final TransactionBuffer buffer;
    private final Pipeline pipeline;
    private final ProgressKeeper progress;
    private final WalSender sender;
    private final RecentCommits commits;
    private final Queue<Errand> errands = new ConcurrentLinkedQueue<>();
    private final WalChunk chunk = new WalChunk();

    private @Nullable WalStream stream;
    private @Nullable CatalogCapture capture;
    private @Nullable Sequences sequences;
    private @Nullable Observer observer;
    private @Nullable Between between;
    private LongSupplier extraFloor = () -> Long.MAX_VALUE;
    private Runnable tidying = () -> {};
    private long nextTidying = System.nanoTime();
    private boolean keepsProgress;
    private volatile @Nullable Throwable failure;

    /** The last record seen is the checkpoint of a shutdown. */
    private boolean shutdown;

    private long resumable;
    private volatile long received;
    private volatile long handedOn;
    private final LongAdder walBytes = new LongAdder();

    WalPump(
            WalSource source,
            int timeline,
            long start,
            TransactionBuffer buffer,
            Pipeline pipeline,
            ProgressKeeper progress,
            WalSender sender,
            RecentCommits commits) {
        this.source = source;
        this.timeline = timeline;
        this.start = start;
        this.buffer = buffer;
        this.pipeline = pipeline;
        this.progress = progress;
        this.sender = sender;
        this.commits = commits;
    }

    /** Before the thread starts. */
    void use(WalStream newStream) {
        stream = newStream;
        newStream.use(
                (database, relation) -> capture == null || capture.mayHave(database, relation));
    }

    /** From now on commits that change catalogs hold. Before the start, or on the pump. */
    void holdWith(CatalogCapture newCapture) {
        capture = newCapture;
    }

    /** Whether the shadow's catalogs can be read where the stream is. On the pump, between. */
    boolean isReadable() {
        return stream != null && stream.isReadable();
    }

    /** Before the start. */
    void watch(Sequences newSequences) {
        sequences = newSequences;
    }

    /** Before the start, or on the pump; null ends it. */
    void observe(@Nullable Observer newObserver, @Nullable Between newBetween) {
        observer = newObserver;
        between = newBetween;
    }

    /** From now on progress is durable and told to the source. Before the start, or on the pump. */
    void keepProgress() {
        keepsProgress = true;
    }

    /** The same, and writes the first manifest at once. On the pump, between records. */
    void keepProgressNow() {
        keepProgress();
        progress.keepNow(handedOn, floor(), pipeline.watermark(), sender.appliedLsn());
        pipeline.progressKept(progress.manifest().durablePosition());
    }

    /** The resume floor stays at or below what this says. Before the start, or on the pump. */
    void holdFloorAt(LongSupplier newFloor) {
        extraFloor = newFloor;
    }

    /** The first load is done. */
    boolean keepsProgress() {
        return keepsProgress;
    }

    /** Called now and then while progress is kept, on the pump. Before the start. */
    void tidyWith(Runnable newTidying) {
        tidying = newTidying;
    }

    /** Has the pump do something soon; an errand may ask for itself again. Any thread. */
    void ask(Errand errand) {
        errands.add(errand);
    }

    /** Ends the pump with this cause. Any thread. */
    void fail(Throwable cause) {
        failure = cause;
        source.close();
    }

    private void tidy() {
        long now = System.nanoTime();
        if (now - nextTidying >= 0) {
            nextTidying = now + TIDYING_NANOS;
            tidying.run();
        }
    }

    private long floor() {
        return Math.min(
                buffer.resumeFloor(resumable),
                Math.min(extraFloor.getAsLong(), pipeline.markerFloor()));
    }

    long received() {
        return received;
    }

    long handedOn() {
        return handedOn;
    }

    /** WAL received by this process. */
    long walBytes() {
        return walBytes.sum();
    }

    /** The record sink of the stream. */
    void onRecord(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary)
            throws InterruptedException {
        shutdown =
                record.resourceManager() == ResourceManager.XLOG
                        && (record.info() & XLogLayout.XLR_RMGR_INFO_MASK)
                                == XLogLayout.XLOG_CHECKPOINT_SHUTDOWN;
        // first: what others make of a commit counts as known to loads
        commits.onRecord(record);
        if (sequences != null) {
            sequences.onRecord(record);
        }
        if (observer != null) {
            observer.onRecord(record);
        }
        if (boundary != null && capture != null) {
            capture.hold(boundary);
        }
        buffer.onRecord(record);
    }

    @Override
    public void run() {
        try {
            pump();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void pump() throws InterruptedException {
        WalStream into = Objects.requireNonNull(stream, "a stream to pump into");
        source.start(timeline, start);
        while (!Thread.currentThread().isInterrupted() && source.next(chunk)) {
            if (chunk.length() > 0) {
                into.push(chunk.startLsn(), chunk.buffer(), chunk.offset(), chunk.length());
                walBytes.add(chunk.length());
            }
            received = into.nextLsn();
            handedOn = into.lastRecordEnd();
            resumable = into.resumableTo();
            if (shutdown && chunk.serverEnd() <= received) {
                shutdown = false;
                source.serverStops();
            }
            if (between != null) {
                between.atRecordEnd(handedOn, into.readTo());
            }
            for (int left = errands.size(); left > 0; left--) {
                Objects.requireNonNull(errands.poll()).run(handedOn);
            }
            pipeline.advance(handedOn);
            if (keepsProgress) {
                progress.keep(handedOn, floor(), pipeline.watermark(), sender.appliedLsn());
                pipeline.progressKept(progress.manifest().durablePosition());
                tidy();
            }
        }
        switch (failure) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }
}
