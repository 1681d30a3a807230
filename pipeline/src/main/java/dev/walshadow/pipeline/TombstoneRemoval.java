package dev.walshadow.pipeline;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.Lsn;
import java.math.BigInteger;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes tombstones from ClickHouse, one table after another, by two mutations each: first the
 * rows that tombstones below a position hide, and only when all of them are gone, the tombstones. A
 * mutation changes one part after another, so in one a reader would see the rows again whose
 * tombstones are gone already.
 *
 * <p>Nothing below the position may ever be sent again: no commit, no row of an initial load or of
 * a load of a partition. What is newer is left alone, so the stream need not wait. A later
 * generation of the table does not wait either: the mutation is killed. So it is after a failure,
 * and at the next start after a kill: one that names a table which has another name since would
 * fail for ever, and everything behind it would wait.
 */
final class TombstoneRemoval {
    private static final Logger LOG = LoggerFactory.getLogger(TombstoneRemoval.class);
    private static final long POLL_CEILING_MILLIS = 500;
    private static final String MARK = "walshadow tombstones ";

    private final Services services;
    private final TargetTables tables;
    private final AsyncSteps steps;
    private final AtomicBoolean running = new AtomicBoolean();

    TombstoneRemoval(Services services, TargetTables tables, AsyncSteps steps) {
        this.services = services;
        this.tables = tables;
        this.steps = steps;
    }

    /**
     * Begins, unless an earlier one is under way. Any thread.
     *
     * @param below commit position
     * @param percent of a table's rows that must be tombstones
     */
    void start(long below, int percent) {
        if (running.compareAndSet(false, true)) {
            steps.run(
                    "tombstones",
                    () -> {
                        try {
                            for (TargetTable table : List.copyOf(tables.all())) {
                                attempt(table, below, percent);
                            }
                        } finally {
                            running.set(false);
                        }
                    });
        }
    }

    private void attempt(TargetTable table, long below, int percent) throws InterruptedException {
        if (!isSettled(table) || !table.occupy()) {
            return;
        }
        try {
            if (isSettled(table)) { // also now that nobody else changes it
                for (ClickHouseClient shard : services.client().shards()) {
                    if (!table.isWanted()) {
                        new Run(shard, table, below).run(percent);
                    }
                }
            }
        } finally {
            table.free();
        }
    }

    /**
     * All of its rows from before now are there, and it is a table of its own that keeps no
     * history.
     */
    private boolean isSettled(TargetTable table) {
        return table.root() == null
                && table.mapping() != null
                && !table.mapped().append()
                && tables.isLive(table.databaseOid(), table.relationOid())
                && tables.find(table.databaseOid(), table.relationOid()) == table
                && !tables.loadsOnly()
                && tables.partitions().stream()
                        .filter(part -> part.root() == table)
                        .noneMatch(part -> part.state() == TableState.LOADING || !part.isOpen());
    }

    /**
     * Ends what an earlier process has left.
     *
     * @param metadataDatabase whose
     */
    static void killAbandoned(ClickHouseClient client, String metadataDatabase) {
        kill(client, mark(metadataDatabase));
    }

    private static String mark(String metadataDatabase) {
        return MARK + metadataDatabase + " ";
    }

    private static void kill(ClickHouseClient client, String mark) {
        String which = " WHERE position(command, " + Ddl.literal(mark) + ") > 0 AND NOT is_done";
        if (!"0".equals(client.queryValue("SELECT count() FROM system.mutations" + which))) {
            client.execute("KILL MUTATION" + which);
        }
    }

    /** One table's on one shard. */
    private final class Run {
        private final ClickHouseClient client;
        private final TargetTable table;
        private final String target;
        private final long below;
        private final String keys;
        private final String deleted;
        private final String early;
        private final String mark = mark(tables.metadataDatabase()) + UUID.randomUUID().toString();

        Run(ClickHouseClient client, TargetTable table, long below) {
            TableMapping mapping = table.mapped();
            this.client = client;
            this.table = table;
            this.below = below;
            target = table.place().quoted();
            keys = String.join(", ", mapping.keyNames().stream().map(Ddl::identifier).toList());
            deleted = Ddl.identifier(mapping.meta().isDeleted());
            BigInteger limit = new BigInteger(Long.toUnsignedString(below)).shiftLeft(64);
            early = Ddl.identifier(mapping.meta().version()) + " < toUInt128('" + limit + "')";
        }

