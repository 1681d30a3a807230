package dev.walshadow.source;

import dev.walshadow.postgres.wal.WalRecord;
import org.jspecify.annotations.Nullable;

/** Takes every record from the decode position on, in order. Called by the WAL pump. */
public interface RecordSink {
    /**
     * @param original the record with the bytes that the source wrote, before any rewriting; a
     *     flyweight, valid during the call
     * @param decision what the shadow got
     * @param boundary at a commit that changed catalogs, else null; nothing behind its {@link
     *     CatalogBoundary#replayLsn} has been published, and nothing will be before this call
     *     returns (I2)
     */
    void onRecord(WalRecord original, Decision decision, @Nullable CatalogBoundary boundary)
            throws InterruptedException;
}
