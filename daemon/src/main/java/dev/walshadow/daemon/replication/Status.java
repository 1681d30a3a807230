package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.state.TableDecisions;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.PipelineMetrics;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.pipeline.Watermark;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.shadow.ShadowCluster;
import dev.walshadow.source.spool.SpoolStatus;
import java.util.Collection;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The daemon's state as one JSON object; its keys are described in docs/operations.md. */
final class Status {
    private Status() {}

    /** The daemon without its tables, to which {@link #addTables} adds them. */
    static ObjectNode of(
            JsonMapper json,
            Prepared prepared,
            FirstAttach firstAttach,
            @Nullable Assembly parts,
            @Nullable Throwable failure) {
        ObjectNode root = json.createObjectNode();
        String phase =
                failure != null ? "failed" : firstAttach.isDone() ? "streaming" : "bootstrap";
        root.put("phase", phase);
        prepared.pause().write(root);
        root.put("source", prepared.sourceName());
        root.put(
                "target",
                prepared.client().shards().stream()
                        .map(ClickHouseClient::endpoint)
                        .collect(Collectors.joining(", ")));
        if (failure != null) {
            root.put("failure", String.valueOf(failure.getMessage()));
        }
        if (parts == null) {
            return root.put("ok", failure == null);
        }
        databases(root.putArray("databases"), prepared.databases());
        positions(root, parts);
        spool(root.putObject("spool"), parts.spool.status());
        counters(root, parts.pipeline.metrics());
        ShadowCluster.Health health = parts.shadow.health();
        root.putObject("shadow")
                .put("running", health.running())
                .put("pid", health.pid())
                .put("connected", parts.sender.connected())
                .put("restarts", health.restarts())
                .put("last_failure", health.lastFailure())
                .put("applied", Lsn.format(parts.sender.appliedLsn()))
                .put("holds", parts.capture.holds())
                .put("hold_millis", parts.capture.holdNanos() / 1_000_000)
                .put("hold_seconds", parts.capture.holdNanos() / 1e9);
        if (!firstAttach.isDone()) {
            firstAttach.progress(root.putObject("bootstrap"));
        }
        loads(root.putArray("loads"), parts.loads.running());
        root.put("sequences", parts.pipeline.sequences().size());
        decisions(root, prepared.selection().decisions());
        return root.put("ok", failure == null && parts.pipeline.isWhole());
    }

    private static void databases(ArrayNode into, FollowedDatabases databases) {
        databases.followed().stream().map(DatabaseDescriptor::name).sorted().forEach(into::add);
    }

    private static void decisions(ObjectNode root, TableDecisions decisions) {
        ArrayNode added = root.putArray("added");
        decisions.added().stream().map(RelationName::toString).sorted().forEach(added::add);
        ArrayNode removed = root.putArray("removed");
        decisions.removed().keySet().stream()
                .map(RelationName::toString)
                .sorted()
                .forEach(removed::add);
    }

    private static void positions(ObjectNode root, Assembly parts) {
        Watermark watermark = parts.pipeline.watermark();
        long handedOn = parts.pump.handedOn();
        root.put("received", Lsn.format(Math.max(parts.source.received(), parts.pump.received())));
        root.put("handed_on", Lsn.format(handedOn));
        root.put("durable", Lsn.format(watermark.durableLsn()));
        root.put("lag_bytes", Math.max(0, handedOn - watermark.durableLsn()));
        root.put("resume_floor", Lsn.format(parts.progress.manifest().resumeFloor()));
        root.put("wal_bytes", parts.pump.walBytes());
        root.put("open_transactions", parts.buffer.counters().live());
        root.put("spilled_bytes", parts.buffer.counters().spilledBytes());
        String waits = parts.buffer.counters().waitsForDisk();
        if (waits == null) {
            waits = parts.values.waits();
        }
        if (waits != null) {
            root.put("waits", waits);
        }
    }

    private static void spool(ObjectNode into, SpoolStatus spool) {
        into.put("state", spool.state());
        if (!spool.reason().isEmpty()) {
            into.put("reason", spool.reason());
        }
        into.put("bytes", spool.bytes());
        into.put("bytes_limit", spool.bytesLimit());
        into.put("headroom_bytes", spool.headroomBytes());
        into.put("end", Lsn.format(spool.end()));
        if (spool.durable() > 0) {
            into.put("durable", Lsn.format(spool.durable()));
        }
    }

    private static void counters(ObjectNode root, PipelineMetrics metrics) {
        root.put("rows", metrics.rows());
        root.put("tombstones", metrics.tombstones());
        root.put("tombstones_removed", metrics.tombstonesRemoved());
        root.put("baseline_rows", metrics.baselineRows());
        root.put("transactions", metrics.transactions());
        root.put("batches", metrics.batches());
        root.put("batch_bytes", metrics.batchBytes());
        root.put("retries", metrics.retries());
        root.put("commit_to_durable_millis", metrics.lastCommitToDurableMicros() / 1000);
        root.put("queued_bytes", metrics.queuedBytes());
        root.put("held_bytes", metrics.heldBytes());
        root.put("waiting_bytes", metrics.deferredBytes());
        root.put("undurable_transactions", metrics.undurableTransactions());
        root.put("last_insert_seconds", metrics.lastInsertMicros() / 1e6);
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

    static void addTables(ObjectNode root, Pipeline pipeline) {
        ArrayNode into = root.putArray("tables");
        for (TableStatus table : pipeline.tables()) {
            ObjectNode node = into.addObject();
            changedValues(node, pipeline, table);
            node.put("name", table.name().toString())
                    .put("target", table.targetDatabase() + "." + table.targetTable())
                    .put("state", table.state().name().toLowerCase(Locale.ROOT))
                    .put("rows", table.rows())
                    .put("discarded", table.discardedRows())
                    .put("last_commit", Lsn.format(table.lastCommitLsn()))
                    .put("reason", table.reason());
        }
    }

    private static void changedValues(ObjectNode table, Pipeline pipeline, TableStatus of) {
        ObjectNode all = table.objectNode();
        ObjectNode columns = table.objectNode();
        pipeline.changedValues(of.databaseOid(), of.relationOid())
                .forEach((column, counts) -> {
                    ObjectNode own = columns.putObject(column);
                    counts.forEach((policy, count) -> {
                        String name = policy.name().toLowerCase(Locale.ROOT);
                        own.put(name, count);
                        all.put(name, all.path(name).asLong(0) + count);
                    });
                });
        if (!columns.isEmpty()) {
            table.set("values_changed", all);
            table.set("columns_changed", columns);
        }
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
        String pause = prepared.pause().describe();
        if (!pause.isEmpty()) {
            return "the replication is " + pause;
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
