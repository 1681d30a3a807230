package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.ddl.TableAlteration;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes tables in ClickHouse and the ledger with them. Every step can be repeated from its start,
 * whatever of it an earlier process has done. A table of ours is known by its comment, wherever it
 * has been renamed to. Runs on threads of its own; waits while ClickHouse does not answer.
 */
final class TargetDdl {
    private static final Logger LOG = LoggerFactory.getLogger(TargetDdl.class);
    private static final long CLAIM_POLL_MILLIS = 2;

    private final ClickHouseClient client;
    private final TargetTables tables;
    private final TargetNames names;
    private final TargetViews views;
    private final Quarantine quarantine;
    private final TargetReachability reachability;
    private final PipelineEvents events;
    private final @Nullable ChunkMirror mirror;

    /**
     * @param mirror null: chunks of TOAST relations are not kept
     */
    TargetDdl(
            ClickHouseClient client,
            TargetTables tables,
            Quarantine quarantine,
            TargetReachability reachability,
            PipelineEvents events,
            @Nullable ChunkMirror mirror) {
        this.client = client;
        this.tables = tables;
        this.names = tables.names();
        this.views = tables.views();
        this.quarantine = quarantine;
        this.reachability = reachability;
        this.events = events;
        this.mirror = mirror;
    }

    /**
     * What the table's generation begins with.
     *
     * @throws QuarantineException if ClickHouse refuses it, or the table's place is taken
     */
    void open(TargetTable table) throws InterruptedException {
        switch (Objects.requireNonNull(table.opening())) {
            case Opening.Create _ -> create(table);
            case Opening.Alter alter -> alter(table, alter);
            case Opening.Load load -> {
                until(table, () -> leave(load.previous(), table));
                beginLoad(table, load.reason());
            }
            case Opening.Refill refill -> beginRefill(table, refill);
            case Opening.Join _ -> join(table);
            case Opening.JoinLoad load -> beginLoadInPlace(table, load);
            case Opening.Replace replace -> replace(table, replace);
            case Opening.Drop drop ->
                    drop(
                            table,
                            drop.previous(),
                            drop.policy() == null ? tables.onDrop() : drop.policy());
            case Opening.Hold hold -> hold(table, hold.previous());
        }
        until(table, () -> views.follow(table));
    }

    /** What the ledger must say before the opening of a partitioned table begins. */
    void prepare(TargetTable table) throws InterruptedException {
        if (table.opening() instanceof Opening.JoinLoad) {
            until(
                    table,
                    () -> {
                        table.pin(new TargetTable.Pin(null, table.fromPosition(), null));
                        tables.record(table);
                    });
        }
    }

    /** Every step can be repeated. */
    private void until(TargetTable table, TargetReachability.Attempt step)
            throws InterruptedException {
        reachability.until(table, step);
    }

    private void create(TargetTable table) throws InterruptedException {
        TargetName name = TargetName.of(table.mapped());
        claim(table, name);
        until(
                table,
                () -> {
                    client.execute(Ddl.createDatabase(name.database()));
                    makeRoom(table, name);
                    setUnfitAside(table, name);
                    client.execute(
                            table.mapped()
                                    .toDdl(name.database(), name.table(), names.comment(table)));
                    mark(table, name);
                    forgetChunks(table, table.fromPosition());
                    table.pin(new TargetTable.Pin(table.mapped(), table.fromPosition(), null));
                    tables.record(table);
                });
    }

    /** Values of before this commit are nobody's any more. */
    private void forgetChunks(TargetTable table, long position) {
        if (mirror != null && !table.isPartitioned()) {
            mirror.forgetBelow(table, position, 0);
        }
    }

    /** The table was followed before, and has changed since. */
    private void setUnfitAside(TargetTable table, TargetName name) {
        TableShape kept = TableShape.read(client, name.database(), name.table());
        if (kept != null && !table.mapped().differences(kept).isEmpty()) {
            setAside(name);
        }
    }

    private void setAside(TargetName name) {
        TargetName aside = aside(name);
        LOG.info("{} of a dropped table is kept as {}", name, aside);
        client.execute(rename(name, aside));
    }

