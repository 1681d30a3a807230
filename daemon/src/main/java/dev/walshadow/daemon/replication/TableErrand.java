package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.NameRules;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.daemon.state.TableDecisions;
import dev.walshadow.pipeline.TableState;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out one {@link TableRequest}, all of it or nothing, between records: so it has a place in
 * the stream, one for all tables that it names. A decision is durable before anything follows from
 * it; what had not followed when the process died follows at the next start.
 */
final class TableErrand implements WalPump.Errand {
    private static final Logger LOG = LoggerFactory.getLogger(TableErrand.class);

    private final TableRequest request;
    private final Assembly parts;
    private final Path decisionsFile;
    private final long systemIdentifier;
    private final CompletableFuture<List<String>> result = new CompletableFuture<>();

    TableErrand(TableRequest request, Assembly parts, Path decisionsFile, long systemIdentifier) {
        this.request = request;
        this.parts = parts;
        this.decisionsFile = decisionsFile;
        this.systemIdentifier = systemIdentifier;
    }

    /** Names of the tables; fails if nothing was done. */
    CompletableFuture<List<String>> result() {
        return result;
    }

    @Override
    public void run(long handedOn) throws InterruptedException {
        if (handedOn < parts.caughtUp()) {
            parts.pump.ask(this); // after a restart: what is known is ahead of the stream
            return;
        }
        if (selects() && !parts.settle(handedOn)) {
            parts.pump.ask(this);
            return;
        }
        try {
            switch (request) {
                case TableRequest.Add add -> add(add, handedOn);
                case TableRequest.Remove remove -> remove(remove, handedOn);
                case TableRequest.Declared declared -> declared(declared, handedOn);
                case TableRequest.Resync resync -> resync(resync, handedOn);
            }
            result.complete(request.names());
        } catch (IllegalArgumentException | IOException e) {
            result.completeExceptionally(e);
        }
    }

    /** Whether tables may be followed by it that were left out. */
    private boolean selects() {
        return switch (request) {
            case TableRequest.Add _, TableRequest.Declared _ -> true;
            case TableRequest.Remove _, TableRequest.Resync _ -> false;
        };
    }

    private void add(TableRequest.Add add, long position) throws IOException, InterruptedException {
        TableSelection selection = parts.tables.selection();
        Set<RelationName> names = new LinkedHashSet<>();
        Set<RelationName> leftOut = new HashSet<>();
        for (String name : add.names()) {
            RelationDescriptor relation = existing(name, position);
            requireWhole(relation, position, "add");
            if (parts.tables.selects(relation, position)) {
                throw new IllegalArgumentException(
                        name + " is followed already; to load it anew: walshadow resync " + name);
            }
            if (relation.persistence() == 't' || !isTable(relation)) {
                throw new IllegalArgumentException(name + " cannot be followed");
            }
            names.add(relation.name());
            if (!selection.matchesPatterns(relation.name())) {
                leftOut.add(relation.name());
            }
        }
        List<RelationDescriptor> before = parts.tables.selected(position);
        decide(selection.decisions().add(names, leftOut));
        parts.pipeline.take(position, without(parts.tables.selected(position), before));
    }

    private boolean isTable(RelationDescriptor relation) {
        return relation.kind() != 'p' || !parts.tables.selection().byLeaf();
    }

    private void remove(TableRequest.Remove remove, long position)
            throws IOException, InterruptedException {
        Set<RelationName> names = new LinkedHashSet<>();
        for (String name : remove.names()) {
            RelationDescriptor relation = existing(name, position);
            requireWhole(relation, position, "remove");
            if (!parts.tables.selects(relation, position)) {
                throw new IllegalArgumentException(name + " is not followed");
            }
            names.add(relation.name());
        }
        List<RelationDescriptor> before = parts.tables.selected(position);
        decide(parts.tables.selection().decisions().remove(names, remove.drop()));
        parts.pipeline.leaveOut(
                position, without(before, parts.tables.selected(position)), remove.drop());
    }

