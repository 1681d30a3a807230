package dev.walshadow.source.replication;

import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalSource;
import java.time.Duration;

/** The live stream of the source's WAL. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class LiveWalSource implements WalSource {
    /**
     * @param slot permanent physical slot
     * @param createSlot make the slot when it is missing
     * @param systemIdentifier the cluster that must answer
     */
    public record Options(
            ConnectionSettings settings,
            String slot,
            boolean createSlot,
            long systemIdentifier,
            Duration statusInterval) {}

    /** Told about the connection's state, on the pump's or the status thread. */
    public interface Listener {
        void connected(String host, long position);

        void lost(String reason);

        default void replyRequested() {}
    }

    public LiveWalSource(Options options, StandbyStatus status, Listener listener) {
        throw new UnsupportedOperationException("" + options + status + listener);
    }

    @Override
    public void start(int timeline, long lsn) throws InterruptedException {
        throw new UnsupportedOperationException("" + timeline + lsn);
    }

    @Override
    public boolean next(WalChunk into) throws InterruptedException {
        throw new UnsupportedOperationException("" + into);
    }

    /** Sends the floors at once. */
    public void sendStatusNow() {}

    @Override
    public void close() {}
}
