package dev.walshadow.transaction;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalChecksum;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the records in the segment files of a server, from a position up to another. */
final class WalFiles {
    private static final int SEGMENT_SIZE = 16 << 20;

    private final Path directory;
    private final WalChecksum checksum = new WalChecksum();
    private byte[] segment = {};
    private long segmentStart = -1;
    private long position;

    WalFiles(Path dataDirectory) {
        directory = dataDirectory.resolve("pg_wal");
    }

    /** Hands on every record from {@code from} on that starts before {@code end}. */
    void read(long from, long end, SimulatedSource.Target target)
            throws IOException, InterruptedException {
        WalRecord record = new WalRecord();
        position = from;
        while (position < end) {
            skipPageHeader();
            long start = position;
            byte[] length = take(Integer.BYTES);
            position = start;
            byte[] bytes = take(LittleEndian.getInt(length, 0));
            position = XLogLayout.align(position);
            record.wrap(bytes, 0, bytes.length, start, position);
            checksum.verify(bytes, 0, bytes.length, start);
            target.onRecord(record);
            if (record.resourceManager() == ResourceManager.XLOG
                    && (record.info() & 0xF0) == XLogLayout.XLOG_SWITCH) {
                position = (position + SEGMENT_SIZE - 1) & -SEGMENT_SIZE;
            }
        }
    }

    private byte[] take(int count) throws IOException {
        byte[] bytes = new byte[count];
        int done = 0;
        while (done < count) {
            skipPageHeader();
            int room = XLogLayout.PAGE_SIZE - (int) (position % XLogLayout.PAGE_SIZE);
            int some = Math.min(room, count - done);
            System.arraycopy(segment(), (int) (position - segmentStart), bytes, done, some);
            done += some;
            position += some;
        }
        return bytes;
    }

    private void skipPageHeader() {
        if (position % XLogLayout.PAGE_SIZE == 0) {
            position +=
                    position % SEGMENT_SIZE == 0
                            ? XLogLayout.LONG_HEADER_LENGTH
                            : XLogLayout.SHORT_HEADER_LENGTH;
        }
    }

    private byte[] segment() throws IOException {
        long start = position & -SEGMENT_SIZE;
        if (start != segmentStart) {
            segment =
                    Files.readAllBytes(
                            directory.resolve(Lsn.segmentFileName(1, start, SEGMENT_SIZE)));
            segmentStart = start;
        }
        return segment;
    }
}