    /** Makes the table that is there fit; what ClickHouse refuses to do is loaded instead. */
    private void alter(TargetTable table, Opening.Alter alter) throws InterruptedException {
        ShapeChange change =
                ShapeChange.decide(
                        alter.from(), alter.before(), table.shape(), tables.rules(), true);
        try {
            until(
                    table,
                    () -> {
                        table.pin(
                                new TargetTable.Pin(
                                        alter.from(), table.fromPosition(), table.mapped()));
                        tables.record(table);
                        views.narrow(table, alter.from());
                    });
            if (!alterFromTheStart(table, alter, change)) {
                TargetName name = move(table);
                until(
                        table,
                        () -> {
                            alter(table, name, alter.from(), change);
                            altered(table);
                        });
            }
        } catch (QuarantineException e) {
            // what a partitioned table has is its partitions'; it cannot be loaded by itself
            if (e.code().equals(PipelineCodes.NAME_COLLISION) || table.isPartitioned()) {
                throw e;
            }
            LOG.warn("{} cannot be altered: {}", table.label(), e.getMessage());
            table.load();
            beginLoad(table, "ClickHouse refused to alter it: " + e.getMessage());
        }
    }

    private void altered(TargetTable table) {
        table.pin(new TargetTable.Pin(table.mapped(), table.fromPosition(), null));
        tables.record(table);
    }

    /**
     * Where this process has had the table under its name until now, and nothing of the change can
     * have been begun, ClickHouse is asked for neither: in a storm of changes its time is scarce.
     *
     * @return false if that is not so, or ClickHouse refuses: then it is to be looked into
     */
    private boolean alterFromTheStart(TargetTable table, Opening.Alter alter, ShapeChange change)
            throws InterruptedException {
        TargetName name = TargetName.of(table.mapped());
        TargetTable previous = alter.previous();
        if (!(change instanceof ShapeChange.InPlace)
                || previous == null
                || !previous.place().equals(name)) {
            return false;
        }
        claim(table, name);
        boolean[] begun = new boolean[1];
        try {
            until(
                    table,
                    () -> {
                        if (begun[0]) {
                            alter(table, name, alter.from(), change);
                        } else {
                            begun[0] = true;
                            TableAlteration.inPlaceFromTheStart(
                                    client,
                                    name.database(),
                                    name.table(),
                                    alter.from(),
                                    table.mapped(),
                                    table.shape());
                        }
                        altered(table);
                    });
            return true;
        } catch (QuarantineException e) {
            LOG.debug("{}: {}; looking into it", table.label(), e.getMessage());
            return false;
        }
    }

    private void alter(TargetTable table, TargetName name, TableMapping from, ShapeChange change) {
        switch (change) {
            case ShapeChange.Unchanged _ -> {}
            case ShapeChange.InPlace _ ->
                    TableAlteration.inPlace(
                            client,
                            name.database(),
                            name.table(),
                            from,
                            table.mapped(),
                            table.shape(),
                            tables.encoding(table.shape()));
            case ShapeChange.Beside _ -> {
                TargetName scratch = names.scratch("beside", table);
                TableAlteration.beside(
                        client,
                        name.database(),
                        name.table(),
                        scratch.database(),
                        scratch.table(),
                        from,
                        table.mapped(),
                        table.shape());
            }
            case ShapeChange.Rekeyed _ -> {
                TargetName scratch = names.scratch("beside", table);
                TableAlteration.rekeyed(
                        client,
                        name.database(),
                        name.table(),
                        scratch.database(),
                        scratch.table(),
                        from,
                        table.mapped(),
                        table.shape());
            }
            case ShapeChange.Load load -> throw notAlterable(table, load.reason());
            case ShapeChange.HeldBack held ->
                    throw notAlterable(table, String.join("; ", held.reasons()));
        }
    }

    private static QuarantineException notAlterable(TargetTable table, String reason) {
        return new QuarantineException(
                PipelineCodes.SHAPE_CHANGED, table.label() + " cannot be altered: " + reason);
    }

