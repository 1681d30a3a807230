package dev.walshadow.pipeline;

import dev.walshadow.base.Code;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.transaction.CommitSink;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.ToastRelations;
import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Committed transactions to ClickHouse rows. */
@SuppressWarnings("DoNotCallSuggester")
public final class Pipeline implements CommitSink, AutoCloseable {
    /**
     * What the pipeline stands on.
     *
     * @param lookup null: a value that neither the WAL nor ClickHouse has quarantines its table
     */
    public record Surroundings(
            ClickHouseClient client,
            DescriptorLog descriptors,
            TargetTables tables,
            Quarantine quarantine,
            PipelineEvents events,
            @Nullable SourceLookup lookup) {}

    private Pipeline() {}

    /** Starts the threads. {@code tables} has been attached or resumed. */
    public static Pipeline start(PipelineOptions options, Surroundings surroundings) {
        throw new UnsupportedOperationException();
    }

    /** For the transaction buffer: which storage is a TOAST relation's, by the descriptor log. */
    public static ToastRelations toastRelations(DescriptorLog descriptors) {
        throw new UnsupportedOperationException();
    }

    /**
     * One committed transaction; blocks while ClickHouse does not keep up. One caller at a time.
     */
    @Override
    public void commit(CommittedChanges changes) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /**
     * Everything that committed up to {@code lsn} has been handed over: the watermark may reach it.
     * Called by the caller of {@link #commit}.
     */
    public void advance(long lsn) {
        throw new UnsupportedOperationException();
    }

    /**
     * Rows of the initial load (commit position B). Any thread; blocks while ClickHouse does not
     * keep up; does not hold the watermark.
     *
     * @return a sequence for {@link #awaitBaseline}
     */
    public long submitBaseline(CommittedChanges changes) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Sends what is open and waits until all baseline rows up to {@code sequence} are durable. */
    public void awaitBaseline(long sequence) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /**
     * The table's whole baseline was submitted and is durable ({@link #awaitBaseline}): marks it
     * live in the ledger; changes that waited for old values go on.
     */
    public void baselineComplete(int databaseOid, int relationOid) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** Sends what is open and waits until everything handed over before is durable. */
    public void flush() throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    /**
     * Sets a table aside, e.g. because its shape changed where that cannot be followed; durable on
     * return.
     */
    public void quarantine(
            int databaseOid, int relationOid, Code code, String reason, long positionLsn) {
        throw new UnsupportedOperationException();
    }

    public Watermark watermark() {
        throw new UnsupportedOperationException();
    }

    /** Waits until the watermark has reached {@code lsn}; false on timeout. */
    public boolean awaitDurable(long lsn, Duration timeout) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    public PipelineMetrics metrics() {
        throw new UnsupportedOperationException();
    }

    public Collection<TableStatus> tables() {
        throw new UnsupportedOperationException();
    }

    /** Why the pipeline stopped for good; null while it works. */
    public @Nullable Throwable failure() {
        throw new UnsupportedOperationException();
    }

    /** Stops at once; what is not durable is sent again after a restart. */
    @Override
    public void close() {}
}
