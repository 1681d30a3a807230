package dev.walshadow.benchmarks;

import dev.walshadow.bootstrap.load.BaselineSink;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import java.util.concurrent.atomic.AtomicLong;

/** Encodes the rows of one table to columns, each on the thread that brings it, and drops them. */
final class NullInserter implements BaselineSink {
    private static final int BLOCK_ROWS = 65_536;

    private final RelationDescriptor shape;
    private final ThreadLocal<Encoder> encoders = ThreadLocal.withInitial(this::encoder);
    private final AtomicLong submitted = new AtomicLong();
    private final AtomicLong rows = new AtomicLong();

    NullInserter(RelationDescriptor shape) {
        this.shape = shape;
    }

    /** One thread's. */
    private record Encoder(
            RowEncoder rows, TableBlock block, RowMeta meta, RawRecord record, TupleView tuple) {}

    private Encoder encoder() {
        TableMapping mapping =
                switch (TableMapping.derive(shape, MappingRules.defaults())) {
                    case Derivation.Mapped mapped -> mapped.mapping();
                    case Derivation.HeldBack held ->
                            throw new IllegalStateException(held.reasons().toString());
                };
        RowEncoder encoder = RowEncoder.compile(shape, mapping, SourceEncoding.UTF8);
        return new Encoder(
                encoder, encoder.newBlock(), new RowMeta(), new RawRecord(), new TupleView());
    }

    long rows() {
        return rows.get();
    }

    @Override
    public long submit(CommittedChanges changes) {
        Encoder own = encoders.get();
        own.meta().transaction(changes.commitPosition(), changes.commitMicros(), changes.xid());
        RecordCursor cursor = changes.records();
        while (cursor.next(own.record())) {
            RawRecord record = own.record();
            own.tuple().wrapWal(record.buffer(), record.dataOffset(), record.dataLength());
            own.rows()
                    .appendRow(
                            own.block(),
                            own.tuple(),
                            own.meta().record(record.lsn(), 0),
                            changes.toast());
            if (own.block().rows() >= BLOCK_ROWS) {
                own.block().clear();
            }
        }
        rows.addAndGet(changes.recordCount());
        changes.close();
        return submitted.incrementAndGet();
    }

    @Override
    public void await(long number) {}

    @Override
    public void tableComplete(int databaseOid, int relationOid) {}
}