    /** Brings the table to the place where it belongs now. */
    private TargetName move(TargetTable table) throws InterruptedException {
        TargetName name = TargetName.of(table.mapped());
        TargetName[] home = new TargetName[1];
        until(table, () -> home[0] = home(table, name));
        if (home[0].equals(name)) {
            claim(table, name);
            return name;
        }
        TargetTable taken = names.claim(table, name);
        if (taken != null) {
            requireLeaving(taken, table, name);
            // its owner may want ours: out of the way first
            TargetName parking = names.scratch("moving", table);
            until(
                    table,
                    () -> {
                        if (home(table, name).equals(home[0])) {
                            client.execute(rename(home[0], parking));
                        }
                    });
            names.releaseOthers(table, name);
            claim(table, name);
        }
        until(
                table,
                () -> {
                    TargetName now = home(table, name);
                    if (!now.equals(name)) {
                        client.execute(Ddl.createDatabase(name.database()));
                        makeRoom(table, name);
                        client.execute(rename(now, name));
                    }
                });
        names.releaseOthers(table, name);
        LOG.info("{} is in {} now", table.label(), name);
        return name;
    }

    /** Where the table is; {@code wanted} if it is there: asking for all reads every table's. */
    private TargetName home(TargetTable table, TargetName wanted) {
        if (names.comment(table).equals(commentOf(wanted))) {
            return wanted;
        }
        List<TargetName> places = places(table);
        if (places.isEmpty()) {
            throw new QuarantineException(
                    PipelineCodes.TARGET_MISSING,
                    "the table of " + table.label() + " is not in ClickHouse any more");
        }
        return places.getFirst();
    }

    // loads

    private void beginLoad(TargetTable table, String reason) throws InterruptedException {
        TargetName staging = names.scratch("loading", table);
        until(
                table,
                () -> {
                    table.pin(new TargetTable.Pin(null, table.fromPosition(), null));
                    tables.record(table);
                    createStaging(table, staging);
                });
        quarantine.remove(table.databaseOid(), table.relationOid());
        takePlace(table);
        table.stage(staging);
        events.loadWanted(new LoadTicket(table, reason));
    }

    /**
     * The ledger keeps the table that readers see, with all that is below this commit; this commit
     * comes again until the staging table has taken its place.
     */
    private void beginRefill(TargetTable table, Opening.Refill refill) throws InterruptedException {
        LOG.info("{} is filled anew from the WAL: {}", table.label(), refill.reason());
        TargetName staging = names.scratch("loading", table);
        TableMapping before = refill.previous().mapped();
        until(
                table,
                () -> {
                    table.pin(new TargetTable.Pin(before, table.fromPosition() - 1, null));
                    tables.record(table);
                    createStaging(table, staging);
                });
        takePlace(table);
        table.refill(staging);
    }

    private void createStaging(TargetTable table, TargetName staging) {
        client.execute(Ddl.dropTable(staging.database(), staging.table()));
        client.execute(
                table.mapped()
                        .toDdl(staging.database(), staging.table(), names.stagingComment(table)));
    }

    // partitions

    private void join(TargetTable table) throws InterruptedException {
        until(
                table,
                () -> {
                    table.pin(new TargetTable.Pin(table.mapped(), table.fromPosition(), null));
                    tables.record(table);
                });
    }

    private void beginLoadInPlace(TargetTable table, Opening.JoinLoad load)
            throws InterruptedException {
        until(table, () -> leave(load.previous(), table));
        quarantine.remove(table.databaseOid(), table.relationOid());
        table.stageInPlace();
        events.loadWanted(new LoadTicket(table, load.reason()));
    }

    /** What the partition had before it was loaded goes. */
    private void finishLoadInPlace(TargetTable table) throws InterruptedException {
        until(
                table,
                () -> {
                    sweep(
                            table.mapped(),
                            table.relationOid(),
                            table.place(),
                            table.requireLoadFilter().containedTo());
                    forgetChunks(table, table.requireLoadFilter().containedTo());
                    dropCopies(table, table.place());
                    table.pin(new TargetTable.Pin(table.mapped(), arrivedBelow(table), null));
                    table.unstage(table.place());
                    tables.record(table);
                });
        names.release(table);
    }

    /** Its rows go from the partitioned table that it is no partition of any more. */
    private void leave(@Nullable TargetTable previous, TargetTable now)
            throws InterruptedException {
        TargetTable left = previous == null ? null : previous.root();
        if (left == null || tables.keepsDetached()) {
            return;
        }
        TargetTable joined = now.root();
        TargetTable current = tables.find(left.databaseOid(), left.relationOid());
        boolean stays = joined != null && joined.key() == left.key();
        if (!stays && current != null && current.state() == TableState.LIVE) {
            current.awaitOpen();
            sweep(current.mapped(), now.relationOid(), current.place(), now.fromPosition());
        }
    }

