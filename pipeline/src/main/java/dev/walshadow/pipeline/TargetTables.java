package dev.walshadow.pipeline;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.Invariant;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.PartitionMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The followed tables and their twins in ClickHouse, with the ledger kept there ({@link
 * MetadataDatabase}). Attach or resume before the pipeline starts, from one thread; afterwards
 * reads are safe from any thread.
 */
public final class TargetTables {
    /**
     * Reason of a table that was not followed from the first; the ledger keeps it for a restart.
     */
    static final String ADDED = "it was added";

    /** Why a table is not followed any more though it is there. */
    static final String LEFT_OUT = "it is not selected any more";

    private static final Logger log = LoggerFactory.getLogger(TargetTables.class);

    private final ClickHouseClient client;
    private final TargetOptions options;
    private final MetadataDatabase metadata;
    private final TableLedger ledger;
    private final Map<Long, TargetTable> tables = new ConcurrentHashMap<>();
    private final TargetNames names;
    private final TargetViews views;
    private final Markers markers;
    private final SequenceTable sequences;
    private final Set<Long> reported = ConcurrentHashMap.newKeySet();
    private final AtomicLong revision = new AtomicLong();
    private volatile boolean loadsOnly;
    private boolean unfinished;

    private TargetTables(ClickHouseClient client, TargetOptions options) {
        this.client = client;
        this.options = options;
        this.names =
                new TargetNames(
                        options.metadataDatabase(), options.systemIdentifier(), tables::get);
        this.views = views(client, options);
        this.markers = new Markers(client, options.metadataDatabase(), options.systemIdentifier());
        this.sequences =
                new SequenceTable(client, options.metadataDatabase(), options.systemIdentifier());
        this.metadata =
                new MetadataDatabase(
                        client,
                        options.metadataDatabase(),
                        options.systemIdentifier(),
                        options.sourceName());
        this.ledger = new TableLedger(metadata);
    }

    /** The first reads the tables, each further one what the one before it is. */
    private TargetViews views(ClickHouseClient client, TargetOptions options) {
        TargetViews views = null;
        for (Companion kind : options.companions()) {
            views = new TargetViews(client, kind, views, names, tables::get);
        }
        return Objects.requireNonNull(views);
    }

    /**
     * Reads the ledger, if there is one. Changes nothing.
     *
     * @throws ConfigurationException if it is another source's, or ClickHouse refuses access
     * @throws dev.walshadow.base.RetryException if ClickHouse does not answer
     */
    public static TargetTables open(ClickHouseClient client, TargetOptions options) {
        TargetTables opened = new TargetTables(client, options);
        opened.ledger.read();
        return opened;
    }

    /** True if this source has been attached before: the ledger has its tables. */
    public boolean isAttached() {
        return ledger.exists() && !ledger.rows().isEmpty();
    }

    /** True if no table of the ledger waits for its baseline. */
    public boolean isComplete() {
        return isAttached()
                && ledger.rows().values().stream()
                        .noneMatch(row -> row.state() == TableState.LOADING);
    }

    /** What {@link #attach} would refuse, each with its remedy. Changes nothing. */
    public List<String> problems(Collection<RelationDescriptor> selected) {
        List<String> problems = new ArrayList<>();
        for (ClickHouseClient shard : client.shards()) {
            String where = client.isSharded() ? " (on the shard " + shard.endpoint() + ")" : "";
            new AttachCheck(shard, options, ledger.rows(), unfinished)
                    .problems(selected)
                    .forEach(problem -> problems.add(problem + where));
        }
        return problems;
    }

    /**
     * The attach that filled the ledger's tables was not finished: whatever they hold is ours, and
     * may be dropped. Before {@link #problems}, {@link #goOn} and {@link #attach}.
     */
    public void leftUnfinished() {
        unfinished = true;
    }

    /** The same, and that attach begins anew. Before {@link #attach}. */
    public void startOver() {
        leftUnfinished();
        ledger.startOver();
    }

    /**
     * Goes on with an attach that was not finished: its tables keep what they have, and wait for
     * the rest of their baseline. As {@link #attach} otherwise.
     *
     * @return why not, and nothing was changed; null if it goes on
     */
    public @Nullable String goOn(
            Collection<RelationDescriptor> selected, Partitions.Lookup parents, long baselineLsn) {
        for (ClickHouseClient shard : client.shards()) {
            String difference =
                    UnfinishedAttach.difference(
                            shard, options.rules(), ledger.rows(), selected, baselineLsn);
            if (difference != null) {
                return difference;
            }
        }
        List<LedgerRow> rows = new ArrayList<>();
        takeAll(selected, parents, baselineLsn, rows);
        ledger.write(rows);
        takeUpViews();
        return null;
    }

