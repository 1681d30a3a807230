package dev.walshadow.daemon.verify;

import dev.walshadow.daemon.verify.TableResult.Difference;
import dev.walshadow.daemon.verify.TableResult.Kind;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Compares a table without a key: how often each row is there. First the digests of all rows; then
 * the rows whose numbers differ are counted again, on the whole table, at ever later positions. A
 * row counts as unequal when ClickHouse's newest change of the table is of a commit before the
 * first reading of the source, twice. Where the table changes without a pause, nothing tells which
 * rows changed: then the numbers must have been the same ten times in a row.
 */
final class MultisetComparison {
    private static final int SHOWN_CHARACTERS = 100;

    /** Rounds with the same numbers that count while the table changes all the time. */
    private static final int STEADY = 10;

    private final SourceRows source;
    private final TargetRows target;
    private final TableComparison.Positions positions;
    private final VerifyProgress progress;

    MultisetComparison(
            SourceRows source,
            TargetRows target,
            TableComparison.Positions positions,
            VerifyProgress progress) {
        this.source = source;
        this.target = target;
        this.positions = positions;
        this.progress = progress;
    }

    /** A whole row's digest. */
    private record Row(long high, long low) {}

    /** How often a row is there. */
    private record Counts(long source, long target) {}

    /** Reads all rows of one side. */
    private interface Scan {
        void read(ComparedTable table, Consumer<List<@Nullable String>> consumer)
                throws SQLException;
    }

    TableResult compare(ComparedTable table, long estimatedRows)
            throws InterruptedException, SQLException {
        positions.awaitCurrent();
        int partitions = DigestStore.partitions(estimatedRows);
        try (DigestStore left = new DigestStore(DigestStore.temporary(), partitions);
                DigestStore right = new DigestStore(DigestStore.temporary(), partitions)) {
            source.scan(table, collect(table, left));
            target.scan(table, collect(table, right));
            Map<Row, Counts> unequal = new LinkedHashMap<>();
            for (int i = 0; i < partitions; i++) {
                differences(left.partition(i), right.partition(i), unequal);
            }
            if (unequal.size() <= TableComparison.CANDIDATES_LIMIT) {
                unequal = settle(table, unequal.keySet());
            }
            return new TableResult(
                    table.source(),
                    left.rows(),
                    right.rows(),
                    surplus(unequal, true),
                    surplus(unequal, false),
                    0,
                    shown(table, unequal));
        }
    }

    private Consumer<List<@Nullable String>> collect(ComparedTable table, DigestStore store) {
        RowDigest digest = new RowDigest(table);
        return (List<@Nullable String> values) -> {
            digest.compute(values);
            store.add(digest.keyHigh, digest.keyLow, digest.row);
            progress.rowRead();
        };
    }

    private static void differences(byte[] left, byte[] right, Map<Row, Counts> unequal) {
        Map<Row, Counts> counts = new HashMap<>();
        for (int i = 0; i < left.length / DigestStore.ENTRY_BYTES; i++) {
            counts.merge(row(left, i), new Counts(1, 0), MultisetComparison::sum);
        }
        for (int i = 0; i < right.length / DigestStore.ENTRY_BYTES; i++) {
            counts.merge(row(right, i), new Counts(0, 1), MultisetComparison::sum);
        }
        counts.values().removeIf(each -> each.source() == each.target());
        unequal.putAll(counts);
    }

    private static Row row(byte[] entries, int index) {
        return new Row(DigestStore.keyHigh(entries, index), DigestStore.keyLow(entries, index));
    }

    private static Counts sum(Counts a, Counts b) {
        return new Counts(a.source() + b.source(), a.target() + b.target());
    }

    private static long surplus(Map<Row, Counts> unequal, boolean ofSource) {
        return unequal.values().stream()
                .mapToLong(each -> each.source() - each.target())
                .map(more -> ofSource ? more : -more)
                .filter(more -> more > 0)
                .sum();
    }

    private Map<Row, Counts> settle(ComparedTable table, Set<Row> candidates)
            throws InterruptedException, SQLException {
        Map<Row, Counts> unequal = new LinkedHashMap<>();
        Map<Row, Integer> confirmed = new HashMap<>();
        Map<Row, Counts> steady = new HashMap<>();
        List<Row> open = List.copyOf(candidates);
        for (int round = 0; !open.isEmpty() && round < TableComparison.ROUNDS_LIMIT; round++) {
            long from = positions.now();
            Map<Row, Long> before = count(table, open, source::scan);
            positions.awaitCurrent();
            Map<Row, Long> found = count(table, open, target::scan);
            Map<Row, Long> after = count(table, open, source::scan);
            boolean quiet =
                    !TableComparison.isWithin(target.newestCommit(table), from, positions.now());
            List<Row> unsettled = new ArrayList<>();
            for (Row row : open) {
                long there = found.getOrDefault(row, 0L);
                long earlier = before.getOrDefault(row, 0L);
                long later = after.getOrDefault(row, 0L);
                if (there == earlier || there == later) {
                    continue;
                }
                Counts now = new Counts(later, there);
                boolean same = earlier == later && now.equals(steady.put(row, now));
                int times = quiet || same ? confirmed.merge(row, 1, Integer::sum) : 0;
                if (times >= (quiet ? TableComparison.CONFIRMATIONS : STEADY)) {
                    unequal.put(row, now);
                } else {
                    confirmed.put(row, times);
                    unsettled.add(row);
                }
            }
            open = unsettled;
        }
        return unequal;
    }

    private static Map<Row, Long> count(ComparedTable table, List<Row> rows, Scan scan)
            throws SQLException {
        Map<Row, Long> counts = new HashMap<>();
        rows.forEach(row -> counts.put(row, 0L));
        RowDigest digest = new RowDigest(table);
        scan.read(
                table,
                values -> {
                    digest.compute(values);
                    counts.computeIfPresent(
                            new Row(digest.keyHigh, digest.keyLow), (_, count) -> count + 1);
                });
        return counts;
    }

    /** The first few; both sides are read again to learn the rows behind digests. */
    private List<Difference> shown(ComparedTable table, Map<Row, Counts> unequal)
            throws SQLException {
        List<Row> few = unequal.keySet().stream().limit(TableResult.SHOWN).toList();
        if (few.isEmpty()) {
            return List.of();
        }
        Map<Row, String> labels = new HashMap<>();
        RowDigest digest = new RowDigest(table);
        Consumer<List<@Nullable String>> pick =
                (List<@Nullable String> values) -> {
                    digest.compute(values);
                    Row row = new Row(digest.keyHigh, digest.keyLow);
                    if (few.contains(row)) {
                        labels.computeIfAbsent(row, _ -> label(table, values));
                    }
                };
        source.scan(table, pick);
        target.scan(table, pick);
        List<Difference> differences = new ArrayList<>();
        for (Row row : few) {
            Counts counts = Objects.requireNonNull(unequal.get(row));
            differences.add(
                    new Difference(
                            Kind.COUNT,
                            labels.getOrDefault(row, "a row that has changed meanwhile"),
                            "",
                            Long.toString(counts.source()),
                            Long.toString(counts.target())));
        }
        return differences;
    }

    private static String label(ComparedTable table, List<@Nullable String> values) {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            String value = String.valueOf(values.get(i));
            if (value.length() > SHOWN_CHARACTERS) {
                value =
                        value.substring(0, SHOWN_CHARACTERS)
                                + "... ("
                                + value.length()
                                + " characters)";
            }
            parts.add(table.columns().get(i).sourceName() + "=" + value);
        }
        return parts.stream().collect(Collectors.joining(", "));
    }
}
