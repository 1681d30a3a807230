package dev.walshadow.source.replication;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

/** A TCP proxy that cuts each connection after so many bytes of the server's. */
final class CuttingProxy implements Closeable {
    private final ServerSocket listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger cuts = new AtomicInteger();
    private final int target;
    private final IntSupplier bytesUntilCut;
    private volatile boolean refusing;

    CuttingProxy(int target, IntSupplier bytesUntilCut) throws IOException {
        this.target = target;
        this.bytesUntilCut = bytesUntilCut;
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    int cuts() {
        return cuts.get();
    }

    /** Cuts what there is; while refusing, new connections end at once. */
    void refuse(boolean value) throws IOException {
        refusing = value;
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listener.accept();
                if (refusing) {
                    client.close();
                    continue;
                }
                Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                sockets.add(client);
                sockets.add(server);
                int limit = bytesUntilCut.getAsInt();
                Thread.ofVirtual().start(() -> copy(client, server, Integer.MAX_VALUE));
                Thread.ofVirtual().start(() -> copy(server, client, limit));
            }
        } catch (IOException e) {
            // Closed by the test.
        }
    }

    private void copy(Socket from, Socket to, int limit) {
        byte[] buffer = new byte[8192];
        int left = limit;
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            while (left > 0) {
                int count = in.read(buffer, 0, Math.min(buffer.length, left));
                if (count < 0) {
                    return;
                }
                out.write(buffer, 0, count);
                left -= limit == Integer.MAX_VALUE ? 0 : count;
            }
            cuts.incrementAndGet();
        } catch (IOException e) {
            // One side is gone; closing both is all there is to do.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        refuse(true);
    }
}
