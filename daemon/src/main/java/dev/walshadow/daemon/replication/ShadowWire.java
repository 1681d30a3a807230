package dev.walshadow.daemon.replication;

import dev.walshadow.shadow.ShadowSessions;
import dev.walshadow.shadow.WalSender;
import dev.walshadow.source.WireSink;

/** Filtered bytes go to the shadow; its idle sessions are told before what replay does to them. */
record ShadowWire(WalSender sender, ShadowSessions sessions) implements WireSink {
    @Override
    public void publish(long startLsn, byte[] bytes, int offset, int length) {
        sender.publish(startLsn, bytes, offset, length);
    }

    @Override
    public void invalidates(long messages) {
        sessions.invalidates(messages);
    }
}
