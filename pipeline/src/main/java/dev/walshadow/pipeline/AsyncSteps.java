package dev.walshadow.pipeline;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Waiting for ClickHouse beside the workers: virtual threads that end with the pipeline. */
final class AsyncSteps implements AutoCloseable {
    /** May wait. */
    interface Step {
        void run() throws InterruptedException;
    }

    private final FatalFailure fatal;
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    AsyncSteps(FatalFailure fatal) {
        this.fatal = fatal;
    }

    void run(String name, Step step) {
        Thread thread =
                Thread.ofVirtual()
                        .name(name)
                        .unstarted(() -> {
                            try {
                                if (!closed) {
                                    step.run();
                                }
                            } catch (InterruptedException e) {
                                Thread.currentThread().interrupt(); // closing
                            } catch (Throwable e) {
                                fatal.raise(e);
                            } finally {
                                threads.remove(Thread.currentThread());
                            }
                        });
        threads.add(thread);
        thread.start();
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(Thread::interrupt);
    }
}
