package dev.walshadow.pipeline;

import dev.walshadow.base.WalshadowException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * About once per second: table states and the watermark into ClickHouse, counts of discarded rows
 * into the quarantine file. The watermark also while it stays, so that its age tells readers
 * whether anybody keeps it. What fails is tried again in the next round.
 */
final class Housekeeping implements AutoCloseable {
    static final String LEDGER = "table ledger";
    private static final long EVERY_MILLIS = 1_000;

    private final Services services;
    private final TargetTables tables;
    private final Quarantine quarantine;
    private final Supplier<Watermark> watermark;
    private final Thread thread;
    private volatile long writtenLsn;

    Housekeeping(
            Services services,
            TargetTables tables,
            Quarantine quarantine,
            Supplier<Watermark> watermark) {
        this.services = services;
        this.tables = tables;
        this.quarantine = quarantine;
        this.watermark = watermark;
        this.thread = Thread.ofVirtual().name("housekeeping").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            while (true) {
                Thread.sleep(EVERY_MILLIS);
                round();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closing
        } catch (Throwable e) {
            services.fatal().raise(e);
        }
    }

    private void round() throws InterruptedException {
        Map<Long, Long> discarded = new HashMap<>();
        for (TargetTable table : tables.all()) {
            if (table.state() == TableState.QUARANTINED) {
                discarded.put(table.key(), table.discardedRows.sum());
            }
        }
        quarantine.discarded(discarded);
        if (!services.gate().tryEnter()) {
            return;
        }
        long started = System.nanoTime();
        try {
            tables.writeChanges();
            Watermark now = watermark.get();
            tables.writeWatermark(now);
            writtenLsn = now.durableLsn();
            services.reachability().answered(LEDGER);
        } catch (WalshadowException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            services.reachability().failed(LEDGER, e, started);
        } finally {
            services.gate().leave();
        }
    }

    /** The newest watermark that this process has written into ClickHouse; 0 before the first. */
    long writtenLsn() {
        return writtenLsn;
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    void awaitStopped() throws InterruptedException {
        thread.join();
    }
}
