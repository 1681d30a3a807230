package dev.walshadow.cli;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorHistory;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.postgres.Lsn;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prints the history of the relations' shapes. */
@Command(
        name = "desc-log",
        description = {
            "Print the descriptor log: which shape each relation had from which WAL position on,"
                    + " and what changed. Read-only, also beside a running daemon."
        })
final class DescLogCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    /** Where the log is: one of the two. */
    private static final class Place {
        @Option(
                names = "--config",
                paramLabel = "FILE",
                description = "The configuration file, for its [state] dir.")
        private @Nullable Path config;

        @Option(names = "--state", paramLabel = "DIR", description = "The state directory itself.")
        private @Nullable Path state;
    }

    @ArgGroup(multiplicity = "1")
    private Place place;

    @Option(
            names = "--table",
            paramLabel = "SCHEMA.TABLE",
            description = "Only the relation that has, or had, this name.")
    private @Nullable String table;

    @Option(names = "--all", description = "Also system catalogs and TOAST relations.")
    private boolean all;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    DescLogCommand() {}

    @Override
    public Integer call() {
        Path log = state().resolve("desclog");
        if (!Files.exists(log)) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE,
                    "there is no "
                            + log
                            + ": name the state directory of a walshadow that has run");
        }
        DescriptorHistory history = DescriptorHistory.read(log);
        PrintWriter out = command.commandLine().getOut();
        List<DescriptorHistory.Change> chosen = chosen(history.changes());
        Map<Integer, String> databases = new HashMap<>();
        history.changes().stream()
                .map(DescriptorHistory.Change::relation)
                .filter(relation -> relation.kind() == DatabaseDescriptor.KIND)
                .forEach(database -> databases.put(database.oid(), database.name().name()));
        for (DescriptorHistory.Change change : chosen) {
            print(change, databases, out);
        }
        out.printf(
                Locale.ROOT,
                "%d of %d changes, of the cluster with system identifier %s%n",
                chosen.size(),
                history.changes().size(),
                Long.toUnsignedString(history.systemIdentifier()));
        out.flush();
        return ExitCodes.OK;
    }

    private Path state() {
        if (place.state != null) {
            return place.state;
        }
        return ConfigurationLoader.load(
                        Objects.requireNonNull(place.config), System.getenv(), Map.of())
                .get(Settings.STATE_DIR);
    }

    private List<DescriptorHistory.Change> chosen(List<DescriptorHistory.Change> changes) {
        if (table == null) {
            return changes.stream().filter(change -> all || isUsers(change.relation())).toList();
        }
        var named =
                changes.stream()
                        .filter(change -> has(change.before()) || has(change.after()))
                        .map(change -> change.relation().oid())
                        .collect(Collectors.toSet());
        return changes.stream().filter(c -> named.contains(c.relation().oid())).toList();
    }

    private boolean has(@Nullable RelationDescriptor relation) {
        return relation != null && relation.label().equals(table);
    }

    private static boolean isUsers(RelationDescriptor relation) {
        String schema = relation.name().schema();
        return !schema.startsWith("pg_") && !schema.equals("information_schema");
    }

    private static void print(
            DescriptorHistory.Change change, Map<Integer, String> databases, PrintWriter out) {
        RelationDescriptor relation = change.relation();
        String lsn = Lsn.format(change.lsn());
        if (relation.kind() == DatabaseDescriptor.KIND) {
            DatabaseDescriptor database = DatabaseDescriptor.of(relation);
            out.printf(
                    Locale.ROOT,
                    "%-12s database %s (OID %s, %s)  %s%n",
                    lsn,
                    database.name(),
                    Integer.toUnsignedString(database.oid()),
                    database.encoding(),
                    change.after() == null
                            ? "dropped"
                            : database.followed() ? "followed" : "not followed");
            return;
        }
        String database =
                databases.getOrDefault(
                        change.databaseOid(), Integer.toUnsignedString(change.databaseOid()));
        out.printf(
                Locale.ROOT,
                "%-12s %s (OID %s, relkind %c, database %s)  %s%n",
                lsn,
                relation.label(),
                Integer.toUnsignedString(relation.oid()),
                relation.kind(),
                database,
                change.what());
        RelationDescriptor after = change.after();
        if (after != null && !change.unread()) {
            out.println("             " + columns(after));
        }
    }

    private static String columns(RelationDescriptor relation) {
        Map<Integer, String> types = new HashMap<>();
        for (TypeDescriptor type : relation.types()) {
            types.put(type.oid(), type.name());
        }
        String columns =
                relation.attributes().stream()
                        .filter(attribute -> !attribute.dropped())
                        .map(attribute -> column(attribute, types))
                        .collect(Collectors.joining(", "));
        String key =
                relation.primaryKey().stream()
                        .map(number -> relation.attributes().get(number - 1).name())
                        .collect(Collectors.joining(", "));
        String identity = relation.replicaIdentity() == 'd' ? "" : identity(relation);
        return columns + (key.isEmpty() ? "; no primary key" : "; key " + key) + identity;
    }

    private static String identity(RelationDescriptor relation) {
        return "; replica identity " + relation.replicaIdentity();
    }

    private static String column(AttributeDescriptor attribute, Map<Integer, String> types) {
        String type =
                types.getOrDefault(
                        attribute.typeOid(), Integer.toUnsignedString(attribute.typeOid()));
        String modifier =
                attribute.typeModifier() < 0 ? "" : " (typmod " + attribute.typeModifier() + ")";
        return attribute.name() + " " + type + modifier;
    }
}
