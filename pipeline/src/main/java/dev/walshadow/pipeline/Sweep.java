package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Empties a table up to a version: every key whose newest version is below it gets a tombstone of
 * that version, by one statement in ClickHouse, on each shard. Where every version stays, only keys
 * that are there: whose newest version is no tombstone. Running it twice changes nothing more.
 */
final class Sweep {
    static final long POSTGRES_EPOCH_MICROS = 946_684_800_000_000L;

    /** Filters must see what FINAL leaves; a repeated statement must not be taken for a copy. */
    static final Map<String, String> SETTINGS =
            Map.of(
                    "optimize_move_to_prewhere", "0",
                    "insert_deduplicate", "0",
                    "optimize_aggregation_in_order", "1");

    private Sweep() {}

    /**
     * Runs until ClickHouse has answered success.
     *
     * @throws dev.walshadow.base.QuarantineException if ClickHouse refuses the statement
     */
    static void run(Services services, TargetTable table, Version version)
            throws InterruptedException {
        String sql = statement(table.mapped(), table.relationOid(), table.place(), version);
        services.reachability()
                .until(
                        table,
                        () ->
                                services.client()
                                        .shards()
                                        .forEach(shard -> shard.execute(sql, SETTINGS)));
        services.metrics().sweeps.increment();
    }

    /** Where in the history the table is empty. */
    record Version(long commitPosition, long recordLsn, long commitMicros, int xid) {
        /** As UInt128; the lowest bit is 0, as in every tombstone. */
        String text() {
            return Versions.of(commitPosition, recordLsn & ~1L).toString();
        }
    }

    /**
     * @param leafOid of a partition, where the mapping is that of a partitioned table's table: only
     *     its rows
     */
    static String statement(TableMapping mapping, int leafOid, TargetName place, Version version) {
        String target = place.quoted();
        List<String> columns = new ArrayList<>(mapping.keyNames());
        String leaf = mapping.meta().leaf();
        if (leaf != null && !columns.contains(leaf)) {
            columns.add(leaf);
        }
        String keys = String.join(", ", columns.stream().map(Ddl::identifier).toList());
        String names =
                keys
                        + ", "
                        + mapping.meta().stored().stream()
                                .filter(name -> !columns.contains(name))
                                .map(Ddl::identifier)
                                .collect(Collectors.joining(", "));
        String oid = Integer.toUnsignedString(leafOid);
        String limit = "toUInt128('" + version.text() + "')";
        String current = mapping.meta().version();
        String rest =
                mapping.append()
                        ? current(mapping, leaf == null ? "" : Ddl.identifier(leaf), oid, limit)
                        : " FINAL WHERE "
                                + Ddl.identifier(current)
                                + " < "
                                + limit
                                + (leaf == null
                                        ? ""
                                        : " AND " + Ddl.identifier(leaf) + " = " + oid);
        String values =
                mapping.append() && leaf != null && !mapping.keyNames().contains(leaf)
                        ? keys.substring(0, keys.lastIndexOf(", ")) + ", " + oid
                        : keys;
        return "INSERT INTO "
                + target
                + " ("
                + names
                + ") SELECT "
                + values
                + ", "
                + limit
                + ", 1, fromUnixTimestamp64Micro("
                + (version.commitMicros() + POSTGRES_EPOCH_MICROS)
                + ", 'UTC'), "
                + Integer.toUnsignedString(version.xid())
                + " FROM "
                + target
                + rest;
    }

    /** Keys that are there, of which the newest of all versions is below the limit. */
    private static String current(TableMapping mapping, String leaf, String oid, String limit) {
        String version = Ddl.identifier(mapping.meta().version());
        return String.format(
                Locale.ROOT,
                " GROUP BY %s HAVING max(%s) < %s AND argMax(%s, %s) = 0%s",
                String.join(", ", mapping.keyNames().stream().map(Ddl::identifier).toList()),
                version,
                limit,
                Ddl.identifier(mapping.meta().isDeleted()),
                version,
                leaf.isEmpty()
                        ? ""
                        : String.format(
                                Locale.ROOT, " AND argMax(%s, %s) = %s", leaf, version, oid));
    }
}
