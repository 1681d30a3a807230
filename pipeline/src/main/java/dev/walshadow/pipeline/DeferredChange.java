package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.transaction.RawRecord;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The deferred change at hand: its frame, its record, and the keys of its rows. Reused. */
final class DeferredChange {
    /** Memory that is kept for the next row at most. */
    private static final int WIDE_BYTES = 1 << 20;

    private final TargetTable table;
    private final RowEncoder encoder;
    private final HeapChanges heap;
    private final RawRecord record = new RawRecord();
    private final ByteBuilder keyBytes = new ByteBuilder(64);
    private TableBlock scratch;

    final MirroredValues mirrored = new MirroredValues();
    final DeferredFrame frame;
    final RowMeta meta = new RowMeta();

    DeferredChange(TableWriter writer) {
        this.table = writer.table();
        this.encoder = writer.encoder();
        this.heap = writer.worker().heap();
        this.frame = new DeferredFrame(writer.worker().services().baselineToast(), mirrored);
        this.scratch = encoder.newBlock();
    }

    boolean isTruncate() {
        frame.record(record);
        return HeapChanges.isTruncate(record);
    }

    long recordLsn() {
        return record.lsn();
    }

    int recordBytes() {
        return record.length();
    }

    boolean decode(HeapChanges.Handler handler) {
        frame.record(record);
        meta.transaction(frame.commitPosition(), frame.commitMicros(), frame.xid());
        return heap.decode(table, record, meta, handler);
    }

    String key(@Nullable TupleView tuple) {
        keyBytes.clear();
        encoder.appendKey(tuple, meta, frame, keyBytes);
        return latin();
    }

    /** Of an UPDATE that changed the key. */
    String leftKey(@Nullable TupleView oldKey) {
        keyBytes.clear();
        encoder.appendOldKey(oldKey, meta, frame, keyBytes);
        return latin();
    }

    private String latin() {
        return new String(keyBytes.array(), 0, keyBytes.length(), StandardCharsets.ISO_8859_1);
    }

    /** A key in SQL. */
    String literal(String key) {
        keyBytes.clear();
        encoder.appendKeyLiteral(key.getBytes(StandardCharsets.ISO_8859_1), 0, keyBytes);
        return keyBytes.toString();
    }

    boolean keyChanged(TupleView tuple, @Nullable TupleView oldKey) {
        return encoder.keyChanged(tuple, oldKey, meta, frame);
    }

    /** Where the row at hand lies on the source. */
    SourceLookup.Place place() {
        return new SourceLookup.Place(meta.tid(), record.xid(), meta.xid());
    }

    /** For a row that is looked at, not sent. Keeps no memory that a wide row took. */
    TableBlock scratch() {
        if (scratch.bytes() > WIDE_BYTES) {
            scratch = encoder.newBlock();
        } else {
            scratch.clear();
        }
        return scratch;
    }
}
