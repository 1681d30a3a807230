package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.clickhouse.RowSplit;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * On which shard a row of a table lies: {@code sipHash64} of its key's columns modulo the number of
 * shards. All versions of a row and its tombstones have one key, so they meet on one shard.
 */
final class ShardKey {
    private final TableMapping mapping;
    private final List<ClickHouseType> types;
    private final int[] columns;

    ShardKey(TableMapping mapping) {
        this.mapping = mapping;
        this.types = mapping.keyTypes();
        List<String> names = mapping.blockNames();
        this.columns = mapping.keyNames().stream().mapToInt(names::indexOf).toArray();
    }

    /**
     * Where each row of a block goes.
     *
     * @param block of the key's mapping
     */
    RowSplit split(NativeBlock block, int shards) {
        long[] hashes = new long[block.rows()];
        for (int i = 0; i < columns.length; i++) {
            ColumnBuffer column = block.column(columns[i]);
            if (isFloating(types.get(i))) {
                ((FixedColumn) column).hashNumbers(hashes, i > 0);
            } else {
                column.hash(hashes, i > 0);
            }
        }
        return RowSplit.byHash(hashes, shards);
    }

    /** The same hash in SQL; null if ClickHouse's differs for some values. */
    @Nullable String expression() {
        return types.stream().anyMatch(ShardKey::isFloating)
                ? null
                : mapping.keyNames().stream()
                        .map(Ddl::identifier)
                        .collect(Collectors.joining(", ", "sipHash64(", ")"));
    }

    /** ClickHouse takes -0 and 0 for one key and not for one hash. */
    private static boolean isFloating(ClickHouseType type) {
        return type == Scalar.FLOAT32 || type == Scalar.FLOAT64;
    }

    /** Whether rows under one mapping may belong on other shards under another. */
    static boolean moves(TableMapping from, TableMapping to) {
        return !from.key().equals(to.key()) || !forms(from).equals(forms(to));
    }

    /** What of the types the hash depends on: whether it is text, or how wide it is. */
    private static List<String> forms(TableMapping mapping) {
        return mapping.keyTypes().stream()
                .map(type ->
                        isFloating(type)
                                ? type.print()
                                : ColumnBuffer.of(type) instanceof FixedColumn fixed
                                        ? "bytes " + fixed.width()
                                        : "text")
                .toList();
    }
}
