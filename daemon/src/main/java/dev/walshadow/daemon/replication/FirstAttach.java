package dev.walshadow.daemon.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.RetryException;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.source.StreamSnapshot;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The first attach: tries the initial load until one attempt is through, each attempt from where
 * the last one was ({@link UnfinishedLoad}); then the same stream goes on. Runs on the pump's
 * thread.
 */
final class FirstAttach implements AutoCloseable {
    /** Builds the parts of a stream; see {@link Assembly}. */
    interface Assembler {
        Assembly assemble(
                DescriptorLog log, StreamSnapshot from, long decodeFrom, Manifest manifest);
    }

    /** What answers for a source of which there is the archive alone, until the load is done. */
    interface StandIn {
        /** There is a source. */
        StandIn NONE =
                new StandIn() {
                    @Override
                    public @Nullable String backup() {
                        return null;
                    }

                    @Override
                    public void read(Set<RelationLocator> files) {}

                    @Override
                    public void leave() {}
                };

        /** The name of the backup that it was laid from; null if there is a source. */
        @Nullable String backup();

        /**
         * Makes these files readable by SQL, too, as they are at the backup's end. Nobody may be
         * asking it meanwhile.
         */
        void read(Set<RelationLocator> files) throws InterruptedException;

        /** The first load is done. */
        default void loaded() {}

        /** It is not needed any more; behind {@link #loaded}, or shortly before. Any thread. */
        void leave();
    }

    private static final Logger LOG = LoggerFactory.getLogger(FirstAttach.class);
    private static final long RETRY_CEILING_MILLIS = 10_000;

    private final Configuration configuration;
    private final StateDirectory state;
    private final SourceDatabase source;
    private final Prepared prepared;
    private final Assembler assembler;
    private final CountDownLatch done;
    private final StandIn standIn;
    private volatile @Nullable InitialLoad attempt;
    private volatile boolean closing;

    FirstAttach(
            Configuration configuration,
            StateDirectory state,
            SourceDatabase source,
            Prepared prepared,
            Assembler assembler,
            StandIn standIn) {
        this.configuration = configuration;
        this.state = state;
        this.source = source;
        this.prepared = prepared;
        this.assembler = assembler;
        this.standIn = standIn;
        this.done = new CountDownLatch(prepared.firstAttach() ? 1 : 0);
    }

    /** Returns when the stream ends. */
    void run() throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (!closing) {
            try (InitialLoad current =
                    new InitialLoad(
                            configuration, state, source, prepared, assembler, new Attached())) {
                attempt = current;
                if (closing) {
                    return;
                }
                current.run();
                return;
            } catch (ReconnectException | RetryException e) {
                if (isDone()) {
                    throw e;
                }
                LOG.warn("the initial load was interrupted: {}", e.getMessage());
                backoff.pause();
            } catch (HaltException e) {
                if (!isDone()) {
                    // what was taken up may be the cause, WAL that the source has not any more
                    UnfinishedLoad.forget(state);
                }
                throw e;
            }
        }
    }

    /** Has this know, too. */
    private final class Attached implements StandIn {
        @Override
        public @Nullable String backup() {
            return standIn.backup();
        }

        @Override
        public void read(Set<RelationLocator> files) throws InterruptedException {
            standIn.read(files);
        }

        @Override
        public void loaded() {
            done.countDown();
        }

        @Override
        public void leave() {
            standIn.leave();
        }
    }

    boolean isDone() {
        return done.getCount() == 0;
    }

    boolean awaitDone(long deadline) throws InterruptedException {
        return done.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    void progress(ObjectNode into) {
        InitialLoad current = attempt;
        if (current != null) {
            current.progress(into);
        }
    }

    String describe() {
        InitialLoad current = attempt;
        return current == null ? "it has not begun" : current.describe();
    }

    @Override
    public void close() {
        closing = true;
        InitialLoad current = attempt;
        if (current != null && !isDone()) {
            current.abort();
        }
    }
}
