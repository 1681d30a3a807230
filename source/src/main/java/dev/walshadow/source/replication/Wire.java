package dev.walshadow.source.replication;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * An opened, authenticated connection: what {@link ConnectionOpener} hands over.
 *
 * @param peer what messages call the server
 * @param socket closing it ends reads and writes of other threads
 * @param tcp the TCP socket under it; null for a Unix socket
 */
record Wire(
        HostAddress host,
        String peer,
        Closeable socket,
        @Nullable PollingSocket tcp,
        MessageReader reader,
        MessageWriter writer,
        ServerParameters parameters) {
    /** Waits until a message begins to arrive; a Unix socket cannot tell and answers true. */
    boolean awaitMessage(int millis) {
        if (tcp == null || reader.hasBuffered()) {
            return true;
        }
        try {
            return tcp.awaitReadable(millis);
        } catch (IOException e) {
            return true; // The read that follows meets the same failure and reports it.
        }
    }

    /** Never waits: under TLS the TCP socket is closed itself, without a closing handshake. */
    void closeSocket() {
        try {
            if (tcp != null) {
                tcp.close();
            } else {
                socket.close();
            }
        } catch (IOException _) {
            // Nothing more can be done with this connection; its owner has moved on.
        }
    }
}
