package dev.walshadow.shadow;

import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** Feeds a WAL sender with a source's unfiltered WAL, straight from its pg_wal folder. */
final class RawWalFeed {
    static final int SEGMENT = 16 << 20;

    private final Path walDirectory;
    private final Path archive;
    private final WalSender sender;
    private final byte[] piece = new byte[64 * PublishedWal.PAGE_SIZE];

    RawWalFeed(Path walDirectory, Path archive, WalSender sender) {
        this.walDirectory = walDirectory;
        this.archive = archive;
        this.sender = sender;
    }

    /** {@code lsn} is flushed and a record's end. */
    void publishUpTo(long lsn) throws IOException {
        while (sender.publishedLsn() < lsn) {
            long start = sender.publishedLsn();
            long segment = start & -(long) SEGMENT;
            long pieceEnd = (start + piece.length) & -(long) PublishedWal.PAGE_SIZE;
            long end = Math.min(lsn, Math.min(segment + SEGMENT, pieceEnd));
            String name = Lsn.segmentFileName(1, segment, SEGMENT);
            int count = (int) (end - start);
            try (RandomAccessFile file =
                    new RandomAccessFile(walDirectory.resolve(name).toFile(), "r")) {
                file.seek(start - segment);
                file.readFully(piece, 0, count);
            }
            sender.publish(start, piece, 0, count);
            if (end == segment + SEGMENT) {
                Path beside = archive.resolve(name + ".tmp");
                Files.copy(walDirectory.resolve(name), beside, StandardCopyOption.REPLACE_EXISTING);
                Files.move(beside, archive.resolve(name), StandardCopyOption.REPLACE_EXISTING);
                sender.segmentComplete(segment);
            }
        }
    }
}
