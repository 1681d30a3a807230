package dev.walshadow.source.replication;

import java.io.Closeable;
import java.io.IOException;

/**
 * An opened, authenticated connection: what {@link ConnectionOpener} hands over.
 *
 * @param peer what messages call the server
 * @param socket closing it ends reads and writes of other threads
 */
record Wire(
        HostAddress host,
        String peer,
        Closeable socket,
        MessageReader reader,
        MessageWriter writer,
        ServerParameters parameters) {
    void closeSocket() {
        try {
            socket.close();
        } catch (IOException _) {
            // Nothing more can be done with this connection; its owner has moved on.
        }
    }
}