    /** Everything of the partition below this position. */
    private void sweep(TableMapping mapping, int leafOid, TargetName place, long position) {
        long micros = System.currentTimeMillis() * 1_000 - Sweep.POSTGRES_EPOCH_MICROS;
        client.execute(
                Sweep.statement(mapping, leafOid, place, new Sweep.Version(position, 0, micros, 0)),
                Sweep.SETTINGS);
    }

    private void replace(TargetTable table, Opening.Replace replace) throws InterruptedException {
        LOG.info("{} is made anew: {}", table.label(), replace.reason());
        TargetName name = TargetName.of(table.mapped());
        takePlace(table);
        claim(table, name);
        until(
                table,
                () -> {
                    dropCopies(table, null);
                    client.execute(Ddl.createDatabase(name.database()));
                    makeRoom(table, name);
                    client.execute(
                            table.mapped()
                                    .toDdl(name.database(), name.table(), names.comment(table)));
                    mark(table, name);
                    table.pin(new TargetTable.Pin(table.mapped(), table.fromPosition(), null));
                    tables.record(table);
                });
        quarantine.remove(table.databaseOid(), table.relationOid());
    }

    /** The rows of before are read under the new name, and leave their old one to others. */
    private void takePlace(TargetTable table) throws InterruptedException {
        boolean[] there = new boolean[1];
        until(table, () -> there[0] = !places(table).isEmpty());
        if (there[0]) {
            move(table);
        } else {
            names.releaseOthers(table, TargetName.of(table.mapped()));
        }
    }

    /** The staging table, which is complete, becomes the target. */
    void exchange(TargetTable table) throws InterruptedException {
        if (table.root() != null) {
            finishLoadInPlace(table);
            return;
        }
        TargetName name = TargetName.of(table.mapped());
        TargetName staging = names.scratch("loading", table);
        claim(table, name);
        until(
                table,
                () -> {
                    client.execute(Ddl.createDatabase(name.database()));
                    if (exists(staging) && isStaging(table, staging)) {
                        makeRoom(table, name);
                        client.execute(
                                exists(name)
                                        ? "EXCHANGE TABLES "
                                                + name.quoted()
                                                + " AND "
                                                + staging.quoted()
                                        : rename(staging, name));
                    }
                    mark(table, name);
                    LoadFilter load = table.loadFilter();
                    forgetChunks(table, load == null ? table.fromPosition() : load.containedTo());
                    table.pin(new TargetTable.Pin(table.mapped(), arrivedBelow(table), null));
                    table.unstage(name);
                    tables.record(table);
                });
        names.releaseOthers(table, name);
        until(
                table,
                () -> {
                    views.follow(table);
                    client.execute(Ddl.dropTable(staging.database(), staging.table()));
                    dropCopies(table, name);
                });
    }

    /** What a load's rows contain must not come again, as if they did not. */
    private static long arrivedBelow(TargetTable table) {
        LoadFilter filter = table.loadFilter();
        return filter == null ? table.fromPosition() : filter.completeTo() + 1;
    }

    private boolean isStaging(TargetTable table, TargetName name) {
        return names.stagingComment(table).equals(commentOf(name));
    }

    /** Earlier tables of the same source table, under other names. */
    private void dropCopies(TargetTable table, @Nullable TargetName kept) {
        for (TargetName copy : places(table)) {
            if (!copy.equals(kept)) {
                client.execute(Ddl.dropTable(copy.database(), copy.table()));
            }
        }
    }

    // ends

    private void drop(
            TargetTable table, @Nullable TargetTable previous, TargetOptions.OnDrop policy)
            throws InterruptedException {
        until(
                table,
                () -> {
                    dropStaging(table, previous);
                    leave(previous, table);
                    if (policy == TargetOptions.OnDrop.DROP) {
                        views.remove(table);
                    }
                    for (TargetName name : places(table)) {
                        end(table, name, policy);
                    }
                    if (mirror != null) {
                        mirror.drop(table);
                    }
                    table.pin(new TargetTable.Pin(table.mapping(), table.fromPosition(), null));
                    tables.record(table);
                });
        quarantine.remove(table.databaseOid(), table.relationOid());
        names.release(table);
    }

