package dev.walshadow.testkit.shadow;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.shadow.WalSender;
import dev.walshadow.source.RecordSink;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalStream;
import dev.walshadow.source.WireSink;
import dev.walshadow.source.replication.ConnectionSettings;
import dev.walshadow.source.replication.HostAddress;
import dev.walshadow.source.replication.LiveWalSource;
import dev.walshadow.source.replication.StandbyStatus;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** The WAL pump of a {@link ShadowRig}: source to stream, with work squeezed in between pushes. */
public final class StreamPump implements AutoCloseable {
    /** Work on the pump's thread while nothing is published. */
    @FunctionalInterface
    public interface Parked<T> {
        /**
         * @param lsn everything up to here is published, nothing behind it
         */
        T run(long lsn) throws InterruptedException;
    }

    private final LiveWalSource source;
    private final WalStream stream;
    private final StandbyStatus status = new StandbyStatus();
    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Thread thread;
    private volatile long recordEnd;
    private volatile long segmentStart;
    private volatile boolean closed;
    private volatile @Nullable Throwable failure;

    StreamPump(
            ConnectionSettings settings,
            String slot,
            StreamSnapshot from,
            SegmentArchive archive,
            WalSender sender,
            LongConsumer invalidations,
            RecordSink records)
            throws InterruptedException {
        segmentStart = from.segmentStart();
        source =
                new LiveWalSource(
                        new LiveWalSource.Options(
                                settings, slot, false, from.pages().systemIdentifier()),
                        status,
                        new Quiet());
        stream =
                new WalStream(
                        from,
                        from.firstRecord(),
                        new Wire(sender, invalidations),
                        records,
                        (start, segment, length, next) -> {
                            archive.segmentComplete(start, segment, length, next);
                            sender.segmentComplete(start);
                            segmentStart = next.segmentStart();
                        });
        thread =
                Thread.ofPlatform()
                        .daemon()
                        .name("rig-pump")
                        .start(() -> run(from.pages().timeline(), from.segmentStart()));
    }

    private record Wire(WalSender sender, LongConsumer invalidations) implements WireSink {
        @Override
        public void publish(long startLsn, byte[] bytes, int offset, int length) {
            sender.publish(startLsn, bytes, offset, length);
        }

        @Override
        public void invalidates(long messages) {
            invalidations.accept(messages);
        }
    }

    private static final class Quiet implements LiveWalSource.Listener {
        @Override
        public void connected(HostAddress host, long position) {}

        @Override
        public void lost(WalshadowException reason) {}
    }

    private void run(int timeline, long lsn) {
        WalChunk chunk = new WalChunk();
        try {
            source.start(timeline, lsn);
            while (!closed && source.next(chunk)) {
                if (chunk.length() > 0) {
                    stream.push(chunk.startLsn(), chunk.buffer(), chunk.offset(), chunk.length());
                }
                recordEnd = stream.lastRecordEnd();
                status.advanceWrite(recordEnd);
                status.advanceFlush(segmentStart);
                status.advanceApply(segmentStart);
                for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                    task.run();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Throwable e) {
            failure = e;
        }
    }

    /** Where a stream may be resumed: the start of the segment that is not archived yet. */
    long resumeFloor() {
        return segmentStart;
    }

    public long lastRecordEnd() {
        return recordEnd;
    }

    /** Waits until all records that end at or before {@code lsn} have been handed on. */
    void awaitRecordsUpTo(long lsn) throws InterruptedException {
        while (recordEnd < lsn) {
            parked(position -> position);
        }
    }

    /** Runs the work on the pump's thread, between two pushes. */
    <T> T parked(Parked<T> work) throws InterruptedException {
        FutureTask<T> task = new FutureTask<>(() -> work.run(stream.lastRecordEnd()));
        tasks.add(task);
        while (true) {
            if (failure != null) {
                throw new IllegalStateException("the pump failed", failure);
            }
            if (!thread.isAlive()) {
                throw new IllegalStateException("the pump has ended");
            }
            try {
                return task.get(100, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                // look at the thread again
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        source.close();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (failure != null) {
            throw new IllegalStateException("the pump failed", failure);
        }
    }
}
