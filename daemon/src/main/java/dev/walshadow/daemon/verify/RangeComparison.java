package dev.walshadow.daemon.verify;

import dev.walshadow.daemon.verify.TableResult.Difference;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Compares some rows of a table: those that follow a random key, once in PostgreSQL's order of keys
 * and once in ClickHouse's, so that rows are found that only one side has. They are told equal or
 * not as {@link TableComparison} tells it. A table that cannot be asked for keys is compared as a
 * whole if it is small.
 */
final class RangeComparison {
    /** Larger ones without a key that can be asked for are not compared. */
    static final long WHOLE_BYTES = 16L << 20;

    private static final int SAMPLED_BLOCKS = 10;
    private static final int BLOCK_BYTES = 8192;
    private static final int FROM_FIRST = 8;

    private final Connection session;
    private final SourceRows source;
    private final TargetRows target;
    private final TableComparison comparison;
    private final RandomGenerator random;

    /**
     * @param differences by key; of a table that was compared as a whole by its label
     */
    record Outcome(long rows, Map<List<String>, Difference> differences) {}

    RangeComparison(
            SourceRows source,
            TargetRows target,
            TableComparison.Positions positions,
            RandomGenerator random) {
        this.session = source.connection();
        this.source = source;
        this.target = target;
        this.random = random;
        this.comparison = new TableComparison(source, target, positions, VerifyProgress.NONE);
    }

    /** Why the table cannot be compared by ranges, nor as a whole; empty if it can. */
    String leftOut(ComparedTable table, int oid) throws SQLException {
        if (byKey(table)) {
            return table.from().startsWith("(") ? "it has partitions that are foreign tables" : "";
        }
        return bytes(oid) <= WHOLE_BYTES
                ? ""
                : "rows cannot be asked for by key, and it has more than "
                        + (WHOLE_BYTES >> 20)
                        + " MB";
    }

    /**
     * Compares.
     *
     * @param oid of the table
     * @param rows at most on each side
     */
    Outcome compare(ComparedTable table, int oid, int rows)
            throws InterruptedException, SQLException {
        if (!byKey(table)) {
            return whole(table);
        }
        ComparedTable keys = table.keys();
        List<String> least = random.nextInt(FROM_FIRST) == 0 ? List.of() : anyKey(keys, oid);
        Set<List<String>> chosen = new LinkedHashSet<>();
        Consumer<List<@Nullable String>> choose =
                (List<@Nullable String> row) -> chosen.add(TableComparison.keyText(keys, row));
        source.range(keys, least, rows, choose);
        target.range(keys, least, rows, choose);
        return new Outcome(chosen.size(), comparison.settle(table, chosen));
    }

    /** Looks at keys again that differed. */
    Map<List<String>, Difference> again(ComparedTable table, Collection<List<String>> keys)
            throws InterruptedException, SQLException {
        return byKey(table) ? comparison.settle(table, keys) : whole(table).differences();
    }

    private static boolean byKey(ComparedTable table) {
        return !table.keyless() && table.hasPlainKey();
    }

    private Outcome whole(ComparedTable table) throws InterruptedException, SQLException {
        TableResult result = comparison.compare(table, 1);
        Map<List<String>, Difference> differences = new LinkedHashMap<>();
        result.differences()
                .forEach(difference -> differences.put(List.of(difference.key()), difference));
        return new Outcome(result.sourceRows(), differences);
    }

    /** The key of a row in a few random blocks; empty if these have none. */
    private List<String> anyKey(ComparedTable keys, int oid) throws SQLException {
        double blocks = Math.max(1, (double) bytes(oid) / BLOCK_BYTES);
        List<String> key = new ArrayList<>();
        source.any(
                keys,
                Math.min(100, 100 * SAMPLED_BLOCKS / blocks),
                row -> key.addAll(TableComparison.keyText(keys, row)));
        return key;
    }

    /** Of the table's rows on disk; of a partitioned one, of its partitions. */
    private long bytes(int oid) throws SQLException {
        try (PreparedStatement question =
                session.prepareStatement(
                        "SELECT coalesce(sum(pg_table_size(relid)), pg_table_size(?::oid), 0)::int8"
                                + " FROM pg_partition_tree(?::oid::regclass)")) {
            question.setLong(1, Integer.toUnsignedLong(oid));
            question.setLong(2, Integer.toUnsignedLong(oid));
            try (ResultSet row = question.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }
}