    /**
     * First attach, or the restart of an unfinished one: creates databases and tables; tables whose
     * baseline is unfinished are dropped and made anew.
     *
     * @param parents finds what a partition belongs to
     * @param baselineLsn B, the high half of the baseline rows' versions
     * @throws ConfigurationException with all {@link #problems}
     */
    public void attach(
            Collection<RelationDescriptor> selected, Partitions.Lookup parents, long baselineLsn) {
        List<String> problems = problems(selected);
        if (!problems.isEmpty()) {
            throw new ConfigurationException(
                    PipelineCodes.TARGET_NOT_EMPTY,
                    "the tables cannot be attached; nothing was changed:\n"
                            + String.join("\n", problems));
        }
        ledger.startOver();
        ledger.create();
        List<LedgerRow> rows = new ArrayList<>();
        List<TargetTable> made = takeAll(selected, parents, baselineLsn, rows);
        Map<ClickHouseClient, List<TargetTable>> existing = new HashMap<>();
        Set<LedgerRow> gone = new LinkedHashSet<>();
        for (ClickHouseClient shard : client.shards()) {
            List<TargetTable> there =
                    new ExistingTables(shard, options.onExisting())
                            .takeOver(made, unfinishedNames());
            existing.put(shard, there);
            gone.addAll(
                    new TargetCreation(shard, names)
                            .dropUnfinished(ledger.rows(), selected, unfinished, names(there)));
        }
        rows.addAll(gone);
        // named in the ledger before they exist: what is there afterwards is ours to drop
        ledger.write(rows);
        existing.forEach((shard, there) -> new TargetCreation(shard, names).createAll(made, there));
        takeUpViews();
    }

    /** The view of a table that stays though it is not followed stays too. */
    private void takeUpViews() {
        views.takeUp(
                tables.values(),
                key -> {
                    LedgerRow row = ledger.rows().get(key);
                    return row != null
                            && row.rootOid() == 0
                            && row.state() == TableState.DROPPED
                            && options.onDrop() != TargetOptions.OnDrop.DROP;
                });
    }

    /** What an attach has made that was not finished. */
    private Set<TargetName> unfinishedNames() {
        Set<TargetName> made = new HashSet<>();
        if (unfinished) {
            for (LedgerRow row : ledger.rows().values()) {
                if (row.hasTarget()) {
                    made.add(new TargetName(row.targetDatabase(), row.targetTable()));
                }
            }
        }
        return made;
    }

    private static Set<TargetName> names(List<TargetTable> of) {
        Set<TargetName> found = new HashSet<>();
        of.forEach(table -> found.add(TargetName.of(table.mapped())));
        return found;
    }

    /** Returns those with a table of their own in ClickHouse; {@code rows} gets all. */
    private List<TargetTable> takeAll(
            Collection<RelationDescriptor> selected,
            Partitions.Lookup parents,
            long baselineLsn,
            List<LedgerRow> rows) {
        tables.clear();
        names.clear();
        List<TargetTable> own = new ArrayList<>();
        for (RelationDescriptor shape : rootsFirst(selected)) {
            TargetTable root = rootOf(shape, parents);
            TargetTable table = root == null ? attached(shape) : joined(shape, root);
            if (table.state() == TableState.LOADING) {
                table.setBaselineLsn(baselineLsn);
                if (root == null) {
                    own.add(table);
                    if (table.isPartitioned()) {
                        table.loaded(); // its rows are its partitions'
                    }
                }
            }
            put(table);
            rows.add(TableLedger.row(table));
        }
        return own;
    }

    /** A partition at the first attach. */
    private TargetTable joined(RelationDescriptor shape, TargetTable root) {
        return switch (deriveIn(root, shape)) {
            case Derivation.Mapped mapped ->
                    table(shape, mapped.mapping(), TableState.LOADING).join(root);
            case Derivation.HeldBack held -> held(shape, String.join("; ", held.reasons()));
        };
    }

    private static List<RelationDescriptor> rootsFirst(Collection<RelationDescriptor> shapes) {
        return shapes.stream()
                .sorted(Comparator.comparing((RelationDescriptor shape) -> shape.kind() != 'p'))
                .toList();
    }

