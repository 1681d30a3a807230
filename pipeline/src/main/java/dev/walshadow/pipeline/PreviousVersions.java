package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseCodes;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.RowBinaryInput;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.io.IOException;
import java.io.InputStream;
import java.io.StreamCorruptedException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The newest version that ClickHouse has of given keys, with the columns asked for. Where every
 * version stays, the newest below a version, and which there are from that one on: an earlier run
 * has sent them. Asks again with backoff while ClickHouse does not answer. Runs on a thread of its
 * own.
 */
final class PreviousVersions {
    /** A statement, which has them twice, stays below ClickHouse's max_query_size of 256 KiB. */
    private static final int MAX_KEYS_TEXT = 100 << 10;

    private static final int VERSION_BYTES = 16;

    private final Services services;
    private final TargetTable table;
    private final TableMapping mapping;
    private final int[] columns;

    private final @Nullable BigInteger below;

    private final Map<String, PreviousVersion> found = new HashMap<>();
    private final Map<String, NavigableSet<BigInteger>> later = new HashMap<>();

    /**
     * @param columns block columns, ascending
     * @param below the version to stay below; null: the newest of all
     */
    PreviousVersions(
            Services services, TargetTable table, int[] columns, @Nullable BigInteger below) {
        this.below = below;
        this.services = services;
        this.table = table;
        this.mapping = table.mapped();
        this.columns = columns;
    }

    /**
     * @param literals the keys in SQL
     * @return by key bytes (ISO-8859-1); keys without any version are absent
     * @throws dev.walshadow.base.QuarantineException if ClickHouse refuses the statement
     */
    Map<String, PreviousVersion> fetch(Iterable<String> literals) throws InterruptedException {
        List<String> some = new ArrayList<>();
        int text = 0;
        for (String literal : literals) {
            if (!some.isEmpty() && text + literal.length() > MAX_KEYS_TEXT) {
                ask(some);
                some.clear();
                text = 0;
            }
            some.add(literal);
            text += literal.length() + 2;
        }
        if (!some.isEmpty()) {
            ask(some);
        }
        return found;
    }

    /** After {@link #fetch}: versions that are not below, by key bytes. */
    Map<String, NavigableSet<BigInteger>> later() {
        return later;
    }

    /** Every shard: a key is on one of them. */
    private void ask(List<String> literals) throws InterruptedException {
        String sql = statement(literals);
        for (ClickHouseClient shard : services.client().shards()) {
            services.reachability()
                    .until(table, () -> shard.readRowBinary(sql, in -> read(in, this::rows)));
            if (below != null) {
                String rest = laterStatement(literals, below);
                services.reachability()
                        .until(table, () -> shard.readRowBinary(rest, in -> read(in, this::later)));
            }
        }
        services.metrics().oldValueLookups.increment();
    }

    private String laterStatement(List<String> literals, BigInteger from) {
        String keys = String.join(", ", mapping.keyNames().stream().map(Ddl::identifier).toList());
        String version = Ddl.identifier(mapping.meta().version());
        return String.format(
                Locale.ROOT,
                "SELECT %s, %s FROM %s WHERE (%s) IN (%s) AND %s >= toUInt128('%s')",
                keys,
                version,
                table.place().quoted(),
                keys,
                String.join(", ", literals),
                version,
                from);
    }

    /**
     * First the newest versions by the narrow columns alone, so that no other's values are read.
     */
    private String statement(List<String> literals) {
        String keys = String.join(", ", mapping.keyNames().stream().map(Ddl::identifier).toList());
        StringBuilder sql = new StringBuilder("SELECT ").append(keys);
        sql.append(", ").append(Ddl.identifier(mapping.meta().version()));
        sql.append(", ").append(Ddl.identifier(mapping.meta().isDeleted()));
        List<String> names = mapping.blockNames();
        for (int column : columns) {
            sql.append(", ").append(Ddl.identifier(names.get(column)));
        }
        String version = Ddl.identifier(mapping.meta().version());
        String from =
                " FROM "
                        + table.place().quoted()
                        + " WHERE ("
                        + keys
                        + ") IN ("
                        + String.join(", ", literals)
                        + ")";
        sql.append(from).append(" AND (").append(keys).append(", ").append(version);
        sql.append(") IN (SELECT ").append(keys).append(", max(").append(version).append(")");
        sql.append(from);
        if (below != null) {
            sql.append(" AND ").append(version).append(" < toUInt128('").append(below).append("')");
        }
        sql.append(" GROUP BY ").append(keys);
        return sql.append(") LIMIT 1 BY ").append(keys).toString();
    }

    /** Nothing of an answer that is cut off or is none counts: it is asked for again. */
    private void read(InputStream answer, Reader reader) throws IOException {
        try {
            reader.read(new RowBinaryInput(answer));
        } catch (StreamCorruptedException e) {
            throw new RetryException(
                    ClickHouseCodes.ANSWER,
                    "ClickHouse's answer about earlier versions of rows of "
                            + table.label()
                            + " cannot be read ("
                            + e.getMessage()
                            + "): something between has changed it; it is asked for again",
                    e);
        }
    }

    private interface Reader {
        void read(RowBinaryInput in) throws IOException;
    }

    private ColumnBuffer[] keyBuffers() {
        return mapping.keyTypes().stream().map(ColumnBuffer::of).toArray(ColumnBuffer[]::new);
    }

    private void later(RowBinaryInput in) throws IOException {
        Map<String, NavigableSet<BigInteger>> rows = new HashMap<>();
        ColumnBuffer[] keys = keyBuffers();
        ByteBuilder head = new ByteBuilder(256);
        while (!in.isAtEnd()) {
            head.clear();
            for (ColumnBuffer key : keys) {
                key.copyRowBinary(in, head);
            }
            int at = head.length();
            String key = new String(head.array(), 0, at, StandardCharsets.ISO_8859_1);
            in.copy(VERSION_BYTES, head);
            rows.computeIfAbsent(key, _ -> new TreeSet<>())
                    .add(
                            Versions.of(
                                    LittleEndian.getLong(head.array(), at + Long.BYTES),
                                    LittleEndian.getLong(head.array(), at)));
        }
        later.putAll(rows);
    }

    private void rows(RowBinaryInput in) throws IOException {
        Map<String, PreviousVersion> rows = new HashMap<>();
        List<ClickHouseType> types = mapping.blockTypes();
        ColumnBuffer[] keys = keyBuffers();
        ColumnBuffer[] wanted = new ColumnBuffer[columns.length];
        Arrays.setAll(wanted, i -> ColumnBuffer.of(types.get(columns[i])));
        ByteBuilder head = new ByteBuilder(256);
        while (!in.isAtEnd()) {
            head.clear();
            for (ColumnBuffer key : keys) {
                key.copyRowBinary(in, head);
            }
            int at = head.length();
            String key = new String(head.array(), 0, at, StandardCharsets.ISO_8859_1);
            in.copy(VERSION_BYTES + 1, head);
            long low = LittleEndian.getLong(head.array(), at);
            long high = LittleEndian.getLong(head.array(), at + Long.BYTES);
            boolean deleted = head.array()[at + VERSION_BYTES] != 0;
            byte[][] values = new byte[columns.length][];
            for (int i = 0; i < wanted.length; i++) {
                ByteBuilder value = ByteBuilder.onDemand(16);
                wanted[i].copyRowBinary(in, value);
                values[i] = value.take();
            }
            rows.put(key, new PreviousVersion(high, low, deleted, columns, values));
        }
        found.putAll(rows);
    }
}
