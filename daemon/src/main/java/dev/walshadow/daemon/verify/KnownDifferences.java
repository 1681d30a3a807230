package dev.walshadow.daemon.verify;

import dev.walshadow.daemon.verify.TableResult.Difference;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What a verification in the background has done, and what it knows to differ. Thread safe. */
final class KnownDifferences {
    /** Of a table more are counted while they are found, and not kept. */
    static final int KEPT = 100;

    private static final int SHOWN = 20;

    /**
     * A row that differs.
     *
     * @param since when it was found
     */
    private record Known(Difference difference, Instant since) {}

    private final Map<String, Map<List<String>, Known>> byTable = new LinkedHashMap<>();
    private final Map<String, String> leftOut = new TreeMap<>();
    private long ranges;
    private long rows;
    private String lastTable = "";
    private Instant lastChecked = Instant.EPOCH;
    private String problem = "";

    /**
     * A range was compared.
     *
     * @return those that are new
     */
    synchronized List<Difference> compared(
            String table, long rowsCompared, Map<List<String>, Difference> found, Instant now) {
        ranges++;
        rows += rowsCompared;
        lastTable = table;
        lastChecked = now;
        problem = "";
        leftOut.remove(table);
        if (found.isEmpty() && !byTable.containsKey(table)) {
            return List.of();
        }
        Map<List<String>, Known> known = byTable.computeIfAbsent(table, _ -> new LinkedHashMap<>());
        List<Difference> more = new ArrayList<>();
        found.forEach((key, difference) -> {
            if (known.size() < KEPT && known.putIfAbsent(key, new Known(difference, now)) == null) {
                more.add(difference);
            }
        });
        return more;
    }

    /** Keys of the table were looked at again: only those that are {@code still} there differ. */
    synchronized void again(String table, Map<List<String>, Difference> still) {
        of(table).keySet().retainAll(still.keySet());
    }

    synchronized void leavesOut(String table, String reason) {
        leftOut.put(table, reason);
        of(table).clear();
    }

    synchronized void failed(String reason) {
        problem = reason;
    }

    private Map<List<String>, Known> of(String table) {
        return byTable.getOrDefault(table, new HashMap<>());
    }

    /** Keys known to differ, by table. */
    synchronized Map<String, List<List<String>>> keys() {
        Map<String, List<List<String>>> keys = new LinkedHashMap<>();
        byTable.forEach((table, known) -> {
            if (!known.isEmpty()) {
                keys.put(table, List.copyOf(known.keySet()));
            }
        });
        return keys;
    }

    /** Only these are followed. */
    synchronized void retain(Collection<String> tables) {
        byTable.keySet().retainAll(tables);
        leftOut.keySet().retainAll(tables);
    }

    synchronized void write(ObjectNode into) {
        into.put("ranges", ranges).put("rows", rows);
        if (ranges > 0) {
            into.put("last_checked", lastChecked.toString())
                    .put("last_checked_seconds", lastChecked.getEpochSecond())
                    .put("last_table", lastTable);
        }
        if (!problem.isEmpty()) {
            into.put("problem", problem);
        }
        into.put("differences", byTable.values().stream().mapToLong(Map::size).sum());
        ArrayNode tables = into.putArray("tables");
        byTable.forEach((table, known) ->
                tables.addObject().put("name", table).put("differences", known.size()));
        ArrayNode shown = into.putArray("different");
        byTable.forEach((table, known) ->
                known.values().stream()
                        .limit(SHOWN)
                        .forEach(each ->
                                shown.addObject()
                                        .put("table", table)
                                        .put("key", each.difference().key())
                                        .put("kind", kind(each.difference()))
                                        .put("column", each.difference().column())
                                        .put("since", each.since().toString())));
        ArrayNode left = into.putArray("left_out");
        leftOut.forEach(
                (table, reason) -> left.addObject().put("table", table).put("reason", reason));
    }

    static String kind(Difference difference) {
        return difference.kind().name().toLowerCase(Locale.ROOT);
    }
}
