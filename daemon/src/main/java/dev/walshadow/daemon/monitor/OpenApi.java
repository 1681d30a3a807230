package dev.walshadow.daemon.monitor;

import java.util.List;
import java.util.TreeMap;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Draws the OpenAPI document from the routes that there are. */
final class OpenApi {
    private static final String JSON_TYPE = "application/json";

    private OpenApi() {}

    static ObjectNode describe(JsonMapper json, List<ApiRoute> routes) {
        ObjectNode root = json.createObjectNode().put("openapi", "3.1.0");
        root.putObject("info")
                .put("title", "walshadow")
                .put("version", "1")
                .put("description", "What walshadow ctl does, by HTTP. See docs/operations.md.");
        ObjectNode paths = root.putObject("paths");
        for (ApiRoute route : routes) {
            operation(
                    route,
                    paths.putObject(HttpApi.ROOT + route.path())
                            .putObject(route.changes() ? "post" : "get"));
        }
        ObjectNode components = root.putObject("components");
        components
                .putObject("securitySchemes")
                .putObject("token")
                .put("type", "http")
                .put("scheme", "bearer")
                .put("description", "The first line of [http] token_file.");
        ObjectNode error = components.putObject("schemas").putObject("Error").put("type", "object");
        ObjectNode properties = error.putObject("properties");
        properties.putObject("ok").put("type", "boolean");
        properties.putObject("error").put("type", "string");
        return root;
    }

    private static void operation(ApiRoute route, ObjectNode into) {
        into.put("operationId", route.path()).put("summary", route.summary());
        if (route.changes()) {
            into.putArray("security").addObject().putArray("token");
        }
        if (!route.body().isEmpty()) {
            ObjectNode schema =
                    into.putObject("requestBody")
                            .put("required", !route.required().isEmpty())
                            .putObject("content")
                            .putObject(JSON_TYPE)
                            .putObject("schema")
                            .put("type", "object")
                            .put("additionalProperties", false);
            ObjectNode properties = schema.putObject("properties");
            new TreeMap<>(route.body())
                    .forEach((name, type) -> type(type, properties.putObject(name)));
            if (!route.required().isEmpty()) {
                route.required().forEach(schema.putArray("required")::add);
            }
        }
        ObjectNode responses = into.putObject("responses");
        responses
                .putObject("200")
                .put("description", "Done; the answer.")
                .putObject("content")
                .putObject(JSON_TYPE);
        error(responses, "400", "It cannot be done; error says why.");
        error(responses, "503", "The replication does not run.");
        if (route.changes()) {
            error(responses, "401", "The token is missing or wrong.");
            error(responses, "403", "No token is configured, so the API is read-only.");
        }
    }

    private static void type(ApiRoute.Type type, ObjectNode into) {
        switch (type) {
            case TEXT -> into.put("type", "string");
            case BOOLEAN -> into.put("type", "boolean");
            case TEXTS -> into.put("type", "array").putObject("items").put("type", "string");
        }
    }

    private static void error(ObjectNode responses, String code, String meaning) {
        responses
                .putObject(code)
                .put("description", meaning)
                .putObject("content")
                .putObject(JSON_TYPE)
                .putObject("schema")
                .put("$ref", "#/components/schemas/Error");
    }
}