    /** The followed partitioned table that this partition's rows go to; null: none. */
    @Nullable TargetTable rootOf(RelationDescriptor shape, Partitions.Lookup parents) {
        if (!shape.partition()) {
            return null;
        }
        RelationDescriptor root = Partitions.root(shape, parents);
        TargetTable followed = root == null ? null : find(root.databaseOid(), root.oid());
        return followed == null || followed.state() == TableState.DROPPED ? null : followed;
    }

    /** All that send to a partitioned table's table. */
    List<TargetTable> partitions() {
        return tables.values().stream().filter(table -> table.root() != null).toList();
    }

    private void put(TargetTable table) {
        tables.put(table.key(), table);
        if (table.root() == null
                && table.mapping() != null
                && table.state() != TableState.DROPPED) {
            names.announce(table, TargetName.of(table.mapped()));
        }
    }

    private TargetTable attached(RelationDescriptor shape) {
        return switch (TableMapping.derive(shape, options.rules())) {
            case Derivation.Mapped mapped -> {
                mapped.notes().forEach(note -> log.info("{}", note));
                yield table(shape, mapped.mapping(), TableState.LOADING);
            }
            case Derivation.HeldBack held -> held(shape, String.join("; ", held.reasons()));
        };
    }

    private TargetTable table(
            RelationDescriptor shape, @Nullable TableMapping mapping, TableState state) {
        return new TargetTable(shape, mapping, encoding(shape), state, 0, null);
    }

    private TargetTable held(RelationDescriptor shape, String reason) {
        log.warn("{} is held back: {}", shape.label(), reason);
        return TargetTable.held(shape, encoding(shape), reason, 0, null);
    }

    /**
     * A later start: takes the ledger's tables up again, each with the shape and mapping that the
     * stream finds it in. What was on its way then is begun again.
     *
     * @param durablePosition commits up to here do not come again
     * @param selected whether a table is to be followed
     */
    public void resume(DescriptorLog log, long durablePosition, Selected selected) {
        Invariant.check(ledger.exists(), "what is resumed was attached before");
        tables.clear();
        names.clear();
        dropUnfinished();
        Resumption resumption = new Resumption(this, log, durablePosition);
        // what a partition belongs to comes first, whichever of them the ledger has
        resumeRows(resumption, selected, row -> row.rootOid() == 0);
        resumeOthers(resumption, log, durablePosition, selected, shape -> shape.kind() == 'p');
        resumeRows(resumption, selected, row -> row.rootOid() != 0);
        resumeOthers(resumption, log, durablePosition, selected, shape -> shape.kind() != 'p');
        takeUpViews();
    }

    private void resumeRows(Resumption resumption, Selected selected, Predicate<LedgerRow> which) {
        for (LedgerRow row : ledger.rows().values()) {
            TargetTable table = which.test(row) ? resumption.of(row, selected) : null;
            if (table != null) {
                put(table);
                ledger.isWritten(row);
            }
        }
    }

    /** Those that are selected and not in the ledger. */
    private void resumeOthers(
            Resumption resumption,
            DescriptorLog log,
            long durablePosition,
            Selected selected,
            Predicate<RelationDescriptor> which) {
        for (RelationDescriptor shape : log.active(durablePosition)) {
            long key = Quarantine.key(shape.databaseOid(), shape.oid());
            LedgerRow row = ledger.rows().get(key);
            boolean known = row != null && row.state() != TableState.DROPPED;
            if (which.test(shape)
                    && !known
                    && !tables.containsKey(key)
                    && selected.test(shape, durablePosition)) {
                put(resumption.selectedLater(shape));
            }
        }
    }

    /** Copies that an earlier process did not finish; whatever needs one begins it anew. */
    private void dropUnfinished() {
        for (ClickHouseClient shard : client.shards()) {
            TombstoneRemoval.killAbandoned(shard, options.metadataDatabase());
            shard.query(
                            "SELECT name FROM system.tables WHERE match(name, "
                                    + Ddl.literal(TargetNames.UNFINISHED)
                                    + ") AND database = "
                                    + Ddl.literal(options.metadataDatabase()))
                    .forEach(row -> {
                        TargetName left =
                                new TargetName(options.metadataDatabase(), String.valueOf(row[0]));
                        if (!new KeptHistory(shard, names).release(left)) {
                            shard.execute(Ddl.dropTable(left.database(), left.table()));
                        }
                    });
        }
    }

    /** Whether a relation is to be followed, as it is at a position. */
    public interface Selected {
        boolean test(RelationDescriptor relation, long position);

