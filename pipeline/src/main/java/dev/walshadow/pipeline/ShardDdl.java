package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.ddl.ShapeChange;
import dev.walshadow.pipeline.ddl.TableAlteration;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What {@link TargetDdl} does on one shard. Every step looks at that shard alone, and can be
 * repeated from its start: another shard may be further, or behind.
 */
final class ShardDdl {
    private static final Logger LOG = LoggerFactory.getLogger(ShardDdl.class);

    private final ClickHouseClient client;
    private final TargetTables tables;
    private final TargetNames names;
    private final TargetViews views;
    private final KeptHistory history;

    ShardDdl(ClickHouseClient client, TargetTables tables) {
        this.client = client;
        this.tables = tables;
        this.names = tables.names();
        this.views = tables.views();
        this.history = new KeptHistory(client, names);
    }

    // tables that are made

    void create(TargetTable table, TargetName name) {
        client.execute(Ddl.createDatabase(name.database()));
        makeRoom(table, name);
        setUnfitAside(table, name);
        make(table, name);
    }

    /** In place of all that there is of it; versions that are to stay do. */
    void replace(TargetTable table, TargetName name) {
        TargetName kept = keepsShape(table, name) ? name : null;
        for (TargetName copy : places(table)) {
            if (kept == null && history.isHistory(copy)) {
                keep(table, copy, name);
            } else if (!copy.equals(kept)) {
                drop(copy);
            }
        }
        client.execute(Ddl.createDatabase(name.database()));
        makeRoom(table, name);
        make(table, name);
    }

    /** What the table's partitions bring is put behind what is there. */
    private boolean keepsShape(TargetTable table, TargetName name) {
        TableShape there = TableShape.read(client, name.database(), name.table());
        return there != null
                && table.mapped().append()
                && TableAlteration.hasShape(table.mapped(), there);
    }

    private void keep(TargetTable table, TargetName place, TargetName home) {
        history.mark(table, place, home);
        history.release(place);
    }

    private void make(TargetTable table, TargetName name) {
        client.execute(table.mapped().toDdl(name.database(), name.table(), names.comment(table)));
        mark(table, name);
    }

    private void mark(TargetTable table, TargetName name) {
        client.execute(names.marking(table, name));
    }

    void createStaging(TargetTable table, TargetName staging) {
        discard(staging);
        client.execute(
                table.mapped()
                        .toDdl(staging.database(), staging.table(), names.stagingComment(table)));
    }

    /**
     * The staging table, which is complete, takes the place, unless it has it already.
     *
     * @param from the mapping of what is there, as far as that is known
     * @param limit which versions it has at least
     */
    void exchange(
            TargetTable table,
            TargetName staging,
            TargetName name,
            @Nullable TableMapping from,
            Sweep.Version limit) {
        client.execute(Ddl.createDatabase(name.database()));
        if (names.stagingComment(table).equals(commentOf(staging))) {
            makeRoom(table, name);
            boolean there = commentOf(name) != null;
            if (there) {
                history.hand(table, name, from, staging, limit);
            }
            client.execute(
                    there
                            ? "EXCHANGE TABLES " + name.quoted() + " AND " + staging.quoted()
                            : rename(staging, name));
        }
        mark(table, name);
    }

    // tables that are changed

