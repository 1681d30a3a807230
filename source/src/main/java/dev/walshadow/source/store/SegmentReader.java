package dev.walshadow.source.store;

import dev.walshadow.source.WalChunk;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Gives the WAL of archived segments piece by piece. One thread. */
public final class SegmentReader implements AutoCloseable {
    private static final int READ_BYTES = 128 << 10;

    private final SegmentSource archive;
    private final int segmentSize;
    private byte[] buffer = new byte[READ_BYTES];

    private @Nullable ReadObject open;
    private long position;

    public SegmentReader(SegmentSource archive, int segmentSize) {
        this.archive = archive;
        this.segmentSize = segmentSize;
    }

    /** Where it is, for messages. */
    public String address() {
        return archive.address();
    }

    /** The bytes that were given last stay as they are for good. */
    void detachBuffer() {
        buffer = new byte[READ_BYTES];
    }

    /** Whether the segment that has this position is being read, and this is its next byte. */
    boolean isWithin(long lsn) {
        return open != null && position == lsn;
    }

    /**
     * The newest timeline that descends from one and has everything that was received of it; null
     * if there is none. What left it before belongs to somebody else, who went back in time.
     */
    @Nullable TimelineHistory newest(int timeline, long received) {
        TimelineHistory newest = null;
        for (int later = timeline + 1; ; later++) {
            Optional<TimelineHistory> history = archive.history(later);
            if (history.isEmpty()) {
                return newest;
            }
            OptionalLong end = history.get().endOf(timeline);
            if (end.isPresent() && end.getAsLong() >= received) {
                newest = history.get();
            }
        }
    }

    /** Where a timeline ends, by the history of one that descends from it; empty if it goes on. */
    public OptionalLong end(int timeline) {
        for (int later = timeline + 1; ; later++) {
            Optional<TimelineHistory> history = archive.history(later);
            if (history.isEmpty()) {
                return OptionalLong.empty();
            }
            OptionalLong end = history.get().endOf(timeline);
            if (end.isPresent()) {
                return end;
            }
        }
    }

    /**
     * Of which timeline the segment is named that has this position: the newest that begins in it
     * or before. What it has of its ancestors is theirs.
     */
    public int nameOf(TimelineHistory history, long lsn) {
        return history.timelineOf(lsn | (segmentSize - 1L));
    }

    /**
     * Brings the next bytes from exactly {@code lsn} on.
     *
     * @return false if the archive lacks the segment
     */
    public boolean next(int timeline, long lsn, long serverEnd, WalChunk into) {
        ReadObject segment = open;
        if (segment == null || position != lsn) {
            close();
            segment = archive.segment(timeline, lsn);
            if (segment == null) {
                return false;
            }
            open = segment;
            skip(segment, lsn);
        }
        int wanted = (int) Math.min(READ_BYTES, segmentSize - inSegment(lsn));
        int count = segment.read(buffer, 0, wanted);
        if (count <= 0) {
            throw shortSegment(segment);
        }
        position = lsn + count;
        if (inSegment(position) == 0) {
            if (segment.read() >= 0) {
                throw segment.damaged("it goes on behind its " + segmentSize + " bytes");
            }
            close();
        }
        into.set(buffer, 0, count, lsn, serverEnd);
        return true;
    }

    private void skip(ReadObject segment, long lsn) {
        long left = inSegment(lsn);
        while (left > 0) {
            int count = segment.read(buffer, 0, (int) Math.min(left, READ_BYTES));
            if (count <= 0) {
                throw shortSegment(segment);
            }
            left -= count;
        }
        position = lsn;
    }

    private RuntimeException shortSegment(ReadObject segment) {
        return segment.damaged("a segment has " + segmentSize + " bytes, it ends before");
    }

    private long inSegment(long lsn) {
        return lsn & (segmentSize - 1L);
    }

    @Override
    public void close() {
        ReadObject segment = open;
        open = null;
        if (segment != null) {
            segment.close();
        }
    }
}
