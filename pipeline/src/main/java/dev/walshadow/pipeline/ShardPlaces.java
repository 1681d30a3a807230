package dev.walshadow.pipeline;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NativeBlock;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which shard each ClickHouse is, of how many: table {@code shard} of the metadata database on each
 * of several shards. With another number or order of them, rows would land where their earlier
 * versions are not.
 */
final class ShardPlaces {
    static final String TABLE = "shard";

    private final List<ClickHouseClient> shards;
    private final String database;
    private final String systemIdentifier;

    ShardPlaces(ClickHouseClient client, String database, long systemIdentifier) {
        this.shards = client.shards();
        this.database = database;
        this.systemIdentifier = Long.toUnsignedString(systemIdentifier);
    }

    /**
     * Looks whether all that is there fits the configuration.
     *
     * @param attached the first shard has the source's ledger
     * @param complete false: a shard may have lost its number, in a removal that was interrupted
     * @throws ConfigurationException if a shard is another one, or another source's
     */
    void check(boolean attached, boolean complete) {
        for (int i = 0; i < shards.size(); i++) {
            ClickHouseClient shard = shards.get(i);
            if (i > 0) {
                requireNoSource(shard, i);
            }
            String found = found(shard);
            String expected = (i + 1) + " of " + shards.size();
            boolean absent = found == null;
            boolean fits =
                    absent ? shards.size() == 1 || !attached || !complete : expected.equals(found);
            if (!fits) {
                throw misplaced(shard, expected, absent ? "no shard at all" : "shard " + found);
            }
        }
    }

    /** Its number and how many there are; null: it has not been told. */
    private @Nullable String found(ClickHouseClient shard) {
        if (!has(shard, TABLE)) {
            return null;
        }
        List<@Nullable String[]> rows =
                shard.query(
                        "SELECT toString(system_identifier), concat(toString(number), ' of ',"
                                + " toString(shards)) FROM "
                                + Ddl.qualified(database, TABLE)
                                + " FINAL");
        for (@Nullable String[] row : rows) {
            if (!systemIdentifier.equals(row[0])) {
                throw foreign(shard, String.valueOf(row[0]));
            }
        }
        return rows.isEmpty() ? null : rows.getFirst()[1];
    }

    /** Whether any of them has been told which it is. */
    boolean areTold() {
        return shards.stream().anyMatch(shard -> has(shard, TABLE));
    }

    /** A ledger there is one of somebody else, who has that ClickHouse as the first or only one. */
    private void requireNoSource(ClickHouseClient shard, int index) {
        if (has(shard, "source")) {
            String owner =
                    shard.queryValue(
                            "SELECT toString(system_identifier) FROM "
                                    + Ddl.qualified(database, "source"));
            if (owner == null || owner.equals(systemIdentifier)) {
                throw misplaced(
                        shard,
                        (index + 1) + " of " + shards.size(),
                        "the first shard, or the only");
            }
            throw foreign(shard, owner);
        }
    }

    private boolean has(ClickHouseClient shard, String table) {
        return "1"
                .equals(
                        shard.queryValue(
                                "SELECT count() FROM system.tables WHERE database = "
                                        + Ddl.literal(database)
                                        + " AND name = "
                                        + Ddl.literal(table)));
    }

    private ConfigurationException misplaced(
            ClickHouseClient shard, String expected, String found) {
        return new ConfigurationException(
                PipelineCodes.SHARDS,
                "ClickHouse at "
                        + shard.endpoint()
                        + " cannot be shard "
                        + expected
                        + ": the database "
                        + database
                        + " there says that it is "
                        + found
                        + ". Every row lies on a shard by its key, so their number and order stay:"
                        + " set [clickhouse] shards as it was. To have other shards, run walshadow"
                        + " uninstall --drop-tables with the shards of before, then start with the"
                        + " new ones, which loads everything anew");
    }

    private ConfigurationException foreign(ClickHouseClient shard, String owner) {
        return new ConfigurationException(
                PipelineCodes.FOREIGN_METADATA,
                "the ClickHouse database "
                        + database
                        + " at "
                        + shard.endpoint()
                        + " belongs to another source: expected system identifier "
                        + systemIdentifier
                        + ", found "
                        + owner
                        + ". Choose another metadata database for this source, or other shards");
    }

    /** Tells each shard which one it is; nothing to do if there is only one. */
    void create() {
        if (shards.size() == 1) {
            return;
        }
        for (int i = 0; i < shards.size(); i++) {
            ClickHouseClient shard = shards.get(i);
            shard.execute(Ddl.createDatabase(database));
            shard.execute(
                    "CREATE TABLE IF NOT EXISTS "
                            + Ddl.qualified(database, TABLE)
                            + " (system_identifier UInt64, number UInt16, shards UInt16, revision"
                            + " UInt64) ENGINE = ReplacingMergeTree(revision) ORDER BY"
                            + " system_identifier");
            NativeBlock block =
                    new NativeBlock(
                            List.of("system_identifier", "number", "shards", "revision"),
                            List.of(Scalar.UINT64, Scalar.UINT16, Scalar.UINT16, Scalar.UINT64));
            fixed(block, 0).appendLong(Long.parseUnsignedLong(systemIdentifier));
            fixed(block, 1).appendShort(i + 1);
            fixed(block, 2).appendShort(shards.size());
            fixed(block, 3).appendLong(System.currentTimeMillis());
            shard.insert(database, TABLE, block, UUID.randomUUID().toString());
        }
    }

    private static FixedColumn fixed(NativeBlock block, int column) {
        return (FixedColumn) block.column(column);
    }
}
