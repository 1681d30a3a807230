package dev.walshadow.pipeline;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.postgres.Lsn;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * walshadow's own database in ClickHouse. Every table keeps the newest row per key, so rows are
 * only ever inserted. The statements are the schema's documentation; {@code format} in {@code
 * source} grows when an older walshadow must not write there.
 *
 * <pre>
 * source     one row: the source cluster that the database belongs to
 * tables     one row per table or partition: state, reason, pinned mapping
 * watermark  one row: how far everything is durable
 * markers    one row per named position; made by the first of them ({@link Markers})
 * toast_D_T  chunks of a table's TOAST relation, if they are kept ({@link ChunkMirror})
 * _sequences one row per sequence; made by the first of them ({@link SequenceTable})
 * shard      on each of several shards, one row: which it is ({@link ShardPlaces})
 * </pre>
 *
 * <p>Of several shards the first one has all the others.
 */
final class MetadataDatabase {
    static final int FORMAT = 1;

    /** Of a source whose rows lie on several shards. */
    private static final int SHARDED_FORMAT = 2;

    /** The one that tells whose they are last. */
    static final List<String> TABLES =
            List.of(
                    "tables",
                    "watermark",
                    Markers.TABLE,
                    SequenceTable.TABLE,
                    ShardPlaces.TABLE,
                    "source");

    /**
     * A row of {@code tables}.
     *
     * @param mapping of the table that is in ClickHouse; of one that loads: that it will have
     * @param sinceLsn commits below need not arrive any more
     * @param rootOid of a partition: the partitioned table that its rows go to; else 0
     * @param pendingMapping that the table is being altered to, from {@code sinceLsn} on; or empty
     */
    record LedgerRow(
            int databaseOid,
            int relationOid,
            String schema,
            String name,
            String targetDatabase,
            String targetTable,
            TableState state,
            String reason,
            long positionLsn,
            long baselineLsn,
            long discardedRows,
            String mapping,
            long sinceLsn,
            String pendingMapping,
            int rootOid) {
        TableStatus status() {
            return new TableStatus(
                    databaseOid,
                    relationOid,
                    new RelationName(schema, name),
                    targetDatabase,
                    targetTable,
                    state,
                    reason,
                    positionLsn,
                    baselineLsn,
                    0,
                    0,
                    discardedRows,
                    0,
                    0);
        }

        /** The same table, to be dropped and made anew if it was ever made. */
        LedgerRow startedOver() {
            return anew(targetTable.isEmpty() ? TableState.HELD : TableState.LOADING);
        }

        /** The same table, which is followed no longer. */
        LedgerRow dropped() {
            return anew(TableState.DROPPED);
        }

        /** True if it has a table in ClickHouse of its own. */
        boolean hasTarget() {
            return rootOid == 0 && !targetTable.isEmpty() && state != TableState.DROPPED;
        }

        private LedgerRow anew(TableState now) {
            return new LedgerRow(
                    databaseOid,
                    relationOid,
                    schema,
                    name,
                    targetDatabase,
                    targetTable,
                    now,
                    "",
                    0,
                    0,
                    0,
                    mapping,
                    0,
                    "",
                    rootOid);
        }
    }

    private final ClickHouseClient client;
    private final String database;
    private final long systemIdentifier;
    private final String sourceName;
    private long revision;
    private final ShardPlaces places;
    private @Nullable Long keptCommitMicros;

    MetadataDatabase(
            ClickHouseClient client, String database, long systemIdentifier, String sourceName) {
        this.client = client;
        this.database = database;
        this.systemIdentifier = systemIdentifier;
        this.sourceName = sourceName;
        this.places = new ShardPlaces(client, database, systemIdentifier);
    }

    private String table(String name) {
        return Ddl.qualified(database, name);
    }

    /**
     * Whether the database exists and belongs to this source.
     *
     * @throws ConfigurationException if it belongs to another one, or to a newer walshadow, or is
     *     of other shards
     */
    boolean exists() {
        boolean there = hasSource();
        places.check(there, true);
        return there;
    }

    /** As {@link #exists}, where some of it may be removed, or not made yet. */
    boolean existsInPart() {
        boolean there = hasSource();
        places.check(there, false);
        return there || places.areTold();
    }

