package dev.walshadow.pipeline;

import dev.walshadow.base.Invariant;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.postgres.Lsn;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Names that somebody gave to positions of the stream, {@code markers} in the metadata database: a
 * row is there when everything that committed at or before it is visible. Added by the pump,
 * written by housekeeping. Writing one again changes nothing.
 */
final class Markers {
    static final String TABLE = "markers";

    /** More wait only if ClickHouse is away. */
    private static final int MAX_WAITING = 10_000;

    private record Marker(String name, long position, long micros, long fromLsn) {}

    private final ClickHouseClient client;
    private final String database;
    private final long systemIdentifier;
    private final ConcurrentLinkedQueue<Marker> waiting = new ConcurrentLinkedQueue<>();
    private boolean exists;

    Markers(ClickHouseClient client, String database, long systemIdentifier) {
        this.client = client;
        this.database = database;
        this.systemIdentifier = systemIdentifier;
    }

    /**
     * @param micros commit time since 2000-01-01 UTC; 0: none
     * @param fromLsn where a restart must begin so that this comes again
     * @return false if too many wait
     */
    boolean add(String name, long position, long micros, long fromLsn) {
        return waiting.size() < MAX_WAITING
                && waiting.add(new Marker(name, position, micros, fromLsn));
    }

    /** Where a restart must begin to read so that none is lost. */
    long floor() {
        long floor = Long.MAX_VALUE;
        for (Marker each : waiting) {
            floor = Math.min(floor, each.fromLsn());
        }
        return floor;
    }

    /** Writes those that count now; throws what the client throws, and they stay. */
    void write(long durableLsn) {
        List<Marker> due =
                waiting.stream().filter(marker -> marker.position() <= durableLsn).toList();
        if (due.isEmpty()) {
            return;
        }
        if (!exists) {
            client.execute(
                    "CREATE TABLE IF NOT EXISTS "
                            + Ddl.qualified(database, TABLE)
                            + " (system_identifier UInt64, name String, lsn UInt64, position"
                            + " String, commit_ts DateTime64(6, 'UTC'), revision UInt64) ENGINE ="
                            + " ReplacingMergeTree(revision) ORDER BY (system_identifier, name,"
                            + " lsn)");
            exists = true;
        }
        client.insert(database, TABLE, block(due), UUID.randomUUID().toString());
        Invariant.check(waiting.removeAll(due), "what was written had waited");
    }

    private NativeBlock block(List<Marker> due) {
        NativeBlock block =
                new NativeBlock(
                        List.of(
                                "system_identifier",
                                "name",
                                "lsn",
                                "position",
                                "commit_ts",
                                "revision"),
                        List.of(
                                ClickHouseType.Scalar.UINT64,
                                ClickHouseType.Scalar.STRING,
                                ClickHouseType.Scalar.UINT64,
                                ClickHouseType.Scalar.STRING,
                                new ClickHouseType.DateTime64(6, "UTC"),
                                ClickHouseType.Scalar.UINT64));
        for (Marker marker : due) {
            block.fixed(0).appendLong(systemIdentifier);
            block.appendText(1, marker.name());
            block.fixed(2).appendLong(marker.position());
            block.appendText(3, Lsn.format(marker.position()));
            block.fixed(4)
                    .appendLong(
                            marker.micros() == 0
                                    ? 0
                                    : marker.micros() + Sweep.POSTGRES_EPOCH_MICROS);
            block.fixed(5).appendLong(marker.position());
        }
        return block;
    }
}
