package dev.walshadow.daemon.monitor;

import java.util.List;
import java.util.Map;

/**
 * One operation of the JSON API, and the request of the control socket that it stands for.
 *
 * @param method GET, or POST for what changes something
 * @param path below {@link HttpApi#ROOT}
 * @param part key of the answer that is given alone; empty: the whole answer
 * @param body keys of the request's body with their types
 * @param required of these keys
 */
record ApiRoute(
        String method,
        String path,
        String command,
        String part,
        String summary,
        Map<String, Type> body,
        List<String> required) {
    enum Type {
        TEXT,
        TEXTS,
        BOOLEAN
    }

    private static final Map<String, Type> TABLES = Map.of("tables", Type.TEXTS);

    static final List<ApiRoute> ALL =
            List.of(
                    get("status", "status", "", "Phase, positions, lag, tables: how it is."),
                    get("tables", "status", "tables", "The tables with state, rows and reason."),
                    get("settings", "settings", "", "Effective settings with origin, no secrets."),
                    get("events", "events", "", "The last messages of the log."),
                    get("prepared", "prepared", "", "Prepared transactions without an end yet."),
                    post(
                            "pause",
                            "Leave ClickHouse alone until resume, over restarts too.",
                            Map.of("reason", Type.TEXT)),
                    post("resume", "End a pause.", Map.of()),
                    post(
                            "reload",
                            "Read the configuration again and apply what can change live.",
                            Map.of()),
                    post(
                            "log",
                            "Log from this level on, until a restart.",
                            Map.of("level", Type.TEXT),
                            "level"),
                    post("add", "Follow tables that are left out.", TABLES, "tables"),
                    post(
                            "remove",
                            "Follow tables no longer; drop: their tables in ClickHouse go too.",
                            Map.of("tables", Type.TEXTS, "drop", Type.BOOLEAN),
                            "tables"),
                    post("resync", "Load tables anew from the source.", TABLES, "tables"));

    private static ApiRoute get(String path, String command, String part, String summary) {
        return new ApiRoute("GET", path, command, part, summary, Map.of(), List.of());
    }

    private static ApiRoute post(
            String command, String summary, Map<String, Type> body, String... required) {
        return new ApiRoute("POST", command, command, "", summary, body, List.of(required));
    }

    boolean changes() {
        return method.equals("POST");
    }
}
