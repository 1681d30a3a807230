package dev.walshadow.pipeline;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Cluster;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends sealed batches. A batch stays here until ClickHouse has answered success for it (I7) or its
 * table is set aside; a retry sends the same bytes under the same token. The queue is bounded by
 * the memory budget that batches are reserved in.
 */
final class Inserters implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Inserters.class);

    /** Told on the inserter's thread. */
    interface Outcome {
        /** ClickHouse has answered success. */
        void acknowledged(Batch batch);

        /** The batch is not sent: its table is set aside. */
        void discarded(Batch batch);
    }

    private final ClickHouseClient client;
    private final TableFailures failures;
    private final TargetReachability reachability;
    private final PipelineMetrics metrics;
    private final Outcome outcome;
    private final FatalFailure fatal;
    private final TargetGate gate;
    private final @Nullable ChunkMirror mirror;

    /** Tables that an INSERT is under way to, where ClickHouse takes one at a time. */
    private final Set<TargetTable> busy = ConcurrentHashMap.newKeySet();

    private final DelayQueue<Batch> queue = new DelayQueue<>();
    private final AtomicInteger unfinished = new AtomicInteger();
    private final int count;
    private final List<Thread> threads = new ArrayList<>();

    Inserters(Services services, Outcome outcome) {
        this.client = services.client();
        this.failures = services.failures();
        this.reachability = services.reachability();
        this.metrics = services.metrics();
        this.fatal = services.fatal();
        this.gate = services.gate();
        this.mirror = services.mirror();
        this.outcome = outcome;
        this.count = services.options().inserters();
    }

    void start() {
        for (int i = 0; i < count; i++) {
            threads.add(Thread.ofVirtual().name("inserter-" + i).start(this::run));
        }
    }

    void submit(Batch batch) {
        unfinished.incrementAndGet();
        queue.add(batch);
    }

    /** True if a further batch would be sent at once. */
    boolean hasIdle() {
        return unfinished.get() < count;
    }

    private void run() {
        try {
            while (true) {
                Batch batch = queue.take();
                gate.enter();
                try {
                    sendInTurn(batch);
                } finally {
                    gate.leave();
                }
            }
        } catch (InterruptedException e) {
            // the pipeline is closing: what is not acknowledged is sent again after a restart
            Thread.currentThread().interrupt();
        } catch (Throwable e) {
            fatal.raise(e);
        }
    }

    private void sendInTurn(Batch batch) throws InterruptedException {
        Cluster cluster = client.options().cluster();
        if (cluster == null || !cluster.hasQuorum()) {
            send(batch);
        } else if (!busy.add(batch.table)) {
            batch.letPass();
            queue.add(batch);
        } else {
            try {
                send(batch);
            } finally {
                busy.remove(batch.table);
            }
        }
    }

    private void send(Batch batch) throws InterruptedException {
        if (!batch.table.follows(batch.firstPosition)) {
            unfinished.decrementAndGet();
            outcome.discarded(batch);
            return;
        }
        TargetName place = batch.table.place();
        long started = System.nanoTime();
        try {
            insert(batch, place, Objects.requireNonNull(batch.token, "a sealed batch has a token"));
        } catch (RetryException | ConfigurationException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            postpone(batch, e, started);
            return;
        } catch (QuarantineException e) {
            failures.setAside(
                    batch.table,
                    PipelineCodes.TARGET_REFUSED,
                    e.getMessage() + "; repair the target table " + place + ", then load it anew",
                    batch.firstPosition);
            unfinished.decrementAndGet();
            outcome.discarded(batch);
            return;
        }
        metrics.lastInsertMicros.set((System.nanoTime() - started) / 1_000);
        reachability.answered(batch.table);
        unfinished.decrementAndGet();
        outcome.acknowledged(batch);
    }

    private void insert(Batch batch, TargetName place, String token) throws InterruptedException {
        ChunkBlock chunks = batch.chunks;
        if (chunks != null) {
            Objects.requireNonNull(mirror, "chunks are kept").insert(batch.table, chunks, token);
        }
        if (batch.block.rows() > 0) {
            if (client.isSharded()) {
                new ShardedInsert(client.shards(), batch, place, token).run();
            } else {
                client.insert(place.database(), place.table(), batch.block.nativeBlock(), token);
            }
        }
    }

    private void postpone(Batch batch, WalshadowException failure, long startedNanos) {
        metrics.retries.increment();
        reachability.failed(batch.table, failure, startedNanos);
        batch.postpone();
        queue.add(batch);
    }

    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
    }

    void awaitStopped() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        log.debug("inserters stopped, {} batches unsent", queue.size());
    }
}
