package dev.walshadow.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Answers as an empty ClickHouse would that takes everything and keeps nothing, for {@link
 * StartTraining}: enough for a start without rows.
 */
final class TrainingTarget implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** System identifier; empty before a first attach. */
    private volatile String source = "";

    private TrainingTarget(HttpServer server) {
        this.server = server;
        server.createContext("/", this::answer);
        server.setExecutor(threads);
        server.start();
    }

    static TrainingTarget start() throws IOException {
        return new TrainingTarget(
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** From now on it says that this source was attached before. */
    void attached(String systemIdentifier) {
        source = systemIdentifier;
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String asked =
                    exchange.getRequestURI()
                            + new String(
                                    exchange.getRequestBody().readAllBytes(),
                                    StandardCharsets.UTF_8);
            byte[] rows = rows(asked).getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("X-ClickHouse-Format", "TabSeparated");
            exchange.sendResponseHeaders(200, 0); // in chunks, as ClickHouse does
            exchange.getResponseBody().write(rows);
        }
    }

    private String rows(String asked) {
        if (!source.isEmpty() && asked.contains("name = 'source'")) {
            return "1\n";
        }
        if (asked.contains("toString(system_identifier)")) {
            return source + "\ttraining\t1\n";
        }
        if (asked.contains("SELECT version()")) {
            return "25.8.1.1\n";
        }
        if (asked.contains("now64(3)")) {
            return System.currentTimeMillis() + "\n";
        }
        return asked.contains("SELECT 1") || asked.contains("CHECK GRANT") ? "1\n" : "";
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
