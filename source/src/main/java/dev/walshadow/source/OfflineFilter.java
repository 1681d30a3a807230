package dev.walshadow.source;

import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.WalSegmentReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Filters segment files that follow each other, as the daemon filters the stream, and counts what
 * the shadow gets. Not thread safe.
 *
 * <p>Without the {@link StreamSnapshot} of the first segment the filter begins knowing nothing:
 * catalogs that were rewritten before count as user tables, and what precedes the first whole
 * record is blanked, page headers excepted.
 */
public final class OfflineFilter {
    /**
     * Records of one resource manager; bytes without page headers and padding.
     *
     * @param patched kept with other content, their bytes count as kept
     */
    public record Count(
            String resourceManager,
            long kept,
            long keptBytes,
            long patched,
            long dropped,
            long droppedBytes) {}

    private static final int MANAGERS = 256;

    private final WireSink wire;
    private final @Nullable StreamSnapshot given;
    private final long[][] records = new long[Decision.values().length][MANAGERS];
    private final long[][] bytes = new long[Decision.values().length][MANAGERS];
    private @Nullable WalStream stream;
    private @Nullable WalPages pages;
    private boolean ended;

    /**
     * @param wire gets the filtered bytes, whole pages and records
     * @param state of the first segment, or null
     */
    public OfflineFilter(WireSink wire, @Nullable StreamSnapshot state) {
        this.wire = wire;
        this.given = state;
    }

    /**
     * Takes the next segment, whole.
     *
     * @return where its written part ends
     * @throws HaltException if it is no WAL of PostgreSQL 15-18, does not follow the one before, or
     *     is damaged
     */
    public long add(byte[] segment) throws InterruptedException {
        WalSegmentReader reader = new WalSegmentReader(segment);
        long firstRecord = reader.position();
        WalStream into = stream;
        if (into == null) {
            into = begin(reader, firstRecord);
        } else if (ended || !reader.pages().equals(pages) || reader.start() != into.nextLsn()) {
            throw new HaltException(
                    SourceCodes.WAL_GAP,
                    "expected the segment of the same cluster and timeline that begins at "
                            + Lsn.format(into.nextLsn())
                            + (ended ? ", which is not written to its end" : "")
                            + "; found one that begins at "
                            + Lsn.format(reader.start())
                            + ". Give segments that follow each other.");
        }
        WalRecord record = new WalRecord();
        while (reader.next(record)) {
            // only the end is of interest
        }
        ended = reader.end() == WalSegmentReader.End.UNWRITTEN;
        int length = ended ? (int) (reader.position() - reader.start()) : segment.length;
        into.push(reader.start(), segment, 0, length);
        return reader.start() + length;
    }

    private WalStream begin(WalSegmentReader reader, long firstRecord) {
        StreamSnapshot from =
                given != null
                        ? given
                        : StreamSnapshot.initial(reader.pages(), firstRecord, Set.of(), true);
        if (from.segmentStart() != reader.start() || !from.pages().equals(reader.pages())) {
            throw new HaltException(
                    SourceCodes.RESUME_POINT_FOREIGN,
                    "the state given belongs to "
                            + from
                            + ", the first file begins at "
                            + Lsn.format(reader.start())
                            + ". Give the state that is named as the first segment.");
        }
        WalStream begun =
                new WalStream(
                        from,
                        from.firstRecord(),
                        wire,
                        this::count,
                        (start, data, end, next) -> {});
        stream = begun;
        pages = reader.pages();
        return begun;
    }

    private void count(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary) {
        int kind = index(decision);
        records[kind][record.resourceManager()]++;
        bytes[kind][record.resourceManager()] += record.length();
    }

    private static int index(Decision decision) {
        return switch (decision) {
            case KEEP -> 0;
            case DROP -> 1;
            case PATCH -> 2;
        };
    }

    /** Of every resource manager that had a record, by its number. */
    public List<Count> counts() {
        int keep = index(Decision.KEEP);
        int drop = index(Decision.DROP);
        int patch = index(Decision.PATCH);
        List<Count> counts = new ArrayList<>();
        for (int i = 0; i < MANAGERS; i++) {
            if (records[keep][i] + records[drop][i] + records[patch][i] > 0) {
                counts.add(
                        new Count(
                                ResourceManager.name(i),
                                records[keep][i] + records[patch][i],
                                bytes[keep][i] + bytes[patch][i],
                                records[patch][i],
                                records[drop][i],
                                bytes[drop][i]));
            }
        }
        return counts;
    }
}
