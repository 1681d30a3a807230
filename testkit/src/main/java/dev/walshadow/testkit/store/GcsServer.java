package dev.walshadow.testkit.store;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Google Cloud Storage's JSON interface, as far as readers need it: objects.list with prefix,
 * delimiter and page token, objects.get with {@code alt=media} and ranges; and the token endpoint
 * of a service account, whose signature is not checked.
 */
public final class GcsServer extends BucketServer {
    private static final String JSON = "application/json";
    private static final String TOKEN = "token-of-the-test";

    private final String objects;

    public GcsServer(Path root, String bucket, int page) {
        super(root, page);
        this.objects = "/storage/v1/b/" + bucket + "/o";
        start();
    }

    /** Where accounts get their tokens. */
    public String tokenEndpoint() {
        return endpoint() + "/token";
    }

    @Override
    void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getRawPath().replaceFirst("^/download/", "/");
        String authorization = exchange.getRequestHeaders().getFirst("Authorization");
        if (path.equals("/token")) {
            exchange.getRequestBody().readAllBytes();
            send(
                    exchange,
                    200,
                    JSON,
                    "{\"access_token\":\""
                            + TOKEN
                            + "\",\"token_type\":\"Bearer\",\"expires_in\":3600}");
        } else if (!("Bearer " + TOKEN).equals(authorization)) {
            error(exchange, 401, "Invalid Credentials");
        } else if (path.equals(objects)) {
            list(exchange);
        } else if (path.startsWith(objects + "/")) {
            get(
                    exchange,
                    URLDecoder.decode(
                            path.substring(objects.length() + 1).replace("+", "%2B"),
                            StandardCharsets.UTF_8),
                    exchange.getRequestHeaders().getFirst("Range"),
                    "Not Found");
        } else {
            error(exchange, 404, "Not Found");
        }
    }

    private void list(HttpExchange exchange) throws IOException {
        Page page =
                list(
                        query(exchange).getOrDefault("prefix", ""),
                        query(exchange).getOrDefault("pageToken", ""));
        StringBuilder json = new StringBuilder("{\"kind\":\"storage#objects\",\"items\":[");
        String separator = "";
        for (Entry entry : page.entries()) {
            json.append(separator)
                    .append("{\"name\":\"")
                    .append(entry.key())
                    .append("\",\"size\":\"")
                    .append(entry.bytes())
                    .append("\",\"updated\":\"")
                    .append(Files.getLastModifiedTime(entry.file()).toInstant())
                    .append("\"}");
            separator = ",";
        }
        json.append(']');
        if (page.next() != null) {
            json.append(",\"nextPageToken\":\"").append(page.next()).append('"');
        }
        send(exchange, 200, JSON, json.append('}').toString());
    }

    @Override
    void error(HttpExchange exchange, int status, String code) throws IOException {
        send(
                exchange,
                status,
                JSON,
                "{\"error\":{\"code\":" + status + ",\"message\":\"" + code + "\"}}");
    }
}
