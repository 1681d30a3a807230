package dev.walshadow.daemon.monitor;

import dev.walshadow.daemon.control.ControlServer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** A status as a daemon gives it, for what is drawn from it. */
final class Pages {
    private static final JsonMapper JSON = new JsonMapper();

    private Pages() {}

    static ObjectNode streaming() {
        return read(
                """
                {"phase":"streaming","source":"postgres://db/shop","target":"http://ch:8123",
                 "ok":false,"rows":1200,"tombstones":7,"tombstones_removed":2,"baseline_rows":1000,"transactions":90,
                 "batches":12,"batch_bytes":4096,"retries":2,"wal_bytes":65536,
                 "commit_to_durable_millis":42,"open_transactions":3,"prepared_transactions":1,
                 "undurable_transactions":4,"spilled_bytes":512,"spilled_transactions":1,
                 "spill_waits":false,"waiting_bytes":0,"last_insert_seconds":0.02,
                 "uptime_seconds":3725,"paused":false,"source_connected":true,
                 "source_state":"streaming from db:5432","target_reachable":true,
                 "resume_floor":"0/1000","durable":"0/2000",
                 "stages":[
                  {"name":"source","position":"0/3000","lag_bytes":0,"lag_seconds":0},
                  {"name":"received","position":"0/3000","lag_bytes":0,"lag_seconds":0},
                  {"name":"handed_on","position":"0/2F00","lag_bytes":256,"lag_seconds":0},
                  {"name":"shadow","position":"0/2800","lag_bytes":2048,"lag_seconds":0.1},
                  {"name":"durable","position":"0/2000","lag_bytes":4096,"lag_seconds":1.5},
                  {"name":"confirmed","position":"0/1000","lag_bytes":8192,"lag_seconds":3}],
                 "memory":[{"area":"transactions","bytes":1024,"limit":134217728},
                  {"area":"queue","bytes":0,"limit":33554432},
                  {"area":"batches","bytes":130000000,"limit":134217728},
                  {"area":"heap","bytes":100000000,"limit":400000000}],
                 "bottleneck":{"stage":"clickhouse",
                  "reason":"batches wait until ClickHouse takes more INSERTs"},
                 "slot":{"name":"walshadow","active":true,"wal_status":"reserved",
                  "restart":"0/1000","retained_bytes":8192,"safe_wal_bytes":1000000},
                 "shadow":{"running":true,"connected":true,"pid":4711,"restarts":1,
                  "applied":"0/2800","holds":5,"hold_millis":250,"hold_seconds":0.25},
                 "verify":{"interval_seconds":30,"ranges":12,"rows":9000,
                  "last_checked":"2026-01-02T03:04:05Z","last_checked_seconds":1767323045,
                  "last_table":"public.Orders","differences":0,
                  "tables":[{"name":"public.Orders","differences":0}],"different":[],
                  "left_out":[]},
                 "loads":[{"name":"public.big","reason":"it was rewritten","step":"reading rows",
                  "rows":500,"bytes":9000,"rows_estimated":2000,"eta_seconds":90}],
                 "tables":[
                  {"name":"public.Orders","target":"public.Orders","state":"live","rows":800,
                   "discarded":0,"reason":"","values_changed":{"clamped":3}},
                  {"name":"public.big","target":"public.big","state":"loading","rows":390,
                   "discarded":0,"reason":""},
                  {"name":"public.<b>bad</b>","target":"public.bad","state":"quarantined",
                   "rows":10,"discarded":5,"reason":"WS-1704 ClickHouse refuses its rows"}]}
                """);
    }

    static ObjectNode read(String text) {
        return (ObjectNode) JSON.readTree(text);
    }

    /** Remembers what is asked of the daemon, and says that it is done. */
    static final class Asked implements ControlServer.Handler {
        final List<JsonNode> requests = new CopyOnWriteArrayList<>();

        @Override
        public ObjectNode handle(JsonNode request) {
            requests.add(request);
            if (request.path("tables").toString().contains("absent")) {
                throw new IllegalArgumentException("no table that is followed is absent");
            }
            return JSON.createObjectNode().put("ok", true).put("tables", "of status");
        }
    }

    /** Shows whatever is set. */
    static final class Shown implements MonitorServer.View {
        final AtomicReference<ObjectNode> status = new AtomicReference<>(streaming());
        final CommitLatency latency = new CommitLatency();
        final EventLog events = new EventLog();

        @Override
        public ObjectNode status(boolean withTables) {
            ObjectNode shown = status.get().deepCopy();
            return withTables ? shown : shown.without("tables");
        }

        @Override
        public void describe(ObjectNode into) {
            events.write(into.putArray("events"));
            into.putArray("settings")
                    .addObject()
                    .put("key", "clickhouse.password")
                    .put("value", "***")
                    .put("origin", "environment WALSHADOW_CLICKHOUSE_PASSWORD");
        }

        @Override
        public CommitLatency latency() {
            return latency;
        }
    }
}
