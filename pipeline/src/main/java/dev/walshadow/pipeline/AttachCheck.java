package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What stands in the way of a first attach. Asks ClickHouse, changes nothing. */
final class AttachCheck {
    /** What the target databases and the metadata database are used with. */
    private static final String PRIVILEGES =
            "SELECT, INSERT, CREATE DATABASE, CREATE TABLE, DROP TABLE, ALTER TABLE";

    private static final String VIEW_PRIVILEGES = "CREATE DATABASE, CREATE VIEW, DROP VIEW";

    private final ClickHouseClient client;
    private final TargetOptions options;
    private final Map<Long, LedgerRow> ledger;
    private final boolean unfinished;

    /**
     * @param unfinished the ledger's tables are of an attach that was not finished: whatever they
     *     hold is ours, and goes when the attach begins anew
     */
    AttachCheck(
            ClickHouseClient client,
            TargetOptions options,
            Map<Long, LedgerRow> ledger,
            boolean unfinished) {
        this.client = client;
        this.options = options;
        this.ledger = ledger;
        this.unfinished = unfinished;
    }

    /** Each with its remedy. */
    List<String> problems(Collection<RelationDescriptor> selected) {
        List<String> problems = new ArrayList<>();
        Map<String, String> targets = new HashMap<>();
        TreeSet<String> targetDatabases = new TreeSet<>();
        Map<RelationDescriptor, TableMapping> mapped = new LinkedHashMap<>();
        boolean byRoot = selected.stream().anyMatch(shape -> shape.kind() == 'p');
        for (RelationDescriptor shape : selected) {
            LedgerRow row = ledger.get(Quarantine.key(shape.databaseOid(), shape.oid()));
            TableMapping mapping = byRoot && shape.partition() ? null : mapping(row, shape);
            if (mapping == null) {
                continue;
            }
            mapped.put(shape, mapping);
            targetDatabases.add(mapping.database());
            String other = targets.putIfAbsent(mapping.target(), shape.label());
            if (other != null) {
                problems.add(
                        PipelineCodes.NAME_COLLISION
                                + " "
                                + other
                                + " and "
                                + shape.label()
                                + " would both arrive in "
                                + mapping.target()
                                + ": leave one of them out by [tables] exclude");
            }
        }
        options.companions().forEach(kind -> checkViews(kind, mapped, targets, problems));
        Set<TargetName> existing = existing(targetDatabases);
        if (unfinished) {
            ledger.values().stream()
                    .filter(LedgerRow::hasTarget)
                    .forEach(row ->
                            existing.remove(
                                    new TargetName(row.targetDatabase(), row.targetTable())));
        }
        mapped.forEach((shape, mapping) -> {
            LedgerRow row = ledger.get(Quarantine.key(shape.databaseOid(), shape.oid()));
            boolean ours = row != null && !unfinished && isFilled(row);
            if (ours && options.onExisting() == TargetOptions.OnExisting.REFUSE) {
                problems.add(filledBefore(shape, mapping));
            } else if ((ours || row == null) && existing.contains(TargetName.of(mapping))) {
                checkTarget(shape, mapping, problems);
            }
        });
        targetDatabases.add(options.metadataDatabase());
        targetDatabases.forEach(database -> checkGrants(database, PRIVILEGES, problems));
        for (Companion kind : options.companions()) {
            mapped.values().stream()
                    .filter(_ -> !kind.names().isNone())
                    .map(mapping -> kind.names().of(TargetName.of(mapping)).database())
                    .distinct()
                    .forEach(database ->
                            checkGrants(
                                    database,
                                    kind.engine().equals("View") ? VIEW_PRIVILEGES : PRIVILEGES,
                                    problems));
        }
        return problems;
    }

    /**
     * The names of views must be free.
     *
     * @param targets what arrives where; views are added
     */
    private void checkViews(
            Companion kind,
            Map<RelationDescriptor, TableMapping> mapped,
            Map<String, String> targets,
            List<String> problems) {
        if (kind.names().isNone()) {
            return;
        }
        String setting = kind.word().equals("view") ? "views" : kind.word();
        mapped.forEach((shape, mapping) -> {
            TargetName view = kind.names().of(TargetName.of(mapping));
            String what = "the " + kind.noun() + " of " + shape.label();
            String other = targets.putIfAbsent(view.toString(), what);
            if (other != null) {
                problems.add(
                        PipelineCodes.NAME_COLLISION
                                + " "
                                + other
                                + " and "
                                + what
                                + " would both be "
                                + view
                                + ": choose other names by [tables] "
                                + setting);
            } else if (isForeign(kind, view)) {
                problems.add(
                        PipelineCodes.TARGET_NOT_EMPTY
                                + " "
                                + what
                                + " cannot be "
                                + view
                                + ", which exists and is not walshadow's: drop or rename it, or"
                                + " choose other names by [tables] "
                                + setting);
            }
        });
    }

