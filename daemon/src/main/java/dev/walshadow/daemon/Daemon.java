package dev.walshadow.daemon;

import dev.walshadow.daemon.config.Configuration;
import tools.jackson.databind.node.ObjectNode;

/** The daemon. */
public final class Daemon implements AutoCloseable {
    public static Daemon open(Configuration configuration) {
        throw new UnsupportedOperationException();
    }
    public void start() {}
    public void awaitEnd() throws InterruptedException {}
    public ObjectNode status() { throw new UnsupportedOperationException(); }
    @Override
    public void close() {}
}