        void run(int percent) throws InterruptedException {
            long before = -1;
            try {
                before = count(percent);
                if (before > 0 && delete(hidden()) && delete(bare())) {
                    long gone = before - count(0);
                    services.metrics().tombstonesRemoved.add(Math.max(0, gone));
                    LOG.info(
                            "{}: {} tombstones below {} are gone from ClickHouse",
                            table.label(),
                            gone,
                            Lsn.format(below));
                    return;
                }
            } catch (WalshadowException e) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                LOG.warn(
                        "{} tombstones of {} are not removed this time: {}",
                        PipelineCodes.TOMBSTONES,
                        table.label(),
                        e.getMessage());
            }
            if (before != 0) {
                services.reachability().until(table, () -> kill(client, mark));
            }
        }

        /** How many tombstones there are; 0 if they are too few. */
        private long count(int percent) throws InterruptedException {
            @Nullable String[] counts =
                    inTurn(() ->
                            client.query(
                                            String.format(
                                                    Locale.ROOT,
                                                    "SELECT countIf(%s = 1 AND %s), count() FROM"
                                                            + " %s",
                                                    deleted,
                                                    early,
                                                    target))
                                    .getFirst());
            long found = Long.parseLong(Objects.requireNonNull(counts[0]));
            return found * 100 >= Long.parseLong(Objects.requireNonNull(counts[1])) * percent
                    ? found
                    : 0;
        }

        private String keysOf(String condition) {
            return "SELECT " + keys + " FROM " + target + " WHERE " + condition;
        }

        /** Rows of keys of which the newest below the position is a tombstone. */
        private String hidden() {
            String deletedKeys = keysOf(deleted + " = 1 AND " + early);
            return String.format(
                    Locale.ROOT,
                    "%s = 0 AND %s AND (%s) IN (%s AND (%s) IN (%s) GROUP BY %s HAVING argMax(%s,"
                            + " %s) = 1)",
                    deleted,
                    early,
                    keys,
                    keysOf(early),
                    keys,
                    deletedKeys,
                    keys,
                    deleted,
                    Ddl.identifier(table.mapped().meta().version()));
        }

        /**
         * Tombstones of keys that have no row below the position that they could hide: none at all,
         * or a newer one, which hides the older ones itself.
         */
        private String bare() {
            return String.format(
                    Locale.ROOT,
                    "%s = 1 AND %s AND (%s) NOT IN (%s AND (%s) IN (%s) GROUP BY %s HAVING"
                            + " argMax(%s, %s) = 1 AND countIf(%s = 0) > 0)",
                    deleted,
                    early,
                    keys,
                    keysOf(early),
                    keys,
                    keysOf(deleted + " = 1 AND " + early),
                    keys,
                    deleted,
                    Ddl.identifier(table.mapped().meta().version()),
                    deleted);
        }

        /** Returns whether it was done; false if the table is wanted for something else. */
        private boolean delete(String condition) throws InterruptedException {
            String own = mark + (condition.startsWith(deleted + " = 0") ? " rows" : " tombstones");
            inTurn(() -> {
                client.execute(
                        "ALTER TABLE "
                                + target
                                + " DELETE WHERE "
                                + condition
                                + " AND "
                                + Ddl.literal(own)
                                + " != ''");
                return "";
            });
            Backoff backoff = new Backoff(POLL_CEILING_MILLIS);
            while (!table.isWanted()) {
                String[] state = inTurn(() -> state(own));
                if (state.length == 0) {
                    return false; // somebody has killed it
                }
                if (state[0].equals("1")) {
                    return true;
                }
                if (!state[1].isEmpty()) {
                    LOG.warn(
                            "{} tombstones of {} are not removed this time: {}",
                            PipelineCodes.TOMBSTONES,
                            table.label(),
                            state[1]);
                    return false;
                }
                backoff.pause();
            }
            return false;
        }

        private String[] state(String own) {
            List<@Nullable String[]> found =
                    client.query(
                            "SELECT is_done, latest_fail_reason FROM system.mutations"
                                    + " WHERE position(command, "
                                    + Ddl.literal(own)
                                    + ") > 0");
            return found.isEmpty()
                    ? new String[0]
                    : new String[] {
                        String.valueOf(found.getFirst()[0]), String.valueOf(found.getFirst()[1])
                    };
        }

        private <T> T inTurn(Supplier<T> asked) throws InterruptedException {
            services.gate().enter();
            try {
                return asked.get();
            } finally {
                services.gate().leave();
            }
        }
    }
}
