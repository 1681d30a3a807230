package dev.walshadow.bootstrap.backup;

import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.source.replication.ReplicationConnection;
import java.util.OptionalLong;

/** A backup that the source makes now: BASE_BACKUP. */
public final class DirectBackup implements BackupSource {
    private final ReplicationConnection connection;

    public DirectBackup(ReplicationConnection connection) {
        this.connection = connection;
    }

    @Override
    public BackupOutcome run(
            BaseBackupRun.Options options, HeapFileSink heapFiles, BackupListener listener)
            throws InterruptedException {
        return BaseBackupRun.run(connection, options, heapFiles, listener);
    }

    @Override
    public OptionalLong copiedBefore() {
        return OptionalLong.empty();
    }
}
