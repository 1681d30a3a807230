package dev.walshadow.bootstrap.load;

import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.bootstrap.BootstrapCodes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps now and then how far a load is ({@link LoadCheckpoint}): rarely enough that it takes a
 * twentieth of the time at most, and only if pages were walked since. A thread of its own until
 * {@link #last} or {@link #close}.
 */
final class LoadCheckpoints {
    private static final Logger LOG = LoggerFactory.getLogger(LoadCheckpoints.class);
    private static final long LEAST_NANOS = 1_000_000_000L;
    private static final long SHARE = 20;

    /**
     * What the walkers had done at a moment.
     *
     * @param submitted the last of their rows; once it is durable in the target the rest holds
     * @param pages walked by then
     */
    record State(long submitted, long pages, LoadCheckpoint checkpoint) {}

    /** Stops the walkers for a moment; null if they have failed. */
    interface States {
        @Nullable State now() throws InterruptedException;
    }

    private final Path directory;
    private final long systemIdentifier;
    private final BaselineSink sink;
    private final States states;
    private final Runnable force;
    private final CountDownLatch ending = new CountDownLatch(1);
    private final Thread thread;
    private long pagesKept;

    /**
     * @param force makes durable what is in the spool files
     */
    LoadCheckpoints(
            Path directory,
            long systemIdentifier,
            BaselineSink sink,
            States states,
            Runnable force) {
        this.directory = directory;
        this.systemIdentifier = systemIdentifier;
        this.sink = sink;
        this.states = states;
        this.force = force;
        this.thread = Thread.ofPlatform().name("load-checkpoints").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            long pause = LEAST_NANOS;
            while (!ending.await(pause, TimeUnit.NANOSECONDS)) {
                long started = System.nanoTime();
                keep();
                pause = Math.max(LEAST_NANOS, SHARE * (System.nanoTime() - started));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closing
        } catch (WalshadowException e) {
            if (ending.getCount() > 0) {
                // whatever it is will show where the rows are delivered; the load goes on without
                LOG.warn("how far the initial load is cannot be kept: {}", e.getMessage());
            }
        }
    }

    private void keep() throws InterruptedException {
        State now = states.now();
        if (now == null || now.pages() == pagesKept) {
            return;
        }
        force.run();
        if (now.submitted() > 0) {
            sink.await(now.submitted());
        }
        try {
            now.checkpoint().write(directory, systemIdentifier);
        } catch (IOException e) {
            throw new RetryException(
                    BootstrapCodes.SPOOL,
                    "the initial load's progress cannot be written to "
                            + directory
                            + ": "
                            + e
                            + "; make room in the state directory",
                    e);
        }
        pagesKept = now.pages();
    }

    /** Everything has been walked: keeps that, and no more after it. */
    void last() throws InterruptedException {
        ending.countDown();
        thread.join();
        keep();
    }

    /** Ends it. */
    void close() {
        ending.countDown();
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** No later process is to go on with this load. */
    void remove() {
        try {
            LoadCheckpoint.remove(directory);
        } catch (IOException e) {
            LOG.debug("a checkpoint stays", e);
        }
    }
}
