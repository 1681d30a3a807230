package dev.walshadow.daemon.replication;

import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.pipeline.Watermark;
import dev.walshadow.source.replication.StandbyStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.IntSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes progress durable: the manifest first, then the position told to the source (I5, I6). Used
 * by the WAL pump alone, between records, so that no transaction is on its way from the buffer to
 * the pipeline while the floor is computed.
 */
final class ProgressKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(ProgressKeeper.class);
    private static final long INTERVAL_NANOS = 500_000_000L;

    private final Path file;
    private final StandbyStatus status;
    private final LongConsumer floorKept;
    private final LongSupplier shapesPosition;
    private final IntSupplier sourceTimeline;
    private Beside beside = () -> {};
    private Manifest manifest;
    private long nextWrite;

    /**
     * @param floorKept told the resume floor when it is durable
     * @param shapesPosition of the newest capture in the descriptor log
     * @param sourceTimeline of the WAL received last
     */
    ProgressKeeper(
            Path file,
            StandbyStatus status,
            Manifest manifest,
            LongConsumer floorKept,
            LongSupplier shapesPosition,
            IntSupplier sourceTimeline) {
        this.file = file;
        this.shapesPosition = shapesPosition;
        this.sourceTimeline = sourceTimeline;
        this.status = status;
        this.floorKept = floorKept;
        this.manifest = manifest;
    }

    /** Another file, which has to be as new as the manifest. */
    interface Beside {
        void write() throws IOException;
    }

    /** Written first from now on. */
    void keepBeside(Beside other) {
        beside = other;
    }

    Manifest manifest() {
        return manifest;
    }

    /**
     * @param handedOn end of the last record that the pump handed on
     * @param bufferFloor least first LSN of the transactions in the buffer, or {@code handedOn}
     * @param shadowApplied what the shadow has replayed, 0 if it has not reported yet
     */
    void keep(long handedOn, long bufferFloor, Watermark watermark, long shadowApplied) {
        long now = System.nanoTime();
        if (now - nextWrite < 0) {
            return;
        }
        nextWrite = now + INTERVAL_NANOS;
        keepNow(handedOn, bufferFloor, watermark, shadowApplied);
    }

    void keepNow(long handedOn, long bufferFloor, Watermark watermark, long shadowApplied) {
        long floor = Math.min(bufferFloor, Math.min(watermark.pendingFloor(), handedOn));
        floor = Math.max(floor, manifest.resumeFloor());
        Manifest next =
                new Manifest(
                        manifest.systemIdentifier(),
                        manifest.timeline(),
                        sourceTimeline.getAsInt(),
                        manifest.segmentSize(),
                        manifest.bootstrapStart(),
                        floor,
                        Math.max(watermark.durableLsn(), manifest.durablePosition()),
                        handedOn,
                        shapesPosition.getAsLong());
        if (!next.equals(manifest)) {
            try {
                beside.write();
                next.write(file);
            } catch (IOException e) {
                LOG.warn(
                        "{} the manifest {}, or what is beside it, cannot be written ({}); progress"
                                + " is not told to the source until it can; free space in the state"
                                + " directory",
                        DaemonCodes.STATE_UNUSABLE,
                        file,
                        e.toString());
                return;
            }
            manifest = next;
        }
        floorKept.accept(floor);
        status.advanceWrite(handedOn);
        status.advanceApply(manifest.durablePosition());
        if (shadowApplied > 0) {
            status.advanceFlush(Math.min(floor, shadowApplied));
        }
    }
}