    private boolean hasSource() {
        String there =
                client.queryValue(
                        "SELECT count() FROM system.tables WHERE database = "
                                + Ddl.literal(database)
                                + " AND name = 'source'");
        if (!"1".equals(there)) {
            return false;
        }
        List<@Nullable String[]> rows =
                client.query(
                        "SELECT toString(system_identifier), name, toString(format) FROM "
                                + table("source")
                                + " FINAL");
        for (@Nullable String[] row : rows) {
            check(text(row[0]), text(row[1]), Integer.parseInt(text(row[2])));
        }
        return !rows.isEmpty();
    }

    private void check(String owner, String ownerName, int format) {
        if (!owner.equals(Long.toUnsignedString(systemIdentifier))) {
            throw new ConfigurationException(
                    PipelineCodes.FOREIGN_METADATA,
                    "the ClickHouse database "
                            + database
                            + " belongs to another source: expected system identifier "
                            + Long.toUnsignedString(systemIdentifier)
                            + " ("
                            + sourceName
                            + "), found "
                            + owner
                            + " ("
                            + ownerName
                            + "). Choose another metadata database and other target databases for"
                            + " this source, or connect to that source, or, if its replica is no"
                            + " longer wanted, drop the database "
                            + database
                            + " and its target tables");
        }
        if (format > SHARDED_FORMAT) {
            throw new ConfigurationException(
                    PipelineCodes.METADATA_NEWER,
                    "the ClickHouse database "
                            + database
                            + " was written by a newer walshadow: expected format "
                            + SHARDED_FORMAT
                            + ", found "
                            + format
                            + "; start that version");
        }
    }

    void create() {
        places.create();
        client.execute(Ddl.createDatabase(database));
        client.execute(
                "CREATE TABLE IF NOT EXISTS "
                        + table("source")
                        + " (system_identifier UInt64, name String, format UInt32,"
                        + " revision UInt64)"
                        + " ENGINE = ReplacingMergeTree(revision) ORDER BY system_identifier");
        client.execute(
                "CREATE TABLE IF NOT EXISTS "
                        + table("tables")
                        + " (system_identifier UInt64, database_oid UInt32, relation_oid UInt32,"
                        + " schema String, name String, target_database String,"
                        + " target_table String, state String, reason String,"
                        + " position UInt64, baseline UInt64, discarded UInt64, mapping String,"
                        + " since UInt64, pending_mapping String,"
                        + " root_oid UInt32, revision UInt64)"
                        + " ENGINE = ReplacingMergeTree(revision)"
                        + " ORDER BY (system_identifier, database_oid, relation_oid)");
        client.execute(
                "CREATE TABLE IF NOT EXISTS "
                        + table("watermark")
                        + " (system_identifier UInt64, durable_lsn UInt64, durable String,"
                        + " commit_ts DateTime64(6, 'UTC'), revision UInt64)"
                        + " ENGINE = ReplacingMergeTree(revision) ORDER BY system_identifier");
        NativeBlock block =
                block(
                        List.of("system_identifier", "name", "format", "revision"),
                        List.of(Scalar.UINT64, Scalar.STRING, Scalar.UINT32, Scalar.UINT64));
        block.fixed(0).appendLong(systemIdentifier);
        block.appendText(1, sourceName);
        block.fixed(2).appendInt(client.isSharded() ? SHARDED_FORMAT : FORMAT);
        block.fixed(3).appendLong(nextRevision());
        insert("source", block);
    }

    /** The rows of this source; {@link #exists} has been true. */
    List<LedgerRow> readTables() {
        List<LedgerRow> rows = new ArrayList<>();
        for (@Nullable String[] row :
                client.query(
                        "SELECT database_oid, relation_oid, schema, name, target_database,"
                                + " target_table, state, reason, position, baseline, discarded,"
                                + " mapping, since, pending_mapping, root_oid, revision FROM "
                                + table("tables")
                                + " FINAL WHERE system_identifier = "
                                + Long.toUnsignedString(systemIdentifier)
                                + " ORDER BY database_oid, relation_oid")) {
            rows.add(
                    new LedgerRow(
                            Integer.parseUnsignedInt(text(row[0])),
                            Integer.parseUnsignedInt(text(row[1])),
                            text(row[2]),
                            text(row[3]),
                            text(row[4]),
                            text(row[5]),
                            TableState.valueOf(text(row[6])),
                            text(row[7]),
                            Long.parseUnsignedLong(text(row[8])),
                            Long.parseUnsignedLong(text(row[9])),
                            Long.parseUnsignedLong(text(row[10])),
                            text(row[11]),
                            Long.parseUnsignedLong(text(row[12])),
                            text(row[13]),
                            Integer.parseUnsignedInt(text(row[14]))));
            revision = Math.max(revision, Long.parseUnsignedLong(text(row[15])));
        }
        return rows;
    }

