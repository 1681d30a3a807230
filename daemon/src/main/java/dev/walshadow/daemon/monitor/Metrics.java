package dev.walshadow.daemon.monitor;

import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.databind.JsonNode;

/**
 * Every metric there is. {@code docs/operations.md}, the dashboard and the alert rules in {@code
 * ops/} are checked against this list.
 */
public final class Metrics {
    static final String COMMIT_LATENCY = "walshadow_commit_to_durable_seconds";
    static final String COMMIT_LATENCY_HELP =
            "From a transaction's commit, by the source's clock, until it is durable in"
                    + " ClickHouse.";

    private static final List<Metric> ALL =
            List.of(
                    Metric.of(
                            "walshadow_ok",
                            "/ok",
                            "1: no failure, and every table is live or loading."),
                    Metric.each(
                            "walshadow_phase",
                            "",
                            "",
                            "1 for the phase: starting, bootstrap, streaming, failed.",
                            "phase",
                            "/phase"),
                    Metric.of(
                            "walshadow_paused",
                            "/paused",
                            "1: an operator has paused it; nothing is sent to ClickHouse."),
                    Metric.of(
                            "walshadow_uptime_seconds",
                            "/uptime_seconds",
                            "Since the daemon's start."),
                    // the stream
                    Metric.each(
                            "walshadow_position_bytes",
                            "/stages",
                            "/position",
                            "WAL position that a stage has reached.",
                            "stage",
                            "/name"),
                    Metric.each(
                            "walshadow_lag_bytes",
                            "/stages",
                            "/lag_bytes",
                            "WAL between a stage's position and the source's.",
                            "stage",
                            "/name"),
                    Metric.each(
                            "walshadow_lag_seconds",
                            "/stages",
                            "/lag_seconds",
                            "For how long the source has been beyond a stage's position.",
                            "stage",
                            "/name"),
                    Metric.of("walshadow_wal_bytes_total", "/wal_bytes", "WAL received."),
                    Metric.of(
                            "walshadow_source_connected",
                            "/source_connected",
                            "1: the source's WAL stream is connected."),
                    // the slot
                    Metric.of(
                            "walshadow_slot_retained_bytes",
                            "/slot/retained_bytes",
                            "WAL that the replication slot keeps on the source."),
                    Metric.of(
                            "walshadow_slot_safe_wal_bytes",
                            "/slot/safe_wal_bytes",
                            "WAL that the source may still write before the slot is lost; absent"
                                    + " without max_slot_wal_keep_size."),
                    Metric.each(
                            "walshadow_slot_wal_status",
                            "/slot",
                            "",
                            "1 for the slot's state: reserved, extended, unreserved, lost.",
                            "wal_status",
                            "/wal_status"),
                    Metric.of(
                            "walshadow_slot_active",
                            "/slot/active",
                            "1: the source sees the slot in use."),
                    // transactions
                    Metric.of(
                            "walshadow_transactions_total",
                            "/transactions",
                            "Committed transactions handed over."),
                    Metric.of(
                            "walshadow_open_transactions",
                            "/open_transactions",
                            "Transactions without an end yet, prepared ones included."),
                    Metric.of(
                            "walshadow_prepared_transactions",
                            "/prepared_transactions",
                            "Prepared transactions without an end yet."),
                    Metric.of(
                            "walshadow_undurable_transactions",
                            "/undurable_transactions",
                            "Committed transactions not durable in ClickHouse yet."),
                    Metric.of(
                            "walshadow_spilled_bytes_total",
                            "/spilled_bytes",
                            "Bytes of transactions written to disk."),
                    Metric.of(
                            "walshadow_spilled_transactions_total",
                            "/spilled_transactions",
                            "Transactions that went to disk."),
                    Metric.of(
                            "walshadow_spill_waits",
                            "/spill_waits",
                            "1: the stream waits for room on the spill disk."),
                    // memory
                    Metric.each(
                            "walshadow_memory_bytes",
                            "/memory",
                            "/bytes",
                            "Memory in use: transactions, queue (records to decode), batches, heap"
                                    + " (the whole process).",
                            "area",
                            "/area"),
                    Metric.each(
                            "walshadow_memory_limit_bytes",
                            "/memory",
                            "/limit",
                            "What an area of memory may hold.",
                            "area",
                            "/area"),
                    Metric.of(
                            "walshadow_waiting_bytes",
                            "/waiting_bytes",
                            "Changes that wait for old values, in memory and on disk."),
                    // ClickHouse
                    Metric.of(
                            "walshadow_target_reachable",
                            "/target_reachable",
                            "1: ClickHouse answers."),
                    Metric.of(
                            "walshadow_rows_total",
                            "/rows",
                            "Rows acknowledged by ClickHouse, tombstones and baseline rows"
                                    + " included."),
                    Metric.of(
                            "walshadow_tombstones_total", "/tombstones", "Of the rows, deletions."),
                    Metric.of(
                            "walshadow_tombstones_removed_total",
                            "/tombstones_removed",
                            "Tombstones gone from ClickHouse, by [tombstones] interval."),
                    Metric.of(
                            "walshadow_baseline_rows_total",
                            "/baseline_rows",
                            "Of the rows, those of initial loads."),
                    Metric.of("walshadow_batches_total", "/batches", "INSERTs acknowledged."),
                    Metric.of(
                            "walshadow_batch_bytes_total",
                            "/batch_bytes",
                            "Uncompressed bytes of acknowledged INSERTs."),
                    Metric.of(
                            "walshadow_insert_retries_total",
                            "/retries",
                            "INSERTs repeated because ClickHouse could not take them."),
                    Metric.of(
                            "walshadow_last_insert_seconds",
                            "/last_insert_seconds",
                            "Duration of the newest successful INSERT."),
                    // tables
                    Metric.each(
                            "walshadow_table_state",
                            "/tables",
                            "",
                            "1 for the table's state: loading, live, held, quarantined, dropped.",
                            "table",
                            "/name",
                            "state",
                            "/state"),
                    Metric.each(
                            "walshadow_table_rows_total",
                            "/tables",
                            "/rows",
                            "Rows of a table acknowledged by ClickHouse.",
                            "table",
                            "/name"),
                    Metric.each(
                            "walshadow_table_discarded_total",
                            "/tables",
                            "/discarded",
                            "Changes of a table that were discarded since it was set aside.",
                            "table",
                            "/name"),
                    Metric.each(
                            "walshadow_table_values_changed_total",
                            "/tables",
                            "/values_changed",
                            "Values that did not fit and were changed by a policy"
                                    + " (docs/types.md).",
                            "table",
                            "/name",
                            "policy",
                            Metric.ENTRY),
                    Metric.each(
                            "walshadow_load_rows",
                            "/loads",
                            "/rows",
                            "Rows read so far by the load of a table.",
                            "table",
                            "/name"),
                    Metric.of(
                            "walshadow_initial_load_bytes",
                            "/bootstrap/bytes",
                            "Bytes of the base backup received; absent when it is done."),
                    Metric.of(
                            "walshadow_initial_load_expected_bytes",
                            "/bootstrap/bytes_total",
                            "Bytes of the base backup expected."),
                    // the verification in the background
                    Metric.of(
                            "walshadow_verify_ranges_total",
                            "/verify/ranges",
                            "Ranges of rows compared with the source; absent while [verify]"
                                    + " interval is 0."),
                    Metric.of(
                            "walshadow_verify_rows_total",
                            "/verify/rows",
                            "Rows compared with the source by these."),
                    Metric.of(
                            "walshadow_verify_last_timestamp_seconds",
                            "/verify/last_checked_seconds",
                            "When the last range was compared, since 1970-01-01 UTC."),
                    Metric.each(
                            "walshadow_verify_differences",
                            "/verify/tables",
                            "/differences",
                            "Rows of a table that are known to differ from the source, at most"
                                    + " 100; 0 when they have become equal.",
                            "table",
                            "/name"),
                    // the shadow
                    Metric.of(
                            "walshadow_shadow_running",
                            "/shadow/running",
                            "1: the shadow's server process runs."),
                    Metric.of(
                            "walshadow_shadow_connected",
                            "/shadow/connected",
                            "1: the shadow receives WAL."),
                    Metric.of(
                            "walshadow_shadow_restarts_total",
                            "/shadow/restarts",
                            "Restarts of the shadow after it ended by itself."),
                    Metric.of(
                            "walshadow_shadow_holds_total",
                            "/shadow/holds",
                            "Waits of the stream for catalogs."),
                    Metric.of(
                            "walshadow_shadow_hold_seconds_total",
                            "/shadow/hold_seconds",
                            "Time spent in these waits."));

    private Metrics() {}

    /** Every metric's name with its meaning. */
    public static Map<String, String> meanings() {
        Map<String, String> meanings = new TreeMap<>();
        ALL.forEach(metric -> meanings.put(metric.name(), metric.help()));
        meanings.put(COMMIT_LATENCY, COMMIT_LATENCY_HELP);
        return meanings;
    }

    /** Writes the Prometheus text format. */
    static void write(JsonNode status, CommitLatency latency, OutputStream out) throws IOException {
        List<MetricSnapshot> found = new ArrayList<>();
        for (Metric metric : ALL) {
            MetricSnapshot snapshot = metric.read(status);
            if (snapshot != null) {
                found.add(snapshot);
            }
        }
        found.add(latency.histogram().collect());
        PrometheusTextFormatWriter.create().write(out, new MetricSnapshots(found));
    }

    static String contentType() {
        return PrometheusTextFormatWriter.CONTENT_TYPE;
    }
}
