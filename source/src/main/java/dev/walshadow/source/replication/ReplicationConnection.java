package dev.walshadow.source.replication;

import dev.walshadow.source.WalChunk;
import org.jspecify.annotations.Nullable;

/** One physical replication connection. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class ReplicationConnection implements AutoCloseable {
    /** What {@link #readCopy} found. */
    public enum CopyEvent {
        WAL,
        KEEPALIVE,
        REPLY_REQUESTED,
        END_OF_TIMELINE
    }

    public static ReplicationConnection connect(ConnectionSettings settings) {
        throw new UnsupportedOperationException(settings.toString());
    }

    /** E.g. 180001. */
    public int serverVersionNumber() {
        throw new UnsupportedOperationException();
    }

    public boolean isStandby() {
        throw new UnsupportedOperationException();
    }

    public SystemIdentity identifySystem() {
        throw new UnsupportedOperationException();
    }

    public String show(String parameter) {
        throw new UnsupportedOperationException(parameter);
    }

    /** Bytes per WAL segment. */
    public int walSegmentSize() {
        throw new UnsupportedOperationException();
    }

    /** Makes sure the permanent physical slot exists; returns true if it was made now. */
    public boolean createPhysicalSlot(String name) {
        throw new UnsupportedOperationException(name);
    }

    public void startPhysical(@Nullable String slot, long lsn, int timeline) {
        throw new UnsupportedOperationException(slot + lsn + timeline);
    }

    public CopyEvent readCopy(WalChunk into) {
        throw new UnsupportedOperationException(into.toString());
    }

    public void sendStatus(long write, long flush, long apply, boolean replyRequested) {
        throw new UnsupportedOperationException("" + write + flush + apply + replyRequested);
    }

    public byte[] timelineHistory(int timeline) {
        throw new UnsupportedOperationException("" + timeline);
    }

    public void baseBackup(BaseBackupOptions options, BaseBackupSink sink)
            throws InterruptedException {
        throw new UnsupportedOperationException("" + options + sink);
    }

    @Override
    public void close() {}
}
