package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.clickhouse.NullableColumn;
import dev.walshadow.postgres.Lsn;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The sequences' last values in ClickHouse, {@code _sequences} in the metadata database. The pump
 * says what is to be there; whoever writes, one at a time, inserts what differs from what is there.
 * Made by the first sequence.
 */
public final class SequenceTable {
    static final String TABLE = "_sequences";

    private static final List<String> COLUMNS =
            List.of(
                    "system_identifier",
                    "database_oid",
                    "sequence_oid",
                    "database",
                    "schema",
                    "name",
                    "last_value",
                    "is_called",
                    "lsn",
                    "position",
                    "revision",
                    "is_deleted");
    private static final List<ClickHouseType> TYPES =
            List.of(
                    Scalar.UINT64,
                    Scalar.UINT32,
                    Scalar.UINT32,
                    Scalar.STRING,
                    Scalar.STRING,
                    Scalar.STRING,
                    new ClickHouseType.Nullable(Scalar.INT64),
                    Scalar.BOOL,
                    Scalar.UINT64,
                    Scalar.STRING,
                    Scalar.UINT64,
                    Scalar.UINT8);

    private final ClickHouseClient client;
    private final String database;
    private final long systemIdentifier;
    private final Map<Long, SequenceRow> wanted = new ConcurrentHashMap<>();
    private volatile boolean changed;

    // the writer's
    private @Nullable Map<Long, SequenceRow> written;
    private long revision;

    SequenceTable(ClickHouseClient client, String database, long systemIdentifier) {
        this.client = client;
        this.database = database;
        this.systemIdentifier = systemIdentifier;
    }

    /** From now on the row of its sequence. Any thread, as the others. */
    public void put(SequenceRow row) {
        wanted.put(row.key(), row);
        changed = true;
    }

    public void remove(int databaseOid, int sequenceOid) {
        if (wanted.remove(Quarantine.key(databaseOid, sequenceOid)) != null) {
            changed = true;
        }
    }

    /** How many there are. */
    public int size() {
        return wanted.size();
    }

    /** Every sequence has been told that was there before: what else is there is gone. */
    public void told() {
        changed = true;
    }

    /** Writes what has changed; throws what the client throws, and that is tried again. */
    synchronized void write() {
        if (!changed) {
            return;
        }
        changed = false;
        boolean done = false;
        try {
            Map<Long, SequenceRow> there = there();
            List<SequenceRow> present = new ArrayList<>();
            for (SequenceRow row : wanted.values()) {
                SequenceRow old = there.get(row.key());
                // after a restart the stream has yet to come to what is there
                if (!row.equals(old) && (old == null || row.lsn() >= old.lsn())) {
                    present.add(row);
                }
            }
            List<SequenceRow> gone =
                    there.values().stream().filter(row -> !wanted.containsKey(row.key())).toList();
            if (!present.isEmpty() || !gone.isEmpty()) {
                client.insert(database, TABLE, block(present, gone), UUID.randomUUID().toString());
            }
            present.forEach(row -> there.put(row.key(), row));
            gone.forEach(row -> there.remove(row.key()));
            done = true;
        } finally {
            changed |= !done;
        }
    }

    private Map<Long, SequenceRow> there() {
        Map<Long, SequenceRow> there = written;
        if (there == null) {
            there = new HashMap<>();
            if (exists()) {
                there = read();
            } else if (wanted.isEmpty()) {
                return there;
            } else {
                create();
            }
            written = there;
        }
        return there;
    }

    private boolean exists() {
        String found =
                client.queryValue(
                        "SELECT count() FROM system.tables WHERE database = "
                                + Ddl.literal(database)
                                + " AND name = "
                                + Ddl.literal(TABLE));
        return "1".equals(found);
    }

    private void create() {
        client.execute(
                "CREATE TABLE IF NOT EXISTS "
                        + Ddl.qualified(database, TABLE)
                        + " (system_identifier UInt64, database_oid UInt32, sequence_oid UInt32,"
                        + " database String, schema String, name String,"
                        + " last_value Nullable(Int64), is_called Bool, lsn UInt64,"
                        + " position String, revision UInt64, is_deleted UInt8)"
                        + " ENGINE = ReplacingMergeTree(revision, is_deleted)"
                        + " ORDER BY (system_identifier, database_oid, sequence_oid)");
    }

    private Map<Long, SequenceRow> read() {
        Map<Long, SequenceRow> found = new HashMap<>();
        for (@Nullable String[] row :
                client.query(
                        "SELECT database_oid, sequence_oid, database, schema, name, last_value,"
                                + " toUInt8(is_called), lsn, revision FROM "
                                + Ddl.qualified(database, TABLE)
                                + " FINAL WHERE system_identifier = "
                                + Long.toUnsignedString(systemIdentifier))) {
            String value = row[5];
            SequenceRow each =
                    new SequenceRow(
                            Integer.parseUnsignedInt(text(row[0])),
                            Integer.parseUnsignedInt(text(row[1])),
                            text(row[2]),
                            text(row[3]),
                            text(row[4]),
                            value == null ? null : Long.valueOf(value),
                            text(row[6]).equals("1"),
                            Long.parseUnsignedLong(text(row[7])));
            found.put(each.key(), each);
            revision = Math.max(revision, Long.parseUnsignedLong(text(row[8])));
        }
        return found;
    }

    private NativeBlock block(List<SequenceRow> present, List<SequenceRow> gone) {
        revision = Math.max(revision + 1, System.currentTimeMillis() * 1_000);
        NativeBlock block = new NativeBlock(COLUMNS, TYPES);
        present.forEach(row -> append(block, row, 0));
        gone.forEach(row -> append(block, row, 1));
        return block;
    }

    private void append(NativeBlock block, SequenceRow row, int deleted) {
        block.fixed(0).appendLong(systemIdentifier);
        block.fixed(1).appendInt(row.databaseOid());
        block.fixed(2).appendInt(row.sequenceOid());
        block.appendText(3, row.database());
        block.appendText(4, row.schema());
        block.appendText(5, row.name());
        NullableColumn lastValue = (NullableColumn) block.column(6);
        Long value = row.lastValue();
        if (value == null) {
            lastValue.appendNull();
        } else {
            lastValue.present();
            ((FixedColumn) lastValue.inner()).appendLong(value);
        }
        block.fixed(7).appendByte(row.called() ? 1 : 0);
        block.fixed(8).appendLong(row.lsn());
        block.appendText(9, Lsn.format(row.lsn()));
        block.fixed(10).appendLong(revision);
        block.fixed(11).appendByte(deleted);
    }

    private static String text(@Nullable String value) {
        return Objects.requireNonNull(value, "a column that cannot be NULL");
    }
}
