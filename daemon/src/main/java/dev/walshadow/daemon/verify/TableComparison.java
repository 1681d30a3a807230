package dev.walshadow.daemon.verify;

import dev.walshadow.daemon.verify.TableResult.Difference;
import dev.walshadow.daemon.verify.TableResult.Kind;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Compares one table. First the digests of all rows of both sides, taken after the watermark has
 * passed a position; then, for the keys that differ, the rows themselves between two readings of
 * the source, at ever later positions. A key only counts as unequal when ClickHouse's newest
 * version of it is of a commit before the first reading, twice: then nothing was under way, since
 * ClickHouse had by then whatever the first reading showed. Tables without a key: {@link
 * MultisetComparison}.
 */
final class TableComparison {
    /** More keys than these are not looked at one by one. */
    static final int CANDIDATES_LIMIT = 20_000;

    private static final int LOOKUP_BATCH = 500;
    static final int ROUNDS_LIMIT = 50;
    static final int CONFIRMATIONS = 2;

    private final SourceRows source;
    private final TargetRows target;
    private final Positions positions;
    private final VerifyProgress progress;

    /** Of the source. The first waits until everything that it has committed is in ClickHouse. */
    interface Positions {
        void awaitCurrent() throws InterruptedException, SQLException;

        /** Where the source's WAL ends now. */
        long now() throws SQLException;
    }

    TableComparison(
            SourceRows source, TargetRows target, Positions positions, VerifyProgress progress) {
        this.source = source;
        this.target = target;
        this.positions = positions;
        this.progress = progress;
    }

    private record Key(long high, long low) {}

    /** Rows that differ, by kind. */
    private static final class Counts {
        private long missing;
        private long extra;
        private long different;

        void add(Kind kind) {
            switch (kind) {
                case MISSING_IN_CLICKHOUSE -> missing++;
                case ONLY_IN_CLICKHOUSE -> extra++;
                case DIFFERENT, COUNT -> different++;
            }
        }

        long total() {
            return missing + extra + different;
        }
    }

    TableResult compare(ComparedTable table, long estimatedRows)
            throws InterruptedException, SQLException {
        if (table.keyless()) {
            return new MultisetComparison(source, target, positions, progress)
                    .compare(table, estimatedRows);
        }
        positions.awaitCurrent();
        int partitions = DigestStore.partitions(estimatedRows);
        try (DigestStore left = new DigestStore(DigestStore.temporary(), partitions);
                DigestStore right = new DigestStore(DigestStore.temporary(), partitions)) {
            source.scan(table, collect(table, left));
            target.scan(table, collect(table, right));
            Map<Key, Kind> candidates = new HashMap<>();
            Counts counts = new Counts();
            for (int i = 0; i < partitions; i++) {
                differences(left.partition(i), right.partition(i), candidates, counts);
            }
            if (counts.total() > CANDIDATES_LIMIT) {
                return result(table, left, right, counts, shown(table, candidates.keySet()));
            }
            List<Difference> settled =
                    candidates.isEmpty()
                            ? List.of()
                            : List.copyOf(
                                    settle(table, keyTexts(table, candidates.keySet())).values());
            Counts remaining = new Counts();
            settled.forEach(difference -> remaining.add(difference.kind()));
            return result(table, left, right, remaining, settled);
        }
    }

    private static TableResult result(
            ComparedTable table,
            DigestStore left,
            DigestStore right,
            Counts counts,
            List<Difference> differences) {
        return new TableResult(
                table.source(),
                left.rows(),
                right.rows(),
                counts.missing,
                counts.extra,
                counts.different,
                differences.subList(0, Math.min(TableResult.SHOWN, differences.size())));
    }

    private Consumer<List<@Nullable String>> collect(ComparedTable table, DigestStore store) {
        RowDigest digest = new RowDigest(table);
        return (List<@Nullable String> values) -> {
            digest.compute(values);
            store.add(digest.keyHigh, digest.keyLow, digest.row);
            progress.rowRead();
        };
    }

    private static void differences(
            byte[] left, byte[] right, Map<Key, Kind> candidates, Counts counts) {
        Map<Key, Long> rows = new HashMap<>();
        for (int i = 0; i < left.length / DigestStore.ENTRY_BYTES; i++) {
            rows.put(key(left, i), DigestStore.row(left, i));
        }
        for (int i = 0; i < right.length / DigestStore.ENTRY_BYTES; i++) {
            Key key = key(right, i);
            Long row = rows.remove(key);
            if (row == null) {
                note(key, Kind.ONLY_IN_CLICKHOUSE, candidates, counts);
            } else if (row != DigestStore.row(right, i)) {
                note(key, Kind.DIFFERENT, candidates, counts);
            }
        }
        rows.keySet().forEach(key -> note(key, Kind.MISSING_IN_CLICKHOUSE, candidates, counts));
    }

    private static Key key(byte[] entries, int index) {
        return new Key(DigestStore.keyHigh(entries, index), DigestStore.keyLow(entries, index));
    }

    private static void note(Key key, Kind kind, Map<Key, Kind> candidates, Counts counts) {
        counts.add(kind);
        if (candidates.size() <= CANDIDATES_LIMIT) {
            candidates.put(key, kind);
        }
    }

    /** The first few of very many differences, without a second look. */
    private List<Difference> shown(ComparedTable table, Set<Key> candidates) throws SQLException {
        List<List<String>> keys = new ArrayList<>(keyTexts(table, candidates));
        List<List<String>> few = keys.subList(0, Math.min(TableResult.SHOWN, keys.size()));
        List<Difference> differences = new ArrayList<>();
        compareRows(
                table,
                few,
                read(table, few, source::lookup),
                read(table, few, (t, k, c) -> target.lookup(t, k, c)),
                differences);
        return differences;
    }