    /**
     * Makes the table conform as {@code change} says.
     *
     * @throws QuarantineException if ClickHouse cannot do it
     */
    void alter(TargetTable table, TargetName name, TableMapping from, ShapeChange change) {
        TargetName scratch = names.scratch("beside", table);
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
            case ShapeChange.Beside _ ->
                    TableAlteration.beside(
                            client,
                            name.database(),
                            name.table(),
                            scratch.database(),
                            scratch.table(),
                            from,
                            table.mapped(),
                            table.shape());
            case ShapeChange.Rekeyed _ -> {
                TableAlteration.rekeyed(
                        client,
                        name.database(),
                        name.table(),
                        scratch.database(),
                        scratch.table(),
                        from,
                        table.mapped(),
                        table.shape(),
                        new TableAlteration.Comments(
                                names.comment(table),
                                () -> {
                                    if (from.append()) {
                                        history.mark(table, name, name);
                                    }
                                }));
                discard(scratch);
            }
            case ShapeChange.Load load -> throw notAlterable(table, load.reason());
            case ShapeChange.HeldBack held ->
                    throw notAlterable(table, String.join("; ", held.reasons()));
        }
    }

    /** Where nothing of it has been begun. */
    void alterFromTheStart(TargetTable table, TargetName name, TableMapping from) {
        TableAlteration.inPlaceFromTheStart(
                client, name.database(), name.table(), from, table.mapped(), table.shape());
    }

    private static QuarantineException notAlterable(TargetTable table, String reason) {
        return new QuarantineException(
                PipelineCodes.SHAPE_CHANGED, table.label() + " cannot be altered: " + reason);
    }

    /** Everything of a partition below this position goes. */
    void sweep(TableMapping mapping, int leafOid, TargetName place, Sweep.Version version) {
        client.execute(Sweep.statement(mapping, leafOid, place, version), Sweep.SETTINGS);
    }

    // places

    /**
     * Where the table is, {@code wanted} if it is there: asking for all reads every table's. Null:
     * it is not on this shard.
     */
    @Nullable TargetName home(TargetTable table, TargetName wanted) {
        String comment = commentOf(wanted);
        if (comment != null
                && (names.comment(table).equals(comment) || names.isHistoryOf(table, comment))) {
            return wanted;
        }
        List<TargetName> places = places(table);
        return places.isEmpty() ? null : places.getFirst();
    }

    /** Out of the way of whoever has the name that it is to have. */
    void park(TargetTable table, TargetName name, TargetName parking) {
        TargetName now = home(table, name);
        if (now != null && !now.equals(name) && !now.equals(parking)) {
            client.execute(rename(now, parking));
        }
    }

    void move(TargetTable table, TargetName name) {
        TargetName now = home(table, name);
        if (now != null && !now.equals(name)) {
            client.execute(Ddl.createDatabase(name.database()));
            makeRoom(table, name);
            client.execute(rename(now, name));
        }
    }

    /** Where this source table's rows are in ClickHouse, by the tables' comments. */
    List<TargetName> places(TargetTable table) {
        return client
                .query(
                        "SELECT database, name FROM system.tables WHERE comment = "
                                + Ddl.literal(names.comment(table)))
                .stream()
                .map(row -> new TargetName(String.valueOf(row[0]), String.valueOf(row[1])))
                .toList();
    }

    // tables that go

    /** Earlier tables of the same source table, under other names. */
    void dropCopies(TargetTable table, @Nullable TargetName kept) {
        for (TargetName copy : places(table)) {
            if (!copy.equals(kept)) {
                drop(copy);
            }
        }
    }

    /** A table that nobody reads: dropped, unless it has versions that are to stay. */
    void discard(TargetName scratch) {
        if (!history.release(scratch)) {
            drop(scratch);
        }
    }

    void drop(TargetName name) {
        client.execute(Ddl.dropTable(name.database(), name.table()));
    }

    /** The table was followed before, and has changed since. */
    private void setUnfitAside(TargetTable table, TargetName name) {
        TableShape kept = TableShape.read(client, name.database(), name.table());
        if (kept != null && !table.mapped().differences(kept).isEmpty()) {
            if (TableMapping.keepsVersions(kept)) {
                keep(table, name, name);
                return;
            }
            setAside(name);
        }
    }

    private void setAside(TargetName name) {
        TargetName aside = aside(name);
        LOG.info("{} of a dropped table is kept as {}", name, aside);
        client.execute(rename(name, aside));
    }

    private TargetName aside(TargetName name) {
        for (int i = 1; ; i++) {
            TargetName free =
                    new TargetName(
                            name.database(), name.table() + "_dropped" + (i == 1 ? "" : "_" + i));
            if (commentOf(free) == null) {
                return free;
            }
        }
    }

    /** Moves the rows of a dropped table aside; a table of somebody else is left alone. */
    private void makeRoom(TargetTable table, TargetName name) {
        String comment = commentOf(name);
        if (comment == null || names.isMarkOf(table, comment)) {
            return;
        }
        if (names.isOurs(comment) && TargetNames.isCompanionMark(comment)) {
            views.makeRoom(name, comment);
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

    private static String rename(TargetName from, TargetName to) {
        return "RENAME TABLE " + from.quoted() + " TO " + to.quoted();
    }

    private @Nullable String commentOf(TargetName name) {
        return commentOf(client, name);
    }

    /** Null: there is no such table. */
    static @Nullable String commentOf(ClickHouseClient client, TargetName name) {
        return client.queryValue(
                "SELECT comment FROM system.tables WHERE database = "
                        + Ddl.literal(name.database())
                        + " AND name = "
                        + Ddl.literal(name.table()));
    }
}
