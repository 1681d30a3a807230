package dev.walshadow.pipeline;

import dev.walshadow.base.HaltException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The first thing that stopped the pipeline for good, and what everybody then gets. */
final class FatalFailure {
    private static final Logger log = LoggerFactory.getLogger(FatalFailure.class);

    private final AtomicReference<@Nullable Throwable> cause = new AtomicReference<>();
    private final PipelineEvents events;
    private final Runnable stop;
    private volatile boolean closing;

    /**
     * @param stop wakes and ends all threads; must not block
     */
    FatalFailure(PipelineEvents events, Runnable stop) {
        this.events = events;
        this.stop = stop;
    }

    @Nullable Throwable cause() {
        return cause.get();
    }

    /** From now on the pipeline ends on purpose: interrupted work is no failure. */
    void closing() {
        closing = true;
    }

    void raise(Throwable failure) {
        if (closing) {
            log.debug("while closing", failure);
            return;
        }
        if (cause.compareAndSet(null, failure)) {
            log.error("the pipeline stops", failure);
            stop.run();
            events.failed(failure);
        }
    }

    /** Throws if the pipeline has failed. */
    void check() {
        Throwable failure = cause.get();
        if (failure == null) {
            return;
        }
        if (failure instanceof Error error) {
            throw error;
        }
        throw new HaltException(
                failure instanceof HaltException halt ? halt.code() : PipelineCodes.STOPPED,
                "the pipeline has stopped: " + failure.getMessage(),
                failure);
    }
}
