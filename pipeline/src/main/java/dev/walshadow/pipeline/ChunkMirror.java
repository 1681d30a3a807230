package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseCodes;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.RowBinaryInput;
import dev.walshadow.transaction.ToastChunk;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Mode {@code clickhouse}: the chunks of each followed table's TOAST relation, in a table of
 * walshadow's own database, so that a value that an UPDATE leaves unchanged is found by the id that
 * the row points with, whatever became of the row's earlier versions.
 *
 * <pre>
 * toast_DATABASE_TABLE (OIDs of the source): ReplacingMergeTree(version) ORDER BY (value, chunk)
 * value    chunk_id    chunk  chunk_seq    data  chunk_data, as PostgreSQL stores it
 * storage  file number of the TOAST relation, and place in it (block &lt;&lt; 16 | offset number)
 * version  (commit position &lt;&lt; 64) | LSN of the insertion; of loads: (position of the rows, 0)
 * </pre>
 *
 * <p>Made with its first chunk. Chunks are only ever added, and removed by what must be true then:
 * a place is given to another chunk only after VACUUM has removed the first, which nobody can see
 * any more; and what is older than new storage's content is gone. So a table has no more chunks
 * than the file of its TOAST relation has places. Deletions are not followed: a row of before one
 * may be under way. Any thread.
 */
final class ChunkMirror {
    private static final String PURPOSE = "toast";

    /** Reading one value reads the granule that it lies in. */
    private static final int GRANULE_BYTES = 1 << 20;

    /** A statement stays below ClickHouse's max_query_size of 256 KiB. */
    private static final int IDS_AT_ONCE = 16_384;

    /** Chunks that are looked through for places that were used again, at a time. */
    private static final long CLEANED_AT_ONCE = 1_000_000;

    /** Below this many new chunks it is not worth while. */
    private static final long LEAST_CLEANED = 100_000;

    // a row of an answer
    private static final int CHUNK = Integer.BYTES;
    private static final int POSITION = CHUNK + Integer.BYTES + Long.BYTES;
    private static final int LENGTH = POSITION + Long.BYTES;
    private static final int DATA = LENGTH + Integer.BYTES;

    /** A value's chunks from the first on. */
    static final class Value {
        private final ByteBuilder stored = new ByteBuilder(256);
        private int chunks;
        private long position;

        ByteBuilder stored() {
            return stored;
        }

        /** Commit position of the newest of them. */
        long position() {
            return position;
        }
    }

    /** A table's; both counts are of chunks. */
    private static final class Growth {
        private final TargetTable table;
        private final AtomicLong added = new AtomicLong();
        private volatile long before;

        private Growth(TargetTable table) {
            this.table = table;
        }

        private boolean isDue() {
            return added.get() > Math.max(LEAST_CLEANED, before);
        }
    }

    private final ClickHouseClient client;
    private final TargetNames names;

    /** Those that are there, by the table's key. */
    private final Map<Long, Growth> known = new ConcurrentHashMap<>();

    ChunkMirror(ClickHouseClient client, TargetNames names) {
        this.client = client;
        this.names = names;
    }

    private TargetName name(TargetTable table) {
        return names.scratch(PURPOSE, table);
    }

    private Growth growth(TargetTable table) {
        return known.computeIfAbsent(
                table.key(),
                _ -> {
                    client.execute(
                            "CREATE TABLE IF NOT EXISTS "
                                    + name(table).quoted()
                                    + " ("
                                    + ChunkBlock.columns()
                                    + ") ENGINE = ReplacingMergeTree(version) ORDER BY (value,"
                                    + " chunk) SETTINGS index_granularity_bytes = "
                                    + GRANULE_BYTES
                                    + " COMMENT "
                                    + Ddl.literal(names.chunksComment(table)));
                    return new Growth(table);
                });
    }

    /** Throws what the client throws; the same chunks may come again. */
    void insert(TargetTable table, ChunkBlock chunks, String token) {
        Growth growth = growth(table);
        TargetName name = name(table);
        client.insert(name.database(), name.table(), chunks.nativeBlock(), token);
        growth.added.addAndGet(chunks.rows());
    }

    /**
     * By id the values of which there are chunks, each up to its first gap. Throws what the client
     * throws.
     *
     * @param valueBytes more stored bytes of a value are not needed
     */
    Map<Integer, Value> fetch(TargetTable table, Collection<Integer> ids, int valueBytes) {
        growth(table); // made if it is not there
        Map<Integer, Value> found = new HashMap<>();
        List<Integer> all = List.copyOf(ids);
        for (int from = 0; from < all.size(); from += IDS_AT_ONCE) {
            List<Integer> some = all.subList(from, Math.min(all.size(), from + IDS_AT_ONCE));
            fetch(table, some, valueBytes / ToastChunk.MAX_SIZE, found);
        }
        return found;
    }

