package dev.walshadow.testkit.store;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Serves a directory as a bucket over HTTP, page by page; what is said is the protocol's. */
public abstract class BucketServer implements AutoCloseable {
    static final String XML = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

    private static final Pattern RANGE = Pattern.compile("bytes=(\\d+)-(\\d*)");

    private final Path root;
    private final HttpServer server;
    private final ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor();
    private final AtomicInteger failures = new AtomicInteger();

    /** Of a list's answer: so that tests see several. */
    private final int page;

    BucketServer(Path root, int page) {
        this.root = root;
        this.page = page;
        try {
            server =
                    HttpServer.create(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(workers);
    }

    final void start() {
        server.createContext(
                "/",
                exchange -> {
                    try (exchange) {
                        if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                            error(exchange, 503, "SlowDown");
                        } else {
                            answer(exchange);
                        }
                    }
                });
        server.start();
    }

    public final String endpoint() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** So many of the next requests are answered with a failure of the server. */
    public final void fail(int requests) {
        failures.set(requests);
    }

    abstract void answer(HttpExchange exchange) throws IOException;

    abstract void error(HttpExchange exchange, int status, String code) throws IOException;

    static Map<String, String> query(HttpExchange exchange) {
        Map<String, String> query = new HashMap<>();
        String text = exchange.getRequestURI().getRawQuery();
        for (String pair : text == null ? new String[0] : text.split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                query.put(
                        pair.substring(0, equals),
                        URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8));
            }
        }
        return query;
    }

    /**
     * Objects of one list's answer.
     *
     * @param next where the next one goes on; null at the end
     */
    record Page(List<Entry> entries, @Nullable String next) {}

    /** An object. */
    record Entry(String key, Path file) {
        long bytes() throws IOException {
            return Files.size(file);
        }
    }

    /** Directly below the prefix, behind the key {@code after}. */
    final Page list(String prefix, String after) throws IOException {
        List<Entry> all;
        try (Stream<Path> files = Files.walk(root)) {
            all =
                    files.filter(Files::isRegularFile)
                            .map(file -> new Entry(root.relativize(file).toString(), file))
                            .filter(entry -> entry.key().startsWith(prefix))
                            .filter(entry -> entry.key().indexOf('/', prefix.length()) < 0)
                            .filter(entry -> entry.key().compareTo(after) > 0)
                            .sorted((one, other) -> one.key().compareTo(other.key()))
                            .toList();
        }
        List<Entry> now = all.subList(0, Math.min(page, all.size()));
        return new Page(now, now.size() < all.size() ? now.getLast().key() : null);
    }

    /**
     * @param range of HTTP; null, or no range at all: the whole object
     * @param notFound the protocol's word
     */
    final void get(HttpExchange exchange, String key, @Nullable String range, String notFound)
            throws IOException {
        Path file = root.resolve(key).normalize();
        if (!file.startsWith(root) || !Files.isRegularFile(file)) {
            error(exchange, 404, notFound);
            return;
        }
        long size = Files.size(file);
        long from = 0;
        long end = size;
        Matcher bounds = RANGE.matcher(String.valueOf(range));
        boolean part = bounds.matches();
        if (part) {
            from = Long.parseLong(bounds.group(1));
            String last = bounds.group(2);
            end = last.isEmpty() ? size : Math.min(size, Long.parseLong(last) + 1);
            if (from >= size) {
                exchange.getResponseHeaders().set("Content-Range", "bytes */" + size);
                error(exchange, 416, "InvalidRange");
                return;
            }
            exchange.getResponseHeaders()
                    .set("Content-Range", "bytes " + from + "-" + (end - 1) + "/" + size);
        }
        exchange.sendResponseHeaders(part ? 206 : 200, end == from ? -1 : end - from);
        byte[] body = Files.readAllBytes(file);
        exchange.getResponseBody().write(body, (int) from, (int) (end - from));
    }

    static void send(HttpExchange exchange, int status, String type, String text)
            throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
    }

    @Override
    public final void close() {
        server.stop(0);
        workers.close();
    }
}