    /** Which rows with these keys (texts of the key columns) differ, by key. */
    Map<List<String>, Difference> settle(ComparedTable table, Collection<List<String>> candidates)
            throws InterruptedException, SQLException {
        Map<List<String>, Difference> differences = new LinkedHashMap<>();
        List<List<String>> keys = List.copyOf(candidates);
        for (int from = 0; from < keys.size(); from += LOOKUP_BATCH) {
            List<List<String>> batch =
                    keys.subList(from, Math.min(keys.size(), from + LOOKUP_BATCH));
            settleBatch(table, batch, differences);
        }
        return differences;
    }

    private void settleBatch(
            ComparedTable table,
            List<List<String>> batch,
            Map<List<String>, Difference> differences)
            throws InterruptedException, SQLException {
        Map<List<String>, Integer> confirmed = new HashMap<>();
        List<List<String>> open = batch;
        for (int round = 0; !open.isEmpty() && round < ROUNDS_LIMIT; round++) {
            long from = positions.now();
            Map<List<String>, List<@Nullable String>> before = read(table, open, source::lookup);
            positions.awaitCurrent();
            Map<List<String>, List<@Nullable String>> found =
                    read(table, open, (t, k, c) -> target.lookup(t, k, c));
            Map<List<String>, List<@Nullable String>> after = read(table, open, source::lookup);
            List<List<String>> unequal = new ArrayList<>(open);
            unequal.removeIf(key ->
                    Objects.equals(found.get(key), before.get(key))
                            || Objects.equals(found.get(key), after.get(key)));
            Map<List<String>, Long> commits =
                    unequal.isEmpty() ? Map.of() : target.commits(table, unequal);
            long to = positions.now();
            List<List<String>> unsettled = new ArrayList<>();
            for (List<String> key : unequal) {
                boolean counts = !isWithin(commits.getOrDefault(key, 0L), from, to);
                if (confirmed.merge(key, counts ? 1 : 0, Integer::sum) < CONFIRMATIONS) {
                    unsettled.add(key);
                    continue;
                }
                List<Difference> told = new ArrayList<>();
                compareRows(table, List.of(key), after, found, told);
                told.forEach(difference -> differences.put(key, difference));
            }
            open = unsettled;
        }
    }

    /**
     * Whether ClickHouse has changed something by a commit of the source between two positions. One
     * above both is no commit of the source.
     */
    static boolean isWithin(long commit, long from, long to) {
        return Long.compareUnsigned(commit, from) > 0 && Long.compareUnsigned(commit, to) <= 0;
    }

    /** A way to read rows by key. */
    private interface Lookup {
        void read(
                ComparedTable table,
                List<List<String>> keys,
                Consumer<List<@Nullable String>> consumer)
                throws SQLException;
    }

    private static Map<List<String>, List<@Nullable String>> read(
            ComparedTable table, List<List<String>> keys, Lookup lookup) throws SQLException {
        Map<List<String>, List<@Nullable String>> rows = new HashMap<>();
        lookup.read(table, keys, row -> rows.put(keyText(table, row), row));
        return rows;
    }

    static List<String> keyText(ComparedTable table, List<@Nullable String> row) {
        List<String> key = new ArrayList<>();
        for (int i = 0; i < row.size(); i++) {
            if (table.columns().get(i).key()) {
                key.add(String.valueOf(row.get(i)));
            }
        }
        return key;
    }

    /** Reads both sides again to learn the keys behind digests. */
    private Collection<List<String>> keyTexts(ComparedTable table, Set<Key> candidates)
            throws SQLException {
        Set<List<String>> keys = new HashSet<>();
        RowDigest digest = new RowDigest(table);
        Consumer<List<@Nullable String>> pick =
                (List<@Nullable String> row) -> {
                    digest.compute(row);
                    if (candidates.contains(new Key(digest.keyHigh, digest.keyLow))) {
                        keys.add(keyText(table, row));
                    }
                };
        source.scan(table, pick);
        target.scan(table, pick);
        return keys;
    }

    private static void compareRows(
            ComparedTable table,
            List<List<String>> keys,
            Map<List<String>, List<@Nullable String>> left,
            Map<List<String>, List<@Nullable String>> right,
            List<Difference> into) {
        for (List<String> key : keys) {
            List<@Nullable String> there = right.get(key);
            List<@Nullable String> here = left.get(key);
            String label = label(table, key);
            if (here == null && there != null) {
                into.add(
                        new Difference(Kind.ONLY_IN_CLICKHOUSE, label, "", null, there.toString()));
            } else if (here != null && there == null) {
                into.add(
                        new Difference(
                                Kind.MISSING_IN_CLICKHOUSE, label, "", here.toString(), null));
            } else if (here != null && there != null && !here.equals(there)) {
                into.add(firstDifference(table, label, here, there));
            }
        }
    }

    private static Difference firstDifference(
            ComparedTable table,
            String label,
            List<@Nullable String> here,
            List<@Nullable String> there) {
        int column = 0;
        while (Objects.equals(here.get(column), there.get(column))) {
            column++;
        }
        String name = table.columns().get(column).sourceName();
        return new Difference(Kind.DIFFERENT, label, name, here.get(column), there.get(column));
    }

    private static String label(ComparedTable table, List<String> key) {
        Map<String, String> parts = new LinkedHashMap<>();
        int at = 0;
        for (ComparedTable.Column column : table.columns()) {
            if (column.key()) {
                parts.put(column.sourceName(), key.get(at++));
            }
        }
        String text = parts.toString();
        return text.substring(1, text.length() - 1);
    }
}
