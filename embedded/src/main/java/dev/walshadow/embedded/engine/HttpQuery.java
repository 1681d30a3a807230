package dev.walshadow.embedded.engine;

import com.clickhouse.client.api.internal.ClickHouseLZ4InputStream;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.zip.GZIPInputStream;
import net.jpountz.lz4.LZ4Factory;
import org.jspecify.annotations.Nullable;

/**
 * A request of ClickHouse's HTTP interface, taken apart: what is a setting, what a query parameter,
 * what is for the front itself.
 */
final class HttpQuery {
    /** URL parameters that are no settings (ClickHouse's HTTPHandler has the same list). */
    private static final Set<String> RESERVED =
            Set.of(
                    "query",
                    "database",
                    "default_format",
                    "compress",
                    "decompress",
                    "query_id",
                    "wait_end_of_query",
                    "buffer_size",
                    "user",
                    "password",
                    "quota_key",
                    "stacktrace",
                    "role",
                    "session_id",
                    "session_timeout",
                    "session_check",
                    "client_protocol_version",
                    "enable_http_compression",
                    "http_native_compression_disable_checksumming_on_decompress");

    private static final int LZ4_BUFFER_BYTES = 1 << 16;

    private final Headers headers;
    private final Map<String, String> url = new LinkedHashMap<>();
    private final Map<String, String> settings = new LinkedHashMap<>();
    private final Map<String, String> parameters = new LinkedHashMap<>();
    private final String queryId;

    private HttpQuery(HttpExchange exchange) {
        this.headers = exchange.getRequestHeaders();
        String raw = exchange.getRequestURI().getRawQuery();
        if (raw != null && !raw.isEmpty()) {
            for (String pair : raw.split("&", -1)) {
                int equals = pair.indexOf('=');
                String name = decode(equals < 0 ? pair : pair.substring(0, equals));
                url.put(name, equals < 0 ? "" : decode(pair.substring(equals + 1)));
            }
        }
        url.forEach((name, value) -> {
            if (name.startsWith("param_")) {
                parameters.put(name.substring("param_".length()), value);
            } else if (!RESERVED.contains(name) && !name.isEmpty()) {
                settings.put(name, value);
            }
        });
        if (exchange.getRequestMethod().equals("GET")) {
            settings.putIfAbsent("readonly", "2");
        }
        String given = first("query_id", "X-ClickHouse-Query-Id");
        this.queryId = given == null ? UUID.randomUUID().toString() : given;
    }

    static HttpQuery of(HttpExchange exchange) {
        return new HttpQuery(exchange);
    }

    /** The statement's beginning, when it travels in the URL. */
    byte[] urlStatement() {
        return url.getOrDefault("query", "").getBytes(StandardCharsets.UTF_8);
    }

    Map<String, String> settings() {
        return settings;
    }

    Map<String, String> parameters() {
        return parameters;
    }

    String queryId() {
        return queryId;
    }

    @Nullable String database() {
        String database = first("database", "X-ClickHouse-Database");
        return database == null || database.isEmpty() ? null : database;
    }

    String defaultFormat() {
        String format = first("default_format", "X-ClickHouse-Format");
        return format == null || format.isEmpty() ? "TabSeparated" : format;
    }

    boolean compressResponse() {
        return isOn("compress");
    }

    boolean waitForEnd() {
        return isOn("wait_end_of_query");
    }

    boolean asksForSession() {
        return url.containsKey("session_id");
    }

    /** Basic authentication, ClickHouse's headers or URL parameters, in this order. */
    String[] login() {
        String[] basic = Switches.basic(headers.getFirst("Authorization"));
        if (basic != null) {
            return basic;
        }
        String user = first("user", "X-ClickHouse-User");
        String password = first("password", "X-ClickHouse-Key");
        return new String[] {user == null ? "default" : user, password == null ? "" : password};
    }

    /** The body, decompressed as the request says. */
    InputStream body(InputStream raw) throws IOException {
        String encoding = headers.getFirst("Content-Encoding");
        InputStream decoded = raw;
        if (encoding != null && encoding.equalsIgnoreCase("gzip")) {
            decoded = new GZIPInputStream(raw, LZ4_BUFFER_BYTES);
        } else if (encoding != null && encoding.equalsIgnoreCase("lz4")) {
            decoded = new net.jpountz.lz4.LZ4FrameInputStream(raw);
        } else if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
            throw new EngineException(
                    EngineException.NOT_IMPLEMENTED,
                    "Unknown compression method " + encoding + " in Content-Encoding",
                    "NOT_IMPLEMENTED");
        }
        return isOn("decompress")
                ? new ClickHouseLZ4InputStream(
                        decoded, LZ4Factory.fastestInstance().fastDecompressor(), LZ4_BUFFER_BYTES)
                : decoded;
    }

    private boolean isOn(String name) {
        String value = url.getOrDefault(name, "0");
        return value.equals("1") || value.equalsIgnoreCase("true");
    }

    private @Nullable String first(String parameter, String header) {
        String value = url.get(parameter);
        return value == null ? headers.getFirst(header) : value;
    }

    private static String decode(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }
}
