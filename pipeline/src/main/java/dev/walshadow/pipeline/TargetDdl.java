package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes tables in ClickHouse and the ledger with them. Every step can be repeated from its start,
 * whatever of it an earlier process has done. A table of ours is known by its comment, wherever it
 * has been renamed to. Of several shards each does its part ({@link ShardDdl}), and the ledger has
 * a step when all have done it. Runs on threads of its own; waits while ClickHouse does not answer.
 */
final class TargetDdl {
    private static final Logger LOG = LoggerFactory.getLogger(TargetDdl.class);
    private static final long CLAIM_POLL_MILLIS = 2;

    private final List<ShardDdl> shards;
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
        this.shards = client.shards().stream().map(each -> new ShardDdl(each, tables)).toList();
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
                    shards.forEach(shard -> shard.create(table, name));
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

    /** Makes the table that is there fit; what ClickHouse refuses to do is loaded instead. */
    private void alter(TargetTable table, Opening.Alter alter) throws InterruptedException {
        ShapeChange change = tables.decide(alter.from(), alter.before(), table.shape(), true);
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
                            shards.forEach(shard -> shard.alter(table, name, alter.from(), change));
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
        Set<ShardDdl> begun = new HashSet<>();
        try {
            until(
                    table,
                    () -> {
                        for (ShardDdl shard : shards) {
                            if (begun.add(shard)) {
                                shard.alterFromTheStart(table, name, alter.from());
                            } else {
                                shard.alter(table, name, alter.from(), change);
                            }
                        }
                        altered(table);
                    });
            return true;
        } catch (QuarantineException e) {
            LOG.debug("{}: {}; looking into it", table.label(), e.getMessage());
            return false;
        }
    }

    /** Brings the table to the place where it belongs now. */
    private TargetName move(TargetTable table) throws InterruptedException {
        TargetName name = TargetName.of(table.mapped());
        boolean[] there = new boolean[1];
        until(table, () -> there[0] = isHome(table, name));
        if (there[0]) {
            claim(table, name);
            return name;
        }
        TargetTable taken = names.claim(table, name);
        if (taken != null) {
            requireLeaving(taken, table, name);
            // its owner may want ours: out of the way first
            TargetName parking = names.scratch("moving", table);
            until(table, () -> shards.forEach(shard -> shard.park(table, name, parking)));
            names.releaseOthers(table, name);
            claim(table, name);
        }
        until(table, () -> shards.forEach(shard -> shard.move(table, name)));
        names.releaseOthers(table, name);
        LOG.info("{} is in {} now", table.label(), name);
        return name;
    }

    /** Whether the table is under the name wherever it is. */
    private boolean isHome(TargetTable table, TargetName name) {
        List<TargetName> homes = new ArrayList<>();
        for (ShardDdl shard : shards) {
            TargetName home = shard.home(table, name);
            if (home != null) {
                homes.add(home);
            }
        }
        if (homes.isEmpty()) {
            throw new QuarantineException(
                    PipelineCodes.TARGET_MISSING,
                    "the table of " + table.label() + " is not in ClickHouse any more");
        }
        return homes.stream().allMatch(name::equals);
    }

    // loads

    private void beginLoad(TargetTable table, String reason) throws InterruptedException {
        TargetName staging = names.scratch("loading", table);
        until(
                table,
                () -> {
                    table.pin(new TargetTable.Pin(null, table.fromPosition(), null));
                    tables.record(table);
                    shards.forEach(shard -> shard.createStaging(table, staging));
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
                    shards.forEach(shard -> shard.createStaging(table, staging));
                });
        takePlace(table);
        table.refill(staging);
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
                    shards.forEach(shard -> shard.dropCopies(table, table.place()));
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
        Sweep.Version version = now(position);
        shards.forEach(shard -> shard.sweep(mapping, leafOid, place, version));
    }

    /** Of what no commit of the source tells. */
    private static Sweep.Version now(long position) {
        long micros = System.currentTimeMillis() * 1_000 - Sweep.POSTGRES_EPOCH_MICROS;
        return new Sweep.Version(position, 0, micros, 0);
    }

    private void replace(TargetTable table, Opening.Replace replace) throws InterruptedException {
        LOG.info("{} is made anew: {}", table.label(), replace.reason());
        TargetName name = TargetName.of(table.mapped());
        takePlace(table);
        claim(table, name);
        until(
                table,
                () -> {
                    shards.forEach(shard -> shard.replace(table, name));
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
                    LoadFilter load = table.loadFilter();
                    long position = load == null ? table.fromPosition() : load.containedTo();
                    TableMapping from = mappingBefore(table);
                    Sweep.Version limit = now(position);
                    shards.forEach(shard -> shard.exchange(table, staging, name, from, limit));
                    forgetChunks(table, position);
                    table.pin(new TargetTable.Pin(table.mapped(), arrivedBelow(table), null));
                    table.unstage(name);
                    tables.record(table);
                });
        names.releaseOthers(table, name);
        until(
                table,
                () -> {
                    views.follow(table);
                    shards.forEach(shard -> {
                        shard.discard(staging);
                        shard.dropCopies(table, name);
                    });
                });
    }

    private static @Nullable TableMapping mappingBefore(TargetTable table) {
        Opening opening = table.opening();
        TargetTable previous = opening == null ? null : opening.previous();
        return previous == null ? null : previous.mapping();
    }

    /** What a load's rows contain must not come again, as if they did not. */
    private static long arrivedBelow(TargetTable table) {
        LoadFilter filter = table.loadFilter();
        return filter == null ? table.fromPosition() : filter.completeTo() + 1;
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
            case DROP -> shards.forEach(shard -> shard.drop(name));
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
            shards.forEach(shard -> shard.discard(staging));
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

    /** Where this source table's rows are, on whichever shard. */
    private Set<TargetName> places(TargetTable table) {
        Set<TargetName> places = new LinkedHashSet<>();
        shards.forEach(shard -> places.addAll(shard.places(table)));
        return places;
    }
}
