package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import org.jspecify.annotations.Nullable;

/**
 * For a table with columns that are printed by PostgreSQL: looks through the coming records of a
 * piece and has all their values printed with one question, so that encoding them then finds every
 * text. Its worker's thread only.
 */
final class RenderAhead implements HeapChanges.Handler {
    private static final int RECORDS = 4096;

    private final TargetTable table;
    private final RowEncoder encoder;
    private final TableBlock scratch;
    private final RawRecord record = new RawRecord();
    private final RowMeta meta = new RowMeta();
    private @Nullable Piece piece;
    private int end;
    private ToastValues toast = (relation, value, out) -> false;

    RenderAhead(TargetTable table, RowEncoder encoder) {
        this.table = table;
        this.encoder = table.ahead(encoder);
        this.scratch = encoder.newBlock();
    }

    /**
     * Prepares the record at {@code index} and those of its table behind it.
     *
     * @throws QuarantineException if a value cannot be printed
     */
    void prepare(Piece from, int index, HeapChanges heap, ToastValues values) {
        if (from == piece && index < end) {
            return;
        }
        piece = from;
        toast = values;
        encoder.foreign().collect();
        try {
            int last = Math.min(from.count(), index + RECORDS);
            int i = index;
            while (i < last && !encoder.foreign().isFull()) {
                if (!from.isOpening(i) && from.table(i) == table) {
                    from.wrap(i, record);
                    note(heap, from.work);
                }
                i++;
            }
            end = i;
        } finally {
            encoder.foreign().ask();
        }
    }

    private void note(HeapChanges heap, TransactionWork work) {
        meta.transaction(
                work.changes.commitPosition(), work.changes.commitMicros(), work.changes.xid());
        try {
            heap.decode(table, record, meta, this);
        } catch (QuarantineException e) {
            // encoding it in its turn says so
        }
    }

    @Override
    public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta rowMeta) {
        encoder.appendRow(scratch, tuple, rowMeta, toast);
        scratch.clear();
        return true;
    }

    @Override
    public void tombstone(@Nullable TupleView key, RowMeta rowMeta) {
        if (!encoder.mapping().isKeyless()) {
            encoder.appendTombstone(scratch, key, rowMeta, toast);
            scratch.clear();
        }
    }
}
