package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.source.store.ObjectStore;
import dev.walshadow.source.store.ObjectStores;
import dev.walshadow.source.store.SegmentReader;
import dev.walshadow.source.store.WalgArchive;
import org.jspecify.annotations.Nullable;

/**
 * The source's archived WAL behind {@code [backup] url}.
 *
 * @param reader one user at a time
 */
record WalArchive(ObjectStore store, SegmentReader reader) implements AutoCloseable {
    /** Null if none is configured. */
    static @Nullable WalArchive open(Configuration configuration, int segmentSize) {
        String url = configuration.find(Settings.BACKUP_URL).orElse(null);
        if (url == null) {
            return null;
        }
        ObjectStore store = ObjectStores.open(url, System::getenv);
        return new WalArchive(
                store, new SegmentReader(new WalgArchive(store, segmentSize), segmentSize));
    }

    /**
     * @throws ConfigurationException if none is configured
     */
    static WalArchive ofConfigured(Configuration configuration, int segmentSize) {
        WalArchive found = open(configuration, segmentSize);
        if (found == null) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[source] mode is archive: set [backup] url, too");
        }
        return found;
    }

    @Override
    public void close() {
        reader.close();
        store.close();
    }
}