    void writeTables(Collection<LedgerRow> rows) {
        if (rows.isEmpty()) {
            return;
        }
        NativeBlock block =
                block(
                        List.of(
                                "system_identifier",
                                "database_oid",
                                "relation_oid",
                                "schema",
                                "name",
                                "target_database",
                                "target_table",
                                "state",
                                "reason",
                                "position",
                                "baseline",
                                "discarded",
                                "mapping",
                                "since",
                                "pending_mapping",
                                "root_oid",
                                "revision"),
                        List.of(
                                Scalar.UINT64,
                                Scalar.UINT32,
                                Scalar.UINT32,
                                Scalar.STRING,
                                Scalar.STRING,
                                Scalar.STRING,
                                Scalar.STRING,
                                Scalar.STRING,
                                Scalar.STRING,
                                Scalar.UINT64,
                                Scalar.UINT64,
                                Scalar.UINT64,
                                Scalar.STRING,
                                Scalar.UINT64,
                                Scalar.STRING,
                                Scalar.UINT32,
                                Scalar.UINT64));
        for (LedgerRow row : rows) {
            block.fixed(0).appendLong(systemIdentifier);
            block.fixed(1).appendInt(row.databaseOid());
            block.fixed(2).appendInt(row.relationOid());
            block.appendText(3, row.schema());
            block.appendText(4, row.name());
            block.appendText(5, row.targetDatabase());
            block.appendText(6, row.targetTable());
            block.appendText(7, row.state().name());
            block.appendText(8, row.reason());
            block.fixed(9).appendLong(row.positionLsn());
            block.fixed(10).appendLong(row.baselineLsn());
            block.fixed(11).appendLong(row.discardedRows());
            block.appendText(12, row.mapping());
            block.fixed(13).appendLong(row.sinceLsn());
            block.appendText(14, row.pendingMapping());
            block.fixed(15).appendInt(row.rootOid());
            block.fixed(16).appendLong(nextRevision());
        }
        insert("tables", block);
    }

    void writeWatermark(Watermark watermark) {
        NativeBlock block =
                block(
                        List.of(
                                "system_identifier",
                                "durable_lsn",
                                "durable",
                                "commit_ts",
                                "revision"),
                        List.of(
                                Scalar.UINT64,
                                Scalar.UINT64,
                                Scalar.STRING,
                                new ClickHouseType.DateTime64(6, "UTC"),
                                Scalar.UINT64));
        block.fixed(0).appendLong(systemIdentifier);
        block.fixed(1).appendLong(watermark.durableLsn());
        block.appendText(2, Lsn.format(watermark.durableLsn()));
        block.fixed(3).appendLong(commitMicros(watermark));
        block.fixed(4).appendLong(nextRevision());
        insert("watermark", block);
    }

    /** After a start no commit has become durable yet: what an earlier process has told stays. */
    private long commitMicros(Watermark watermark) {
        if (watermark.commitMicros() != 0) {
            return watermark.commitMicros() + Sweep.POSTGRES_EPOCH_MICROS;
        }
        Long kept = keptCommitMicros;
        if (kept == null) {
            String told =
                    client.queryValue(
                            "SELECT toUnixTimestamp64Micro(commit_ts) FROM "
                                    + table("watermark")
                                    + " FINAL WHERE system_identifier = "
                                    + Long.toUnsignedString(systemIdentifier));
            kept = told == null ? Sweep.POSTGRES_EPOCH_MICROS : Long.parseLong(told);
            keptCommitMicros = kept;
        }
        return kept;
    }

    private synchronized long nextRevision() {
        revision = Math.max(revision + 1, System.currentTimeMillis() * 1_000);
        return revision;
    }

    private void insert(String name, NativeBlock block) {
        client.insert(database, name, block, UUID.randomUUID().toString());
    }

    private static NativeBlock block(List<String> names, List<ClickHouseType> types) {
        return new NativeBlock(names, types);
    }

    private static String text(@Nullable String value) {
        return Objects.requireNonNull(value, "a column that cannot be NULL");
    }
}
