package dev.walshadow.source;

import dev.walshadow.postgres.wal.WalRecord;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Records that are published but must wait before they are handed on, because a boundary among them
 * fell between another transaction's RELMAP_UPDATE and its end: there the shadow's catalogs cannot
 * be read. Microseconds apart on the source, so a handful of records, copied. Single-threaded.
 */
final class DeferredRecords {
    private record Entry(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary) {}

    private final List<Entry> entries = new ArrayList<>();

    boolean isEmpty() {
        return entries.isEmpty();
    }

    long firstLsn() {
        return entries.getFirst().record.lsn();
    }

    /** Copies a record with its bytes. */
    void add(WalRecord original, Decision decision, @Nullable CatalogBoundary boundary) {
        byte[] bytes =
                Arrays.copyOfRange(
                        original.buffer(),
                        original.offset(),
                        original.offset() + original.length());
        WalRecord copy = new WalRecord();
        copy.wrap(bytes, 0, bytes.length, original.lsn(), original.nextLsn());
        entries.add(new Entry(copy, decision, boundary == null ? null : boundary.copy()));
    }

    /** Hands everything on, now that the shadow may be read at {@code replayLsn}. */
    void handTo(RecordSink sink, long decodeFrom, long replayLsn) throws InterruptedException {
        List<Entry> handed = List.copyOf(entries);
        entries.clear();
        for (Entry entry : handed) {
            if (entry.boundary != null) {
                entry.boundary.replayLsn(replayLsn);
            }
            if (entry.record.lsn() >= decodeFrom) {
                sink.onRecord(entry.record, entry.decision, entry.boundary);
            }
        }
    }
}