    private void fetch(
            TargetTable table, List<Integer> ids, int lastChunk, Map<Integer, Value> found) {
        List<String> literals = new ArrayList<>();
        ids.forEach(id -> literals.add(Integer.toUnsignedString(id)));
        String sql =
                "SELECT value, chunk, version, toUInt32(length(data)), data FROM "
                        + name(table).quoted()
                        + " WHERE value IN ("
                        + String.join(", ", literals)
                        + ") AND chunk <= "
                        + lastChunk
                        + " ORDER BY value, chunk, version DESC LIMIT 1 BY value, chunk";
        Map<Integer, Value> some = new HashMap<>();
        client.readRowBinary(sql, in -> read(table, new RowBinaryInput(in), some));
        found.putAll(some);
    }

    private static void read(TargetTable table, RowBinaryInput in, Map<Integer, Value> found)
            throws IOException {
        try {
            read(in, found);
        } catch (StreamCorruptedException e) {
            throw new RetryException(
                    ClickHouseCodes.ANSWER,
                    "ClickHouse's answer about TOAST chunks of "
                            + table.label()
                            + " cannot be read ("
                            + e.getMessage()
                            + "): something between has changed it; it is asked for again",
                    e);
        }
    }

    private static void read(RowBinaryInput in, Map<Integer, Value> found) throws IOException {
        ColumnBuffer data = ColumnBuffer.of(Scalar.STRING);
        ByteBuilder row = new ByteBuilder(4096);
        while (!in.isAtEnd()) {
            row.clear();
            in.copy(DATA, row);
            int id = LittleEndian.getInt(row.array(), 0);
            int chunk = LittleEndian.getInt(row.array(), CHUNK);
            long position = LittleEndian.getLong(row.array(), POSITION);
            int length = LittleEndian.getInt(row.array(), LENGTH);
            data.copyRowBinary(in, row);
            Value value = found.computeIfAbsent(id, _ -> new Value());
            if (chunk == value.chunks) {
                value.chunks++;
                value.stored.putBytes(row.array(), row.length() - length, length);
                value.position = Math.max(value.position, position);
            }
        }
    }

    /**
     * Removes what was inserted before this record of a commit, 0 for its first: the table's values
     * are all later ones. Throws what the client throws; can be repeated.
     */
    void forgetBelow(TargetTable table, long position, long recordLsn) {
        if (exists(table)) {
            client.execute(
                    "DELETE FROM "
                            + name(table).quoted()
                            + " WHERE version < "
                            + version(position)
                            + " + "
                            + Long.toUnsignedString(recordLsn));
        }
    }

    /** The table is followed no longer. Throws what the client throws; can be repeated. */
    void drop(TargetTable table) {
        known.remove(table.key());
        TargetName name = name(table);
        client.execute(Ddl.dropTable(name.database(), name.table()));
    }

    /** Every table's, by their comments. Throws what the client throws; can be repeated. */
    static void dropAll(ClickHouseClient client, TargetNames names) {
        for (@Nullable String[] row :
                client.query(
                        "SELECT database, name FROM system.tables WHERE startsWith(comment, "
                                + Ddl.literal(names.mark())
                                + ") AND endsWith(comment, "
                                + Ddl.literal(TargetNames.CHUNKS)
                                + ")")) {
            client.execute(
                    Ddl.dropTable(Objects.requireNonNull(row[0]), Objects.requireNonNull(row[1])));
        }
    }

    private boolean exists(TargetTable table) {
        TargetName name = name(table);
        return known.containsKey(table.key())
                || client.queryValue(
                                "SELECT name FROM system.tables WHERE database = "
                                        + Ddl.literal(name.database())
                                        + " AND name = "
                                        + Ddl.literal(name.table()))
                        != null;
    }

    private static String version(long position) {
        return "bitShiftLeft(toUInt128(" + Long.toUnsignedString(position) + "), 64)";
    }

    /** Tables that have grown so much that looking for chunks to remove is worth while. */
    List<TargetTable> grown() {
        return known.values().stream().filter(Growth::isDue).map(growth -> growth.table).toList();
    }

    /**
     * Removes chunks whose place has been given to another one. Throws what the client throws.
     *
     * @param position no commit up to this one can come again, whatever happens
     */
    void clean(TargetTable table, long position) {
        Growth growth = known.get(table.key());
        if (growth == null) {
            return;
        }
        long added = growth.added.get();
        String name = name(table).quoted();
        long parts = 1 + count(name) / CLEANED_AT_ONCE;
        for (long part = 0; part < parts; part++) {
            client.execute(
                    "DELETE FROM "
                            + name
                            + " WHERE (storage, place, version) IN (SELECT storage, place,"
                            + " arrayJoin(arrayPopBack(arraySort(groupUniqArray(version)))) FROM "
                            + name
                            + " WHERE version < "
                            + version(position + 1)
                            + " AND place % "
                            + parts
                            + " = "
                            + part
                            + " GROUP BY storage, place HAVING count() > 1)");
        }
        growth.before = count(name);
        growth.added.addAndGet(-added);
    }

    private long count(String name) {
        return Long.parseLong(
                Objects.requireNonNull(client.queryValue("SELECT count() FROM " + name)));
    }
}
