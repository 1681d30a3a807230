package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Empties a table up to a version: every key whose newest version is below it gets a tombstone of
 * that version, by one statement in ClickHouse, on each shard. Running it twice changes nothing
 * more.
 */
final class Sweep {
    static final long POSTGRES_EPOCH_MICROS = 946_684_800_000_000L;

    /** Filters must see what FINAL leaves; a repeated statement must not be taken for a copy. */
    static final Map<String, String> SETTINGS =
            Map.of("optimize_move_to_prewhere", "0", "insert_deduplicate", "0");

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
            BigInteger high = new BigInteger(Long.toUnsignedString(commitPosition));
            BigInteger low = new BigInteger(Long.toUnsignedString(recordLsn & ~1L));
            return high.shiftLeft(64).or(low).toString();
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
        String ofLeaf =
                leaf == null
                        ? ""
                        : " AND "
                                + Ddl.identifier(leaf)
                                + " = "
                                + Integer.toUnsignedString(leafOid);
        String limit = "toUInt128('" + version.text() + "')";
        return "INSERT INTO "
                + target
                + " ("
                + names
                + ") SELECT "
                + keys
                + ", "
                + limit
                + ", 1, fromUnixTimestamp64Micro("
                + (version.commitMicros() + POSTGRES_EPOCH_MICROS)
                + ", 'UTC'), "
                + Integer.toUnsignedString(version.xid())
                + " FROM "
                + target
                + " FINAL WHERE "
                + Ddl.identifier(mapping.meta().version())
                + " < "
                + limit
                + ofLeaf;
    }
}