    private boolean isForeign(Companion kind, TargetName view) {
        String comment =
                client.queryValue(
                        "SELECT comment FROM system.tables WHERE database = "
                                + Ddl.literal(view.database())
                                + " AND name = "
                                + Ddl.literal(view.table()));
        TargetNames names =
                new TargetNames(options.metadataDatabase(), options.systemIdentifier(), _ -> null);
        return comment != null && !names.isCompanion(kind, comment);
    }

    /** All tables of these databases. */
    private Set<TargetName> existing(Set<String> databases) {
        Set<TargetName> names = new HashSet<>();
        for (String database : databases) {
            client.query("SELECT name FROM system.tables WHERE database = " + Ddl.literal(database))
                    .forEach(row -> names.add(new TargetName(database, String.valueOf(row[0]))));
        }
        return names;
    }

    /** ClickHouse before 24.11 cannot be asked; there a missing grant shows at its first use. */
    private void checkGrants(String database, String privileges, List<String> problems) {
        String scope = Ddl.identifier(database) + ".*";
        String granted;
        try {
            granted = client.queryValue("CHECK GRANT " + privileges + " ON " + scope);
        } catch (QuarantineException e) {
            return;
        }
        if (!"1".equals(granted)) {
            problems.add(
                    PipelineCodes.TARGET_GRANTS
                            + " the ClickHouse user lacks privileges in the database "
                            + database
                            + "; run GRANT "
                            + privileges
                            + " ON "
                            + scope
                            + " TO that user");
        }
    }

    private static String filledBefore(RelationDescriptor shape, TableMapping mapping) {
        return PipelineCodes.TARGET_NOT_EMPTY
                + " the target table "
                + mapping.target()
                + " of "
                + shape.label()
                + " was filled from this source with another state directory. Start with that state"
                + " directory, or drop the table (DROP TABLE "
                + Ddl.qualified(mapping.database(), mapping.table())
                + ", or see [tables] on_existing) to load it anew";
    }

    /** Whether an attach that was finished has left rows there. */
    private boolean isFilled(LedgerRow row) {
        boolean finished = row.state() == TableState.LIVE || row.state() == TableState.QUARANTINED;
        return finished
                && !row.targetTable().isEmpty()
                && TableShape.read(client, row.targetDatabase(), row.targetTable()) != null
                && client.queryValue(
                                "SELECT 1 FROM "
                                        + Ddl.qualified(row.targetDatabase(), row.targetTable())
                                        + " LIMIT 1")
                        != null;
    }

    private void checkTarget(
            RelationDescriptor shape, TableMapping mapping, List<String> problems) {
        TargetOptions.OnExisting policy = options.onExisting();
        TableShape existing = TableShape.read(client, mapping.database(), mapping.table());
        if (existing == null || policy == TargetOptions.OnExisting.REPLACE) {
            return;
        }
        String target = Ddl.qualified(mapping.database(), mapping.table());
        List<String> differences = mapping.differences(existing);
        if (!differences.isEmpty()) {
            problems.add(
                    PipelineCodes.TARGET_NOT_EMPTY
                            + " "
                            + shape.label()
                            + " cannot arrive in the existing table "
                            + mapping.target()
                            + ": "
                            + String.join("; ", differences)
                            + ". Drop or rename that table (or have it renamed by [tables]"
                            + " on_existing = \"replace\"), or leave "
                            + shape.label()
                            + " out by [tables] exclude");
        } else if (policy == TargetOptions.OnExisting.REFUSE
                && ExistingTables.isFilled(client, TargetName.of(mapping))) {
            problems.add(
                    PipelineCodes.TARGET_NOT_EMPTY
                            + " the target table "
                            + mapping.target()
                            + " of "
                            + shape.label()
                            + " is not empty, and walshadow did not fill it from this source."
                            + " Empty it (TRUNCATE TABLE "
                            + target
                            + ", or [tables] on_existing = \"empty\"), drop it, or leave "
                            + shape.label()
                            + " out by [tables] exclude");
        }
    }

    /** The mapping that the table has or would get; null if it is held back. */
    private @Nullable TableMapping mapping(@Nullable LedgerRow row, RelationDescriptor shape) {
        if (row != null && row.state() == TableState.LIVE) {
            return options.rules().pinned(row.mapping());
        }
        return TableMapping.derive(shape, options.rules())
                        instanceof Derivation.Mapped(TableMapping mapping, var _)
                ? mapping
                : null;
    }
}