        /** Of one that is not to be followed any more: whether its rows go too. */
        default boolean dropsRows(RelationDescriptor relation) {
            return false;
        }
    }

    // generations; the planner of transactions is the only one who replaces them

    TargetTable generation(
            RelationDescriptor shape,
            @Nullable TableMapping mapping,
            TableState state,
            long fromPosition,
            @Nullable Opening opening) {
        return new TargetTable(shape, mapping, encoding(shape), state, fromPosition, opening);
    }

    TargetTable heldBack(
            RelationDescriptor shape,
            long fromPosition,
            String reason,
            @Nullable TargetTable previous) {
        log.warn("{} is held back: {}", shape.label(), reason);
        return TargetTable.held(
                shape,
                encoding(shape),
                reason,
                fromPosition,
                previous == null ? null : new Opening.Hold(previous));
    }

    /** A quarantined table stays so, but its shape is known. */
    TargetTable quarantinedAgain(TargetTable old, RelationDescriptor shape) {
        TargetTable next =
                new TargetTable(
                        shape, null, encoding(shape), TableState.HELD, old.fromPosition(), null);
        next.pin(old.pin());
        next.setAside(old.reason(), old.positionLsn());
        next.discardedRows.add(old.discardedRows.sum());
        return next;
    }

    void replace(TargetTable next) {
        tables.put(next.key(), next);
        revision.incrementAndGet();
    }

    /** Another one after each change of a followed table. */
    public long revision() {
        return revision.get();
    }

    /** Held back too if the rules for it name columns that it has not: whose would they be? */
    Derivation derive(RelationDescriptor shape) {
        List<String> unknown = options.rules().unknownColumns(shape);
        if (!unknown.isEmpty()) {
            return new Derivation.HeldBack(
                    List.of(
                            "the configuration has rules for columns that it does not have: "
                                    + String.join(", ", unknown)
                                    + "; name them as they are now"));
        }
        return noted(TableMapping.derive(shape, options.rules()));
    }

    /** Where its columns were renamed, what was left out or transformed stays so. */
    Derivation derive(RelationDescriptor shape, TargetTable old) {
        TableMapping pinned = old.mapping();
        if (pinned == null) {
            return derive(shape);
        }
        MappingRules rules = options.rules();
        // a partition's versions were its partitioned table's affair
        TableMapping known =
                old.root() == null ? pinned : pinned.withAppend(rules.appends(shape.name()));
        return noted(TableMapping.derive(shape, rules.carried(known, old.shape(), shape)));
    }

    private static Derivation noted(Derivation derivation) {
        if (derivation instanceof Derivation.Mapped mapped) {
            mapped.notes().forEach(note -> log.info("{}", note));
        }
        return derivation;
    }

    /**
     * What a changed shape asks of its table ({@link ShapeChange#decide}). On several shards no row
     * can come to another shard by what ClickHouse has: then it is loaded.
     */
    ShapeChange decide(
            TableMapping pinned,
            RelationDescriptor before,
            RelationDescriptor after,
            boolean rekeyable) {
        ShapeChange change =
                ShapeChange.decide(
                        pinned, before, after, rules(), rekeyable && !client.isSharded());
        boolean copied =
                change instanceof ShapeChange.InPlace || change instanceof ShapeChange.Beside;
        return client.isSharded() && copied && ShardKey.moves(pinned, change.mapping())
                ? new ShapeChange.Load(
                        change.mapping(), "by its key of another type its rows are on other shards")
                : change;
    }

    /** The same for a partition of {@code root}. */
    Derivation deriveIn(TargetTable root, RelationDescriptor leaf) {
        TableMapping mapping = root.mapping();
        return mapping == null
                ? new Derivation.HeldBack(
                        List.of(root.label() + " is not replicated: " + root.reason()))
                : PartitionMapping.of(mapping, leaf, options.rules().keepsToast());
    }

    /** How tables are mapped. */
    public MappingRules rules() {
        return options.rules();
    }

    SourceEncoding encoding(RelationDescriptor shape) {
        return options.encoding().apply(shape.databaseOid());
    }

    /** True while rows from before the attach are still delivered: no table is altered in place. */
    boolean loadsOnly() {
        return loadsOnly;
    }

    void setLoadsOnly(boolean now) {
        loadsOnly = now;
    }

    boolean loadsAdded() {
        return options.loadsAdded();
    }

