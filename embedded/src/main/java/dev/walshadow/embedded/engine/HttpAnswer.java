package dev.walshadow.embedded.engine;

import com.clickhouse.client.api.internal.ClickHouseLZ4OutputStream;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import net.jpountz.lz4.LZ4Factory;
import org.jspecify.annotations.Nullable;

/** The answer to one query, with ClickHouse's headers. */
final class HttpAnswer {
    private static final int BUFFER_BYTES = 1 << 16;

    private final HttpExchange exchange;
    private final HttpQuery query;
    private final long startNanos = System.nanoTime();
    private String format;
    private @Nullable OutputStream body;

    HttpAnswer(HttpExchange exchange, HttpQuery query) {
        this.exchange = exchange;
        this.query = query;
        this.format = query.defaultFormat();
    }

    static void plain(HttpExchange exchange, int status, String text) throws IOException {
        drain(exchange);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/html; charset=UTF-8");
        exchange.sendResponseHeaders(status, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    /** A client that is still sending must be read to its end, or it sees no answer but a reset. */
    private static void drain(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().transferTo(OutputStream.nullOutputStream());
    }

    void format(String name) {
        format = name;
    }

    boolean begun() {
        return body != null;
    }

    /** Success so far: the headers leave, the result may follow. */
    OutputStream begin(EngineConnection.Summary summary) throws IOException {
        headers(summary);
        exchange.getResponseHeaders().set("Content-Type", contentType());
        exchange.sendResponseHeaders(200, 0);
        OutputStream out = new BufferedOutputStream(exchange.getResponseBody(), BUFFER_BYTES);
        body =
                query.compressResponse()
                        ? new ClickHouseLZ4OutputStream(
                                out, LZ4Factory.fastestInstance().fastCompressor(), BUFFER_BYTES)
                        : out;
        return body;
    }

    void empty(EngineConnection.Summary summary) throws IOException {
        headers(summary);
        exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=UTF-8");
        exchange.sendResponseHeaders(200, -1);
        exchange.close();
    }

    /**
     * The exception as the answer. When a result is under way already, its text ends the body and
     * the connection is cut, so that no client takes it for complete.
     */
    void fail(EngineException failure) throws IOException {
        byte[] text = (failure.text() + "\n").getBytes(StandardCharsets.UTF_8);
        OutputStream begun = body;
        if (begun != null) {
            begun.write(text);
            begun.flush();
            throw new IOException("the query failed after its first rows: " + failure.text());
        }
        drain(exchange);
        headers(EngineConnection.Summary.NONE);
        Headers headers = exchange.getResponseHeaders();
        headers.set("Content-Type", "text/plain; charset=UTF-8");
        headers.set("X-ClickHouse-Exception-Code", Integer.toString(failure.code()));
        exchange.sendResponseHeaders(failure.httpStatus(), text.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(text);
        }
    }

    /** Ends a body that was completely written. */
    void finish() throws IOException {
        if (body != null) {
            body.close();
        }
    }

    private void headers(EngineConnection.Summary summary) {
        Headers headers = exchange.getResponseHeaders();
        headers.set("X-ClickHouse-Server-Display-Name", "walshadow-embedded");
        headers.set("X-ClickHouse-Query-Id", query.queryId());
        headers.set("X-ClickHouse-Format", format);
        headers.set("X-ClickHouse-Timezone", "UTC");
        headers.set(
                "X-ClickHouse-Summary",
                String.format(
                        Locale.ROOT,
                        "{\"read_rows\":\"%d\",\"read_bytes\":\"%d\",\"written_rows\":\"%d\","
                                + "\"written_bytes\":\"%d\",\"total_rows_to_read\":\"0\","
                                + "\"result_rows\":\"%d\",\"result_bytes\":\"%d\","
                                + "\"elapsed_ns\":\"%d\"}",
                        summary.readRows(),
                        summary.readBytes(),
                        summary.writtenRows(),
                        summary.writtenBytes(),
                        summary.writtenRows(),
                        summary.writtenBytes(),
                        System.nanoTime() - startNanos));
    }

    private String contentType() {
        if (format.startsWith("JSON") && !format.endsWith("EachRow")) {
            return "application/json; charset=UTF-8";
        }
        if (format.startsWith("TabSeparated") || format.startsWith("TSV")) {
            return "text/tab-separated-values; charset=UTF-8";
        }
        if (format.startsWith("CSV")) {
            return "text/csv; charset=UTF-8; header=absent";
        }
        return format.startsWith("Pretty") || format.equals("Vertical")
                ? "text/plain; charset=UTF-8"
                : "application/octet-stream";
    }
}