    /** A name that means nothing is told, and the others act. */
    private void declared(TableRequest.Declared declared, long position)
            throws IOException, InterruptedException {
        TableSelection selection = parts.tables.selection();
        TableDecisions decided = selection.decisions();
        for (String text : declared.names()) {
            RelationDescriptor relation = parts.tables.find(text, position);
            RelationName name = relation == null ? named(text, parts.databases()) : relation.name();
            String fault = name == null ? "no name of a table: expected schema.table" : "";
            if (relation != null
                    && parts.tables.rootOf(relation, position) != null
                    && !selection.byLeaf()) {
                fault = "a partition, which arrives with its partitioned table";
            }
            if (name == null || !fault.isEmpty()) {
                LOG.warn(
                        "{} the row {} of {} at {} has no effect: it is {}",
                        DaemonCodes.SOURCE_CONFIGURATION,
                        text,
                        ConfigurationTables.TABLES,
                        Lsn.format(position),
                        fault);
                continue;
            }
            decided = decided(decided, selection, name, declared.wishes().get(text));
        }
        List<RelationDescriptor> before = parts.tables.selected(position);
        decide(decided);
        List<RelationDescriptor> after = parts.tables.selected(position);
        List<RelationDescriptor> left = without(before, after);
        List<RelationDescriptor> taken = without(after, before);
        if (!left.isEmpty()) {
            parts.pipeline.leaveOut(position, left, false);
        }
        if (!taken.isEmpty()) {
            parts.pipeline.take(position, taken);
        }
    }

    /**
     * @param wish null: as the configuration says
     */
    static TableDecisions decided(
            TableDecisions before,
            TableSelection selection,
            RelationName name,
            @Nullable Boolean wish) {
        Set<RelationName> one = Set.of(name);
        if (wish == null) {
            return before.forget(name);
        }
        return wish
                ? before.add(one, selection.matchesPatterns(name) ? Set.of() : one)
                : before.remove(one, false);
    }

    /** A table that is not there yet; null if the text cannot be a name. */
    static @Nullable RelationName named(String text, FollowedDatabases databases) {
        return databases.several() ? null : NameRules.relation(text);
    }

    private void resync(TableRequest.Resync resync, long position) throws InterruptedException {
        List<TableStatus> tables = new ArrayList<>();
        for (String name : resync.names()) {
            tables.add(followed(name));
        }
        for (TableStatus table : tables) {
            parts.pipeline.reload(
                    table.databaseOid(), table.relationOid(), position, "a resync was asked for");
        }
    }

    private TableStatus followed(String name) {
        return parts.pipeline.tables().stream()
                .filter(each -> each.name().toString().equals(name))
                .filter(each -> each.state() != TableState.DROPPED)
                .findFirst()
                .orElseThrow(() ->
                        new IllegalArgumentException(
                                "no table that is followed has the name '" + name + "'"));
    }

    private RelationDescriptor existing(String name, long position) {
        RelationDescriptor relation = parts.tables.find(name, position);
        if (relation == null) {
            throw new IllegalArgumentException(
                    "the followed databases have no table '"
                            + name
                            + "'; names are schema.table, with several databases"
                            + " database.schema.table");
        }
        return relation;
    }

    /** A partition arrives in its partitioned table's table, or not at all. */
    private void requireWhole(RelationDescriptor relation, long position, String command) {
        @Nullable RelationDescriptor root = parts.tables.rootOf(relation, position);
        if (root != null && !parts.tables.selection().byLeaf()) {
            throw new IllegalArgumentException(
                    relation.name()
                            + " is a partition; its rows arrive with those of "
                            + root.name()
                            + ": walshadow "
                            + command
                            + " "
                            + root.name());
        }
    }

    private void decide(TableDecisions now) throws IOException {
        now.write(decisionsFile, systemIdentifier);
        parts.tables.selection().decide(now);
        parts.sequences.reselect();
    }

    private static List<RelationDescriptor> without(
            List<RelationDescriptor> all, List<RelationDescriptor> some) {
        Set<RelationDescriptor> others = new HashSet<>(some);
        return all.stream().filter(each -> !others.contains(each)).toList();
    }
}