    private void end(TargetTable table, TargetName name, TargetOptions.OnDrop policy) {
        switch (policy) {
            case RETAIN -> {}
            case WARN ->
                    LOG.warn(
                            "{} {} was dropped on the source; its rows stay in {}",
                            PipelineCodes.DROPPED,
                            table.label(),
                            name);
            case DROP -> client.execute(Ddl.dropTable(name.database(), name.table()));
        }
    }

    private void hold(TargetTable table, TargetTable previous) throws InterruptedException {
        until(
                table,
                () -> {
                    dropStaging(table, previous);
                    tables.record(table);
                });
    }

    private void dropStaging(TargetTable table, @Nullable TargetTable previous) {
        if (previous != null && previous.isStaged()) {
            TargetName staging = names.scratch("loading", table);
            client.execute(Ddl.dropTable(staging.database(), staging.table()));
        }
    }

    // names

    /**
     * Waits until no other table is under that name.
     *
     * @throws QuarantineException if one is there to stay
     */
    private void claim(TargetTable table, TargetName name) throws InterruptedException {
        while (true) {
            TargetTable owner = names.claim(table, name);
            if (owner == null) {
                return;
            }
            requireLeaving(owner, table, name);
            Thread.sleep(CLAIM_POLL_MILLIS);
        }
    }

    /**
     * @throws QuarantineException if {@code owner} is to stay under the name
     */
    private void requireLeaving(TargetTable owner, TargetTable table, TargetName name) {
        if (names.isKept(owner, name)) {
            names.renounce(table, name);
            throw new QuarantineException(
                    PipelineCodes.NAME_COLLISION,
                    owner.label()
                            + " and "
                            + table.label()
                            + " would both arrive in "
                            + name
                            + ": rename one of them, give one another name by a rule, or leave one"
                            + " out by [tables] exclude, then load it anew");
        }
    }

    /** Moves the rows of a dropped table aside; a table of somebody else is left alone. */
    private void makeRoom(TargetTable table, TargetName name) {
        String comment = commentOf(name);
        if (comment == null || names.isMarkOf(table, comment)) {
            return;
        }
        if (names.isView(comment)) {
            views.makeRoom(name);
            return;
        }
        if (names.isOurs(comment)) {
            setAside(name);
            return;
        }
        TableShape existing = TableShape.read(client, name.database(), name.table());
        if (existing == null) {
            return;
        }
        List<String> differences = table.mapped().differences(existing);
        boolean inTheWay = !differences.isEmpty() || ExistingTables.isFilled(client, name);
        if (inTheWay && tables.onExisting() == TargetOptions.OnExisting.REPLACE) {
            ExistingTables.moveAside(client, name, "_replaced");
        } else if (inTheWay) {
            throw new QuarantineException(
                    PipelineCodes.TARGET_NOT_EMPTY,
                    table.label()
                            + " cannot arrive in "
                            + name
                            + ", which exists and is not walshadow's"
                            + (differences.isEmpty() ? "" : ": " + String.join("; ", differences))
                            + ". Drop or rename that table, then load "
                            + table.label()
                            + " anew");
        }
    }

    private TargetName aside(TargetName name) {
        for (int i = 1; ; i++) {
            TargetName free =
                    new TargetName(
                            name.database(), name.table() + "_dropped" + (i == 1 ? "" : "_" + i));
            if (!exists(free)) {
                return free;
            }
        }
    }

    private void mark(TargetTable table, TargetName name) {
        client.execute(names.marking(table, name));
    }

    private static String rename(TargetName from, TargetName to) {
        return "RENAME TABLE " + from.quoted() + " TO " + to.quoted();
    }

    private boolean exists(TargetName name) {
        return commentOf(name) != null;
    }

    private @Nullable String commentOf(TargetName name) {
        return client.queryValue(
                "SELECT comment FROM system.tables WHERE database = "
                        + Ddl.literal(name.database())
                        + " AND name = "
                        + Ddl.literal(name.table()));
    }

    /** Where this source table's rows are in ClickHouse, by the tables' comments. */
    private List<TargetName> places(TargetTable table) {
        return client
                .query(
                        "SELECT database, name FROM system.tables WHERE comment = "
                                + Ddl.literal(names.comment(table)))
                .stream()
                .map(row -> new TargetName(String.valueOf(row[0]), String.valueOf(row[1])))
                .toList();
    }
}
