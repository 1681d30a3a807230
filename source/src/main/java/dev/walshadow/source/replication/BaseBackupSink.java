package dev.walshadow.source.replication;

import java.util.List;

/**
 * What a base backup calls, in this order: {@code start}, then for each archive {@code archive} and
 * its {@code data}, with {@code progress} in between, then {@code end}. All on the caller's thread;
 * blocking slows the server down, nothing else.
 */
public interface BaseBackupSink {
    /**
     * @param startLsn redo position of the backup's checkpoint: B
     * @param tablespaces every archive's tablespace; the main data directory has oid 0
     */
    void start(long startLsn, int timeline, List<Tablespace> tablespaces)
            throws InterruptedException;

    /**
     * A new tar archive begins.
     *
     * @param name file name the server proposes, e.g. {@code base.tar} or {@code 16385.tar}
     * @param path the tablespace's directory on the server, empty for the main data directory
     */
    void archive(String name, String path) throws InterruptedException;

    /** The archive's next bytes; the array is reused after the return. */
    void data(byte[] bytes, int offset, int length) throws InterruptedException;

    /** Bytes done so far over all archives, as the server counts them. */
    default void progress(long bytesDone) {}

    /**
     * @param endLsn WAL up to here makes the copy consistent: E
     */
    void end(long endLsn, int timeline) throws InterruptedException;

    /**
     * @param oid 0 for the main data directory
     * @param path empty for the main data directory
     * @param kilobytes the server's estimate of its size, -1 if unknown
     */
    record Tablespace(int oid, String path, long kilobytes) {}
}
