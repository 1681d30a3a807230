package dev.walshadow.bootstrap;

/** Follows a base backup. Called by the backup's thread. */
public interface BackupListener {
    /**
     * The backup has begun, no file has come yet. Returning late holds the whole backup back: the
     * loader does so until it knows which transactions were running.
     *
     * @param startLsn redo position of the backup's checkpoint: B
     */
    void started(long startLsn, int timeline) throws InterruptedException;

    /** After each piece of the stream. */
    void progress(BackupProgress progress);
}
