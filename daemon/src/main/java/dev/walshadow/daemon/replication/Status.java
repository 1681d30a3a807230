package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.pipeline.PipelineMetrics;
import dev.walshadow.pipeline.TableState;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.pipeline.Watermark;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.shadow.ShadowCluster;
import java.util.Collection;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The daemon's state as one JSON object; its keys are described in docs/operations.md. */
final class Status {
    private Status() {}

    static ObjectNode of(
            JsonMapper json,
            Configuration configuration,
            Prepared prepared,
            FirstAttach firstAttach,
            @Nullable Assembly parts,
            @Nullable Throwable failure) {
        ObjectNode root = json.createObjectNode();
        String phase =
                failure != null ? "failed" : firstAttach.isDone() ? "streaming" : "bootstrap";
        root.put("phase", phase);
        root.put("source", prepared.sourceName());
        root.put(
                "target",
                configuration.get(Settings.CLICKHOUSE_URL).replaceFirst("//[^/@]*@", "//"));
        if (failure != null) {
            root.put("failure", String.valueOf(failure.getMessage()));
        }
        if (parts == null) {
            return root.put("ok", failure == null);
        }
        databases(root.putArray("databases"), prepared.databases());
        positions(root, parts);
        counters(root, parts.pipeline.metrics());
        ShadowCluster.Health health = parts.shadow.health();
        root.putObject("shadow")
                .put("running", health.running())
                .put("pid", health.pid())
                .put("restarts", health.restarts())
                .put("applied", Lsn.format(parts.sender.appliedLsn()))
                .put("holds", parts.capture.holds())
                .put("hold_millis", parts.capture.holdNanos() / 1_000_000);
        if (!firstAttach.isDone()) {
            firstAttach.progress(root.putObject("bootstrap"));
        }
        loads(root.putArray("loads"), parts.loads.running());
        boolean whole = tables(root.putArray("tables"), parts.pipeline.tables());
        return root.put("ok", failure == null && whole);
    }

    private static void databases(ArrayNode into, FollowedDatabases databases) {
        databases.followed().stream().map(DatabaseDescriptor::name).sorted().forEach(into::add);
    }

    private static void positions(ObjectNode root, Assembly parts) {
        Watermark watermark = parts.pipeline.watermark();
        long handedOn = parts.pump.handedOn();
        root.put("received", Lsn.format(parts.pump.received()));
        root.put("handed_on", Lsn.format(handedOn));
        root.put("durable", Lsn.format(watermark.durableLsn()));
        root.put("lag_bytes", Math.max(0, handedOn - watermark.durableLsn()));
        root.put("resume_floor", Lsn.format(parts.progress.manifest().resumeFloor()));
        root.put("wal_bytes", parts.pump.walBytes());
        root.put("open_transactions", parts.buffer.counters().live());
        root.put("spilled_bytes", parts.buffer.counters().spilledBytes());
    }

    private static void counters(ObjectNode root, PipelineMetrics metrics) {
        root.put("rows", metrics.rows());
        root.put("tombstones", metrics.tombstones());
        root.put("baseline_rows", metrics.baselineRows());
        root.put("transactions", metrics.transactions());
        root.put("batches", metrics.batches());
        root.put("batch_bytes", metrics.batchBytes());
        root.put("retries", metrics.retries());
        root.put("commit_to_durable_millis", metrics.lastCommitToDurableMicros() / 1000);
        root.put("queued_bytes", metrics.queuedBytes());
        root.put("held_bytes", metrics.heldBytes());
    }

    private static void loads(ArrayNode into, Collection<LoadProgress> loads) {
        for (LoadProgress load : loads) {
            ObjectNode node =
                    into.addObject()
                            .put("name", load.ticket().shape().label())
                            .put("reason", load.ticket().reason())
                            .put("step", load.step())
                            .put("rows", load.rows())
                            .put("bytes", load.bytes());
            if (load.estimatedRows() > 0) {
                node.put("rows_estimated", load.estimatedRows());
            }
            if (!load.remaining().isNegative()) {
                node.put("eta_seconds", load.remaining().toSeconds());
            }
        }
    }

    /** Returns whether every table replicates. */
    private static boolean tables(ArrayNode into, Collection<TableStatus> tables) {
        boolean whole = true;
        for (TableStatus table : tables) {
            into.addObject()
                    .put("name", table.name().toString())
                    .put("target", table.targetDatabase() + "." + table.targetTable())
                    .put("state", table.state().name().toLowerCase(Locale.ROOT))
                    .put("rows", table.rows())
                    .put("discarded", table.discardedRows())
                    .put("last_commit", Lsn.format(table.lastCommitLsn()))
                    .put("reason", table.reason());
            whole &= table.state() != TableState.HELD && table.state() != TableState.QUARANTINED;
        }
        return whole;
    }

    /** What somebody who waits in vain should know. */
    static String explain(
            Prepared prepared,
            FirstAttach firstAttach,
            @Nullable Assembly parts,
            @Nullable Throwable failure) {
        if (failure != null) {
            return "the replication has failed: " + failure.getMessage();
        }
        if (parts == null || !firstAttach.isDone()) {
            return "the initial load is not finished: " + firstAttach.describe();
        }
        Collection<LoadProgress> loads = parts.loads.running();
        if (!loads.isEmpty()) {
            LoadProgress first = loads.iterator().next();
            return loads.size()
                    + " tables are being loaded from the source, among them "
                    + first.ticket().shape().label()
                    + " ("
                    + first.rows()
                    + " rows, "
                    + first.step()
                    + ")";
        }
        return "received "
                + Lsn.format(parts.pump.received())
                + ", durable "
                + Lsn.format(parts.pipeline.watermark().durableLsn());
    }
}
