package dev.walshadow.daemon.replication;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.replication.HostAddress;
import dev.walshadow.source.replication.LiveWalSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says once per change whether the source answers. */
final class SourceLog implements LiveWalSource.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(SourceLog.class);

    private volatile String state = "connecting";

    @Override
    public void connected(HostAddress host, long position) {
        state = "streaming from " + host;
        LOG.info("streaming from {} at {}", host, Lsn.format(position));
    }

    @Override
    public void lost(WalshadowException reason) {
        state = "reconnecting: " + reason.getMessage();
        LOG.warn("the source's WAL stream was lost: {}; connecting again", reason.getMessage());
    }

    String state() {
        return state;
    }
}
