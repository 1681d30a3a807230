package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.walshadow.testkit.Installation;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

/** A daemon that tells a collector of its transactions. */
final class TracesTest {
    private static final String PATH = "/v1/traces";

    @Test
    void transactionsAreTracedAndACollectorThatIsAwayIsTold() throws Exception {
        Queue<String> posted = new ConcurrentLinkedQueue<>();
        HttpServer collector = collector(posted);
        try (Installation installation = Installation.start(17)) {
            installation.execute("CREATE TABLE traced (id int PRIMARY KEY)");
            String url = "http://127.0.0.1:" + collector.getAddress().getPort() + PATH;
            installation.configure("[traces]\nurl = \"" + url + "\"\nper_minute = 6000\n");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("INSERT INTO traced VALUES (1)");
            // spans are sent together, each five seconds
            installation.await(
                    "the transaction's trace",
                    () ->
                            posted.stream()
                                    .anyMatch(body ->
                                            body.contains("replicate")
                                                    && body.contains("deliver")
                                                    && body.contains("walshadow.commit_lsn")
                                                    && body.contains("walshadow.source")));
            collector.stop(0);
            installation.execute("INSERT INTO traced VALUES (2)");
            installation.await(
                    "the collector is missed", () -> log(installation).contains("WS-1954"));
            assertThat(log(installation)).doesNotContain("Exception in thread");
            assertThat(installation.verify().reason()).isEmpty();
        } finally {
            collector.stop(0);
        }
    }

    private static String log(Installation installation) {
        try {
            return Files.readString(installation.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static HttpServer collector(Queue<String> posted) throws IOException {
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext(
                PATH,
                exchange -> {
                    byte[] body = exchange.getRequestBody().readAllBytes();
                    if ("gzip".equals(exchange.getRequestHeaders().getFirst("Content-Encoding"))) {
                        body = new GZIPInputStream(new ByteArrayInputStream(body)).readAllBytes();
                    }
                    posted.add(new String(body, StandardCharsets.ISO_8859_1));
                    exchange.sendResponseHeaders(200, -1);
                    exchange.close();
                });
        server.start();
        return server;
    }
}
