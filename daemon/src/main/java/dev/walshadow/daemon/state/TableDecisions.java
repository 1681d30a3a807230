package dev.walshadow.daemon.state;

import dev.walshadow.catalog.RelationName;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/**
 * What operators decided about single tables while the daemon ran ({@code walshadow add} and {@code
 * remove}): a table is in at most one of the two, by name, and stays there until the opposite is
 * asked for. Durable (I11) in {@code tables.toml}.
 *
 * @param added followed whatever the configuration says
 * @param removed not followed whatever the configuration says; true: its rows in ClickHouse go too
 */
public record TableDecisions(Set<RelationName> added, Map<RelationName, Boolean> removed) {
    public static final TableDecisions NONE = new TableDecisions(Set.of(), Map.of());

    private static final int VERSION = 1;
    private static final Comparator<RelationName> BY_NAME =
            Comparator.comparing(RelationName::toString);

    public TableDecisions {
        added = Set.copyOf(added);
        removed = Map.copyOf(removed);
    }

    public boolean isAdded(RelationName name) {
        return added.contains(name);
    }

    public boolean isRemoved(RelationName name) {
        return removed.containsKey(name);
    }

    /** Whether it was removed with its rows. */
    public boolean dropsRows(RelationName name) {
        return removed.getOrDefault(name, false);
    }

    /**
     * @param kept those of them that need a decision: the configuration leaves them out
     */
    public TableDecisions add(Set<RelationName> names, Set<RelationName> kept) {
        Set<RelationName> nowAdded = new HashSet<>(added);
        Map<RelationName, Boolean> nowRemoved = new HashMap<>(removed);
        nowRemoved.keySet().removeAll(names);
        nowAdded.addAll(kept);
        return new TableDecisions(nowAdded, nowRemoved);
    }

    /**
     * Kept as a decision whatever the configuration says, so that {@code drop} survives a restart.
     */
    public TableDecisions remove(Set<RelationName> names, boolean drop) {
        Set<RelationName> nowAdded = new HashSet<>(added);
        Map<RelationName, Boolean> nowRemoved = new HashMap<>(removed);
        nowAdded.removeAll(names);
        names.forEach(name -> nowRemoved.put(name, drop));
        return new TableDecisions(nowAdded, nowRemoved);
    }

    /** As the configuration says. */
    public TableDecisions forget(RelationName name) {
        Set<RelationName> nowAdded = new HashSet<>(added);
        Map<RelationName, Boolean> nowRemoved = new HashMap<>(removed);
        nowAdded.remove(name);
        nowRemoved.remove(name);
        return new TableDecisions(nowAdded, nowRemoved);
    }

    public void write(Path file, long systemIdentifier) throws IOException {
        StringBuilder body = new StringBuilder();
        body.append("# walshadow: tables added and removed by command. Written by the daemon")
                .append(" alone.\nversion = ")
                .append(VERSION)
                .append("\nsystem_identifier = \"")
                .append(Long.toUnsignedString(systemIdentifier))
                .append("\"\nadded = [");
        added.stream().sorted(BY_NAME).forEach(name -> append(body, name, false));
        body.append("]\nremoved = [");
        removed.keySet().stream()
                .sorted(BY_NAME)
                .forEach(name -> append(body, name, dropsRows(name)));
        body.append("]\n");
        SealedToml.write(file, body.toString());
    }

    private static void append(StringBuilder body, RelationName name, boolean drop) {
        body.append("\n  [");
        for (String part : List.of(name.database(), name.schema(), name.name())) {
            SealedToml.text(body, part);
            body.append(", ");
        }
        SealedToml.text(body, drop ? "drop" : "keep");
        body.append("],");
    }

    /** {@link #NONE} if there is no file; a torn, edited, newer or foreign one is refused. */
    public static TableDecisions read(Path file, long systemIdentifier) {
        return SealedToml.read(file, VERSION, root -> parse(root, file, systemIdentifier))
                .orElse(NONE);
    }

    private static TableDecisions parse(JsonNode root, Path file, long systemIdentifier) {
        SealedToml.requireOwner(root, file, systemIdentifier);
        Set<RelationName> added = new HashSet<>();
        root.path("added").forEach(entry -> added.add(name(entry)));
        Map<RelationName, Boolean> removed = new HashMap<>();
        root.path("removed")
                .forEach(entry ->
                        removed.put(name(entry), entry.path(3).asString("").equals("drop")));
        return new TableDecisions(added, removed);
    }

    private static RelationName name(JsonNode entry) {
        return new RelationName(
                entry.path(0).asString(""), entry.path(1).asString(""), entry.path(2).asString(""));
    }
}
