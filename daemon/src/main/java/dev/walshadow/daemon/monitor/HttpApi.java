package dev.walshadow.daemon.monitor;

import com.sun.net.httpserver.HttpExchange;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.control.ControlServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The control socket's requests over HTTP. Whoever reaches the listener may read; to change
 * something takes the token, in a header that no other web site can make a browser send.
 */
final class HttpApi {
    static final String ROOT = "/api/v1/";

    private static final JsonMapper JSON = new JsonMapper();
    private static final int BODY_LIMIT = 1 << 16;

    /** What is sent back. */
    record Reply(int code, JsonNode body, Map<String, String> headers) {
        static Reply error(int code, String message) {
            return new Reply(
                    code, JSON.createObjectNode().put("ok", false).put("error", message), Map.of());
        }
    }

    private final ControlServer.Handler handler;
    private volatile @Nullable ApiToken token;

    HttpApi(ControlServer.Handler handler, @Nullable ApiToken token) {
        this.handler = handler;
        this.token = token;
    }

    /** Null: nobody may change anything. */
    void admit(@Nullable ApiToken newToken) {
        token = newToken;
    }

    /** {@code read-only}, or {@code token}: with it one can change something. */
    String access() {
        return token == null ? "read-only" : "token";
    }

    Reply answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath().substring(ROOT.length());
        List<ApiRoute> there =
                ApiRoute.ALL.stream().filter(route -> route.path().equals(path)).toList();
        if (there.isEmpty()) {
            return Reply.error(404, "there is no " + ROOT + path + "; see /openapi.json");
        }
        Optional<ApiRoute> asked =
                there.stream()
                        .filter(route -> route.method().equals(exchange.getRequestMethod()))
                        .findFirst();
        if (asked.isEmpty()) {
            String method = there.getFirst().method();
            return new Reply(
                    405, Reply.error(405, "only " + method).body(), Map.of("Allow", method));
        }
        ApiRoute route = asked.get();
        Reply refused = route.changes() ? refusal(exchange) : null;
        return refused != null ? refused : answer(route, exchange);
    }

    private @Nullable Reply refusal(HttpExchange exchange) {
        ApiToken known = token;
        if (known == null) {
            return Reply.error(
                    403, "the API is read-only: set [http] token_file to change anything by it");
        }
        if (known.admits(exchange.getRequestHeaders().getFirst("Authorization"))) {
            return null;
        }
        return new Reply(
                401,
                Reply.error(401, "the header Authorization: Bearer TOKEN is missing or wrong")
                        .body(),
                Map.of("WWW-Authenticate", "Bearer realm=\"walshadow\""));
    }

    private Reply answer(ApiRoute route, HttpExchange exchange) throws IOException {
        try {
            ObjectNode request = JSON.createObjectNode();
            if (route.changes()) {
                byte[] body = exchange.getRequestBody().readNBytes(BODY_LIMIT + 1);
                if (body.length > BODY_LIMIT) {
                    return Reply.error(413, "the body has more than " + BODY_LIMIT + " bytes");
                }
                take(route, body, request);
            }
            JsonNode answer = handler.handle(request.put("command", route.command()));
            return new Reply(
                    200, route.part().isEmpty() ? answer : answer.path(route.part()), Map.of());
        } catch (JacksonException e) {
            return Reply.error(400, "the body is no JSON object: " + e.getOriginalMessage());
        } catch (IllegalArgumentException | WalshadowException e) {
            return Reply.error(400, String.valueOf(e.getMessage()));
        } catch (IllegalStateException e) {
            return Reply.error(503, String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Reply.error(503, "walshadow is stopping");
        }
    }

    /** An unknown key is told: it was meant to say something. */
    private static void take(ApiRoute route, byte[] body, ObjectNode request) {
        String text = new String(body, StandardCharsets.UTF_8);
        JsonNode given = text.isBlank() ? JSON.createObjectNode() : JSON.readTree(text);
        if (!given.isObject()) {
            throw new IllegalArgumentException("the body is no JSON object");
        }
        for (Map.Entry<String, JsonNode> entry : given.properties()) {
            ApiRoute.Type type = route.body().get(entry.getKey());
            if (type == null) {
                throw new IllegalArgumentException(
                        "unknown key " + entry.getKey() + "; there are " + route.body().keySet());
            }
            if (!fits(entry.getValue(), type)) {
                throw new IllegalArgumentException(entry.getKey() + " is no " + type);
            }
            request.set(entry.getKey(), entry.getValue());
        }
        for (String required : route.required()) {
            if (!given.has(required)) {
                throw new IllegalArgumentException("the body has no " + required);
            }
        }
    }

    private static boolean fits(JsonNode value, ApiRoute.Type type) {
        return switch (type) {
            case TEXT -> value.isString();
            case BOOLEAN -> value.isBoolean();
            case TEXTS -> value.isArray() && value.valueStream().allMatch(JsonNode::isString);
        };
    }

    /** What {@code /openapi.json} is. */
    static ObjectNode description() {
        return OpenApi.describe(JSON, ApiRoute.ALL);
    }
}
