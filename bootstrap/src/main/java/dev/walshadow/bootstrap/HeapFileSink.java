package dev.walshadow.bootstrap;

import dev.walshadow.postgres.RelationLocator;

/**
 * Takes the main forks of user relations (tables, their TOAST tables, indexes: whatever is no
 * catalog) as they stream by. Called by the backup's thread only; blocking slows the backup down.
 */
public interface HeapFileSink {
    /** Wants no file. */
    HeapFileSink NONE =
            new HeapFileSink() {
                @Override
                public boolean wants(RelationLocator locator) {
                    return false;
                }

                @Override
                public void begin(RelationLocator locator, int segmentNumber, long fileSize) {}

                @Override
                public void data(byte[] bytes, int offset, int length) {}

                @Override
                public void end() {}
            };

    /** Asked once per file; false = the file is skipped unread. */
    boolean wants(RelationLocator locator);

    /**
     * A file begins. Files of different relations and segments never overlap in time.
     *
     * @param segmentNumber 0 for the first gigabyte; block numbers go on from {@code segmentNumber
     *     * 131072}
     * @param fileSize bytes that {@link #data} will bring in all, 8192 a page; the last page may be
     *     cut short when the file grew or shrank while it was copied
     */
    void begin(RelationLocator locator, int segmentNumber, long fileSize)
            throws InterruptedException;

    /**
     * The bytes that follow begin at this block of the segment. What was left out comes in another
     * part of the same file, or never: then there is nothing in it. Only a backup that is put
     * together from several brings files in parts.
     */
    default void skipTo(int block) throws InterruptedException {
        throw new UnsupportedOperationException("files are taken whole only");
    }

    /** The file's next bytes, of any length; the array is reused after the return. */
    void data(byte[] bytes, int offset, int length) throws InterruptedException;

    /** The file is complete. */
    void end() throws InterruptedException;
}
