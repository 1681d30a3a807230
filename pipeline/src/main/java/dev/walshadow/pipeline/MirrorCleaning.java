package dev.walshadow.pipeline;

import dev.walshadow.base.WalshadowException;
import org.jspecify.annotations.Nullable;

/**
 * Where the copies are not kept, drops those of an earlier run: they would lack what comes now.
 * Else removes chunks from {@link ChunkMirror} that nobody can ask for any more, from the tables
 * that have doubled since. What fails is tried again in the next round.
 */
final class MirrorCleaning implements AutoCloseable {
    private static final long EVERY_MILLIS = 10_000;

    private final Services services;
    private final @Nullable ChunkMirror mirror;
    private final TargetNames names;
    private final Thread thread;
    private volatile long position;

    /**
     * @param position no commit up to it comes again
     */
    MirrorCleaning(Services services, TargetNames names, long position) {
        this.names = names;
        this.services = services;
        this.mirror = services.mirror();
        this.position = position;
        this.thread = Thread.ofVirtual().name("toast-cleaning").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    void mayClean(long newPosition) {
        position = newPosition;
    }

    private void run() {
        try {
            ChunkMirror chunks = mirror;
            if (chunks == null) {
                while (!asked(() -> ChunkMirror.dropAll(services.client(), names))) {
                    Thread.sleep(EVERY_MILLIS);
                }
                return;
            }
            while (true) {
                Thread.sleep(EVERY_MILLIS);
                for (TargetTable table : chunks.grown()) {
                    asked(() -> chunks.clean(table, position));
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closing
        } catch (Throwable e) {
            services.fatal().raise(e);
        }
    }

    /** False if ClickHouse did not answer success. */
    private boolean asked(Runnable question) throws InterruptedException {
        services.gate().enter();
        long started = System.nanoTime();
        try {
            question.run();
            return true;
        } catch (WalshadowException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            services.reachability().failed("copies of TOAST relations", e, started);
            return false;
        } finally {
            services.gate().leave();
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    void awaitStopped() throws InterruptedException {
        thread.join();
    }
}