    /** A partitioned table has no rows of its own; those of a partition stay if configured. */
    boolean empties(TargetTable table) {
        return !table.isPartitioned() && !(table.root() != null && keepsDetached());
    }

    boolean keepsDetached() {
        return options.keepsDetached();
    }

    TargetOptions.OnDrop onDrop() {
        return options.onDrop();
    }

    TargetOptions.OnExisting onExisting() {
        return options.onExisting();
    }

    String metadataDatabase() {
        return options.metadataDatabase();
    }

    TargetNames names() {
        return names;
    }

    TargetViews views() {
        return views;
    }

    // the ledger

    /**
     * Writes what the ledger says of a table; throws what the client throws. Tables that wait for
     * the same are written together: each insert of its own is a part of its own.
     */
    void record(TargetTable table) {
        ledger.record(table);
    }

    /**
     * Brings the ledger's states up to date; throws what the client throws.
     *
     * @return false if there was nothing to write
     */
    boolean writeChanges() {
        return ledger.writeChanges(tables.values());
    }

    Markers markers() {
        return markers;
    }

    SequenceTable sequences() {
        return sequences;
    }

    /** Sequences first, so that they are at least as new as the rows that it is about. */
    void writeWatermark(Watermark watermark) {
        sequences.write();
        metadata.writeWatermark(watermark);
        markers.write(watermark.durableLsn());
    }

    @Nullable TargetTable find(int databaseOid, int relationOid) {
        return tables.get(Quarantine.key(databaseOid, relationOid));
    }

    Collection<TargetTable> all() {
        return tables.values();
    }

    /** True once per relation. */
    boolean firstSeen(RelationDescriptor relation) {
        return reported.add(Quarantine.key(relation.databaseOid(), relation.oid()));
    }

    /** True if existing rows of this relation are to be loaded now. */
    public boolean wantsBaseline(int databaseOid, int relationOid) {
        TargetTable table = find(databaseOid, relationOid);
        return table != null && isInitiallyLoading(table);
    }

    /** Its baseline is that of the attach. */
    static boolean isInitiallyLoading(TargetTable table) {
        return table.state() == TableState.LOADING && table.opening() == null;
    }

    /**
     * Whether the configuration leaves this column out, possibly under a name that it had before: a
     * rule stays with its column while the daemon runs.
     */
    public boolean excludes(RelationDescriptor shape, String column) {
        Map<String, MappingRules.ColumnRule> rules = options.rules().table(shape.name()).columns();
        if (rules.getOrDefault(column, MappingRules.ColumnRule.NONE).exclude()) {
            return true;
        }
        Set<String> present = new HashSet<>();
        shape.attributes().forEach(attribute -> present.add(attribute.name()));
        return rules.entrySet().stream()
                .anyMatch(rule -> rule.getValue().exclude() && !present.contains(rule.getKey()));
    }

    /** How a table is mapped; null if it is held back or not followed. */
    public @Nullable TableMapping mapping(int databaseOid, int relationOid) {
        TargetTable table = find(databaseOid, relationOid);
        return table == null ? null : table.mapping();
    }

    /** A followed table as the stream has it; null if it is not followed. */
    public @Nullable RelationDescriptor shape(int databaseOid, int relationOid) {
        TargetTable table = find(databaseOid, relationOid);
        return table == null ? null : table.shape();
    }

    /** Whether all of a table's rows are sent, and where readers find them. */
    public boolean isLive(int databaseOid, int relationOid) {
        TargetTable table = find(databaseOid, relationOid);
        return table != null
                && table.state() == TableState.LIVE
                && table.isOpen()
                && !table.isStaged();
    }

    public Collection<TableStatus> status() {
        return tables.values().stream()
                .filter(table -> table.root() == null || table.state() != TableState.LIVE)
                .map(TargetTable::status)
                .toList();
    }

    /** The ledger's tables as they were written last: for a reader beside a running daemon. */
    public Collection<TableStatus> ledger() {
        return ledger.rows().values().stream()
                .filter(row -> row.rootOid() == 0 || row.state() != TableState.LIVE)
                .map(LedgerRow::status)
                .toList();
    }

    /** The mapping that the ledger has pinned; null for a table without one. */
    public @Nullable TableMapping ledgerMapping(int databaseOid, int relationOid) {
        LedgerRow row = ledger.rows().get(Quarantine.key(databaseOid, relationOid));
        return row == null || row.mapping().isEmpty()
                ? null
                : options.rules().pinned(row.mapping());
    }
}
