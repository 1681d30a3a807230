package dev.walshadow.daemon.replication;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.monitor.PositionClock;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.TransactionCounters;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** How far each stage is, what it holds, and which one the others wait for. */
final class Stages {
    /** A stage that is this far behind while others wait is the one to look at. */
    private static final long LAG_BYTES = 16L << 20;

    private static final double LAG_SECONDS = 5;
    private static final double FULL = 0.9;

    private final ObjectNode root;
    private final Assembly parts;
    private final Observations seen;
    private final long now = System.nanoTime();

    private Stages(ObjectNode root, Assembly parts, Observations seen) {
        this.root = root;
        this.parts = parts;
        this.seen = seen;
    }

    /** Adds {@code stages}, {@code memory}, {@code slot} and what the bottleneck is drawn from. */
    static void write(
            ObjectNode root,
            Configuration configuration,
            Assembly parts,
            Observations seen,
            SourceWatch watch) {
        Stages stages = new Stages(root, parts, seen);
        stages.positions();
        stages.memory(configuration);
        root.put("source_connected", parts.live.isConnected());
        root.put(
                "source_state",
                parts.archived == null ? parts.sourceLog.state() : "following the archive");
        root.put("target_reachable", seen.targetReachable());
        if (!seen.targetReason().isEmpty()) {
            root.put("target_reason", seen.targetReason());
        }
        slot(root.putObject("slot").put("name", configuration.get(Settings.SOURCE_SLOT)), watch);
        TransactionCounters transactions = parts.buffer.counters();
        String disk = transactions.waitsForDisk();
        root.put("spill_waits", disk != null);
        if (disk != null) {
            root.put("spill_reason", disk);
        }
        root.put("spilled_transactions", transactions.spilledTransactions());
        root.put("prepared_transactions", transactions.prepared());
        bottleneck(root);
    }

    private void positions() {
        ArrayNode into = root.putArray("stages");
        long source = Math.max(seen.clock.newest(), parts.pump.received());
        stage(into, "source", source, source);
        stage(into, "received", parts.pump.received(), source);
        stage(into, "handed_on", parts.pump.handedOn(), source);
        stage(into, "shadow", parts.sender.appliedLsn(), source);
        stage(into, "durable", parts.pipeline.watermark().durableLsn(), source);
        stage(into, "confirmed", parts.status.flushLsn(), source);
    }

    /** A stage that has not begun has no position. */
    private void stage(ArrayNode into, String name, long position, long source) {
        if (position == 0) {
            return;
        }
        PositionClock clock = seen.clock;
        into.addObject()
                .put("name", name)
                .put("position", Lsn.format(position))
                .put("lag_bytes", Math.max(0, source - position))
                .put("lag_seconds", round(clock.nanosBehind(position, now) / 1e9));
    }

    private static double round(double seconds) {
        return Math.round(seconds * 1_000) / 1_000.0;
    }

    private void memory(Configuration configuration) {
        ArrayNode into = root.putArray("memory");
        var metrics = parts.pipeline.metrics();
        area(
                into,
                "transactions",
                parts.buffer.counters().memoryBytes(),
                configuration.get(Settings.MEMORY_TRANSACTIONS));
        area(into, "queue", metrics.queuedBytes(), Assembly.QUEUE_BYTES);
        area(into, "batches", metrics.heldBytes(), configuration.get(Settings.MEMORY_BATCHES));
        area(
                into,
                "recent values",
                parts.pipeline.recentValueBytes(),
                configuration.get(Settings.MEMORY_RECENT_VALUES));
        Runtime process = Runtime.getRuntime();
        area(into, "heap", process.totalMemory() - process.freeMemory(), process.maxMemory());
    }

    private static void area(ArrayNode into, String name, long bytes, long limit) {
        into.addObject().put("area", name).put("bytes", bytes).put("limit", limit);
    }

    private static void slot(ObjectNode into, SourceWatch watch) {
        SourceWatch.Slot slot = watch.slot();
        if (slot == null) {
            into.put("problem", watch.problem().isEmpty() ? "not known yet" : watch.problem());
            return;
        }
        into.put("active", slot.active())
                .put("wal_status", slot.walStatus())
                .put("restart", Lsn.format(slot.restartLsn()))
                .put("retained_bytes", slot.retainedBytes());
        if (slot.safeWalBytes() != null) {
            into.put("safe_wal_bytes", slot.safeWalBytes());
        }
    }

    /** Names the stage that the others wait for, by the status alone; none while all keep up. */
    static void bottleneck(ObjectNode root) {
        if (!root.path("source_connected").asBoolean(false)) {
            bottleneck(root, "source", root.path("source_state").asString(""));
        } else if (root.path("paused").asBoolean(false)) {
            bottleneck(root, "clickhouse", "it is paused by an operator");
        } else if (!root.path("target_reachable").asBoolean(false)) {
            bottleneck(root, "clickhouse", root.path("target_reason").asString(""));
        } else if (root.path("spill_waits").asBoolean(false)) {
            bottleneck(root, "transactions", root.path("spill_reason").asString(""));
        } else if (isFull(root, "batches")) {
            bottleneck(root, "clickhouse", "batches wait until ClickHouse takes more INSERTs");
        } else if (isFull(root, "queue")) {
            bottleneck(root, "decode", "records wait for [pipeline] decoders");
        } else if (lag(root, "shadow", "lag_seconds") - lag(root, "handed_on", "lag_seconds")
                > LAG_SECONDS) {
            bottleneck(root, "shadow", "the shadow replays more slowly than the stream goes on");
        } else if (lag(root, "received", "lag_bytes") > LAG_BYTES) {
            bottleneck(root, "receive", "the source's WAL arrives more slowly than it is written");
        }
    }

    private static void bottleneck(ObjectNode root, String stage, String reason) {
        root.putObject("bottleneck").put("stage", stage).put("reason", reason);
    }

    private static boolean isFull(ObjectNode root, String area) {
        for (var memory : root.path("memory")) {
            if (memory.path("area").asString("").equals(area)) {
                return memory.path("bytes").asDouble(0) >= FULL * memory.path("limit").asDouble(0);
            }
        }
        return false;
    }

    private static double lag(ObjectNode root, String stage, String key) {
        for (var each : root.path("stages")) {
            if (each.path("name").asString("").equals(stage)) {
                return each.path(key).asDouble(0);
            }
        }
        return 0;
    }
}
