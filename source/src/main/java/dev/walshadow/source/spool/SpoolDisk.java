package dev.walshadow.source.spool;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * What the spool asks of the operating system; a seam for tests of full and failing disks. Files
 * hold user rows: only their owner may read them.
 */
class SpoolDisk {
    private static final long MOST_RESERVED = 1L << 30;

    /** Opens for reading and writing; creates it if it is missing. */
    RandomAccessFile open(Path file) throws IOException {
        if (!Files.exists(file)) {
            Files.newByteChannel(
                            file,
                            Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE),
                            PosixFilePermissions.asFileAttribute(
                                    PosixFilePermissions.fromString("rw-------")))
                    .close();
        }
        return new RandomAccessFile(file.toFile(), "rw");
    }

    /** Returns when everything written to the file so far survives a crash of the machine. */
    void sync(RandomAccessFile file) throws IOException {
        file.getFD().sync();
    }

    /** Bytes that the spool may still take: the last twentieth, 1 GB at most, is for others. */
    long roomBytes(Path directory) throws IOException {
        var store = Files.getFileStore(directory);
        return store.getUsableSpace() - Math.min(MOST_RESERVED, store.getTotalSpace() / 20);
    }
}
