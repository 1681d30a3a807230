package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** All that a stream puts out, and the checks that hold for any stream. */
final class StreamCapture implements WireSink, RecordSink, SegmentSink {
    record Seen(
            long lsn,
            long nextLsn,
            int length,
            int manager,
            int info,
            int xid,
            int crcOfBytes,
            Decision decision,
            boolean boundary) {
        @Override
        public String toString() {
            return Lsn.format(lsn)
                    + " "
                    + ResourceManager.name(manager)
                    + " info "
                    + Integer.toHexString(info)
                    + " len "
                    + length
                    + " tx "
                    + Integer.toUnsignedString(xid)
                    + " "
                    + decision
                    + (boundary ? " boundary" : "");
        }
    }

    final ByteBuilder wire = new ByteBuilder(1 << 20);
    final List<Seen> records = new ArrayList<>();
    final List<long[]> frames = new ArrayList<>();
    final TreeMap<Long, byte[]> segments = new TreeMap<>();
    final TreeMap<Long, StreamSnapshot> snapshots = new TreeMap<>();
    private final CRC32C crc = new CRC32C();
    private final long start;

    StreamCapture(StreamSnapshot from) {
        start = from.segmentStart();
        snapshots.put(start, from);
    }

    long publishedTo() {
        return start + wire.length();
    }

    @Override
    public void publish(long startLsn, byte[] bytes, int offset, int length) {
        if (startLsn != publishedTo() || length <= 0) {
            throw new AssertionError("published " + Lsn.format(startLsn) + " after a gap");
        }
        wire.putBytes(bytes, offset, length);
        frames.add(new long[] {startLsn, startLsn + length});
    }

    @Override
    public void onRecord(
            WalRecord original, Decision decision, @Nullable CatalogBoundary boundary) {
        long needed = Math.min(original.nextLsn(), original.lsn() + original.length());
        if (publishedTo() < needed) {
            throw new AssertionError("handed on before it was published: " + original.lsn());
        }
        if (boundary != null && publishedTo() > original.nextLsn()) {
            throw new AssertionError("bytes behind a boundary are out: " + original.lsn());
        }
        crc.reset();
        crc.update(original.buffer(), original.offset(), original.length());
        records.add(
                new Seen(
                        original.lsn(),
                        original.nextLsn(),
                        original.length(),
                        original.resourceManager(),
                        original.info(),
                        original.xid(),
                        (int) crc.getValue(),
                        decision,
                        boundary != null));
    }

    @Override
    public void segmentComplete(long startLsn, byte[] segment, int length, StreamSnapshot next) {
        if (publishedTo() < startLsn + length) {
            throw new AssertionError("archived before it was published");
        }
        segments.put(startLsn, segment.clone());
        snapshots.put(next.segmentStart(), StreamSnapshot.decode(next.encode(), "next"));
    }
}
