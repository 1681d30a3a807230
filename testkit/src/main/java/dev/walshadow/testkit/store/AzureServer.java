package dev.walshadow.testkit.store;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Azure Blob Storage, as far as readers need it: List Blobs with prefix, delimiter and marker, Get
 * Blob with ranges. The account is the first part of paths, as with its emulators; that a request
 * is signed for it is checked, the signature is not.
 */
public final class AzureServer extends BucketServer {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.RFC_1123_DATE_TIME.withZone(ZoneOffset.UTC);

    private final String account;
    private final String container;

    public AzureServer(Path root, String account, String container, int page) {
        super(root, page);
        this.account = account;
        this.container = "/" + account + "/" + container;
        start();
    }

    @Override
    void answer(HttpExchange exchange) throws IOException {
        String authorization = exchange.getRequestHeaders().getFirst("Authorization");
        String path = exchange.getRequestURI().getPath();
        if (authorization == null || !authorization.startsWith("SharedKey " + account + ":")) {
            error(exchange, 403, "AuthenticationFailed");
        } else if (path.equals(container)) {
            list(exchange);
        } else if (path.startsWith(container + "/")) {
            String key = path.substring(container.length() + 1);
            exchange.getResponseHeaders().set("ETag", "\"0x1\"");
            exchange.getResponseHeaders().set("x-ms-blob-type", "BlockBlob");
            exchange.getResponseHeaders().set("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT");
            get(exchange, key, range(exchange), "BlobNotFound");
        } else {
            error(exchange, 404, "ContainerNotFound");
        }
    }

    private static @Nullable String range(HttpExchange exchange) {
        String own = exchange.getRequestHeaders().getFirst("x-ms-range");
        return own == null ? exchange.getRequestHeaders().getFirst("Range") : own;
    }

    private void list(HttpExchange exchange) throws IOException {
        Page page =
                list(
                        query(exchange).getOrDefault("prefix", ""),
                        query(exchange).getOrDefault("marker", ""));
        StringBuilder xml =
                new StringBuilder(XML)
                        .append("<EnumerationResults ContainerName=\"c\"><Delimiter>/</Delimiter>")
                        .append("<Blobs>");
        for (Entry entry : page.entries()) {
            xml.append("<Blob><Name>")
                    .append(entry.key())
                    .append("</Name><Properties><Last-Modified>")
                    .append(TIME.format(Files.getLastModifiedTime(entry.file()).toInstant()))
                    .append("</Last-Modified><Etag>0x1</Etag><Content-Length>")
                    .append(entry.bytes())
                    .append("</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>");
        }
        xml.append("</Blobs><NextMarker>")
                .append(Objects.requireNonNullElse(page.next(), ""))
                .append("</NextMarker></EnumerationResults>");
        send(exchange, 200, "application/xml", xml.toString());
    }

    @Override
    void error(HttpExchange exchange, int status, String code) throws IOException {
        exchange.getResponseHeaders().set("x-ms-error-code", code);
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(status, -1);
            return;
        }
        send(
                exchange,
                status,
                "application/xml",
                XML + "<Error><Code>" + code + "</Code><Message>" + code + "</Message></Error>");
    }
}
