package dev.walshadow.daemon.verify;

import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.verify.TableResult.Difference;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.TableState;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.pipeline.TargetGate;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Compares a random range of a random table now and then, while the stream goes on: one session on
 * the source, one thread, queries of the lowest priority in ClickHouse. What it finds is told once,
 * and looked at again each time until it is equal. A table that changes meanwhile is not judged.
 */
public final class BackgroundVerification implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BackgroundVerification.class);
    private static final long TICK_MILLIS = 200;
    private static final char PARTITIONED = 'p';
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** One thread, and behind every other query; wrong settings of a query would be refused. */
    private static final Map<String, String> LOW_PRIORITY =
            Map.of("max_threads", "1", "priority", "1000");

    /** What it works with, while tables can be compared. */
    public interface Surroundings {
        TargetTables tables();

        Pipeline pipeline();

        ClickHouseClient client();

        TargetGate gate();

        /** A session on a database of the source. */
        Connection open(int databaseOid) throws SQLException;

        /** The source's position now, where a record can end. */
        long position(Connection session) throws SQLException;
    }

    /**
     * How much is compared.
     *
     * @param interval from one range to the next; zero: nothing is
     * @param rows of a range at most, on each side
     */
    public record Pace(Duration interval, int rows) {}

    /** The table has changed, or nobody can tell now: what was found does not count. */
    private static final class Unsettled extends Exception {
        private static final long serialVersionUID = 1;

        Unsettled(String reason) {
            super(reason);
        }
    }

    private final Supplier<@Nullable Surroundings> ready;
    private final RandomGenerator random;
    private final InstantSource clock;
    private final KnownDifferences known = new KnownDifferences();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread = Thread.ofVirtual().name("verify").unstarted(this::run);
    private volatile Pace pace;

    /**
     * @param ready null while nothing can be compared, or nothing is to be asked of ClickHouse
     */
    public BackgroundVerification(
            Pace pace,
            Supplier<@Nullable Surroundings> ready,
            RandomGenerator random,
            InstantSource clock) {
        this.pace = pace;
        this.ready = ready;
        this.random = random;
        this.clock = clock;
    }

    public void start() {
        thread.start();
    }

    /** From the next range on. Any thread. */
    public void use(Pace wanted) {
        pace = wanted;
    }

    /** Adds {@code verify} while it is on. */
    public void write(ObjectNode status) {
        Pace now = pace;
        if (now.interval().isPositive()) {
            ObjectNode into = status.putObject("verify");
            into.put("interval_seconds", now.interval().toMillis() / 1000.0);
            known.write(into);
        }
    }

    private void run() {
        long last = System.nanoTime();
        try {
            while (!closed.await(TICK_MILLIS, TimeUnit.MILLISECONDS)) {
                Duration interval = pace.interval();
                if (interval.isPositive() && System.nanoTime() - last >= interval.toNanos()) {
                    Surroundings with = ready.get();
                    if (with != null) {
                        round(with);
                        last = System.nanoTime();
                    }
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void round(Surroundings with) throws InterruptedException {
        Map<String, TableStatus> tables =
                with.pipeline().tables().stream()
                        .filter(table -> table.state() == TableState.LIVE)
                        .collect(
                                Collectors.toMap(
                                        table -> table.name().toString(),
                                        table -> table,
                                        (a, _) -> a));
        known.retain(tables.keySet());
        for (Map.Entry<String, List<List<String>>> each : known.keys().entrySet()) {
            TableStatus table = tables.get(each.getKey());
            if (table != null) {
                attempt(with, table, each.getValue());
            }
        }
        if (!tables.isEmpty()) {
            List<TableStatus> all = List.copyOf(tables.values());
            attempt(with, all.get(random.nextInt(all.size())), List.of());
        }
    }

    private void attempt(Surroundings with, TableStatus table, List<List<String>> again)
            throws InterruptedException {
        try {
            compare(with, table, again);
        } catch (Unsettled e) {
            LOG.debug("{} was not judged: {}", table.name(), e.getMessage());
        } catch (SQLException | WalshadowException e) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            LOG.debug("{} cannot be compared now", table.name(), e);
            known.failed(table.name() + " could not be compared: " + e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("comparing {} failed by a fault in walshadow", table.name(), e);
            known.failed(table.name() + " could not be compared: " + e);
        }
    }

    /**
     * @param again keys that differed; empty: a random range
     */
    private void compare(Surroundings with, TableStatus table, List<List<String>> again)
            throws InterruptedException, SQLException, Unsettled {
        String name = table.name().toString();
        long revision = with.tables().revision();
        TableMapping mapping = with.tables().mapping(table.databaseOid(), table.relationOid());
        RelationDescriptor shape = with.tables().shape(table.databaseOid(), table.relationOid());
        if (mapping == null || shape == null) {
            return;
        }
        Settled settled = () -> requireSettled(with, shape, mapping, revision);
        settled.require();
        String gap = ComparedTables.uncovered(shape, mapping, with.tables());
        if (gap != null) {
            known.leavesOut(name, gap);
            return;
        }
        try (Connection session = with.open(table.databaseOid())) {
            limit(session);
            ComparedTable compared = ComparedTables.compared(shape, mapping, session);
            RangeComparison comparison =
                    new RangeComparison(
                            new SourceRows(session),
                            new TargetRows(
                                    with.client(), LOW_PRIORITY, query -> inTurn(with, query)),
                            new Positions(with, session),
                            random);
            String leftOut = comparison.leftOut(compared, shape.oid());
            if (!leftOut.isEmpty()) {
                known.leavesOut(name, leftOut);
                return;
            }
            if (!again.isEmpty()) {
                Map<List<String>, Difference> still = comparison.again(compared, again);
                settled.require();
                known.again(name, still);
                return;
            }
            RangeComparison.Outcome outcome =
                    comparison.compare(compared, shape.oid(), pace.rows());
            settled.require();
            tell(
                    name,
                    known.compared(name, outcome.rows(), outcome.differences(), clock.instant()));
        }
    }

    private static void limit(Connection session) throws SQLException {
        try (Statement statement = session.createStatement()) {
            statement.execute("SET statement_timeout = " + PATIENCE.toMillis());
            statement.execute("SET default_transaction_read_only = on");
        }
    }

    private record Positions(Surroundings with, Connection session)
            implements TableComparison.Positions {
        @Override
        public void awaitCurrent() throws InterruptedException, SQLException {
            if (!with.pipeline().awaitDurable(now(), PATIENCE)) {
                throw new SQLException(
                        "ClickHouse did not reach the source's position within "
                                + PATIENCE.toSeconds()
                                + " s");
            }
        }

        @Override
        public long now() throws SQLException {
            return with.position(session);
        }
    }

    /** Whether what is read now can be judged. */
    private interface Settled {
        void require() throws Unsettled;
    }

    /**
     * A table that is loaded, or whose shape changes, becomes another one. That a partition is
     * loaded does not show in the table that its rows are in.
     */
    @SuppressWarnings("ReferenceEquality") // another generation has a mapping of its own
    private static void requireSettled(
            Surroundings with, RelationDescriptor shape, TableMapping mapping, long revision)
            throws Unsettled {
        boolean same =
                with.tables().isLive(shape.databaseOid(), shape.oid())
                        && with.tables().mapping(shape.databaseOid(), shape.oid()) == mapping;
        boolean parts =
                shape.kind() != PARTITIONED
                        || (with.tables().revision() == revision && !with.pipeline().isLoading());
        if (!same || !parts) {
            throw new Unsettled("it changed meanwhile");
        }
    }

    /** Nothing is asked of ClickHouse while it is paused. */
    private static void inTurn(Surroundings with, Runnable query) {
        if (!with.gate().tryEnter()) {
            throw new RetryException(DaemonCodes.WAIT_TIMED_OUT, "the replication is paused");
        }
        try {
            query.run();
        } finally {
            with.gate().leave();
        }
    }

    private static void tell(String table, List<Difference> found) {
        if (found.isEmpty()) {
            return;
        }
        Difference first = found.getFirst();
        LOG.warn(
                "{} {} differs from the source in {} rows, {} at {}{}; to bring it right: walshadow"
                        + " verify --repair --table {}",
                DaemonCodes.DIFFERENCE,
                table,
                found.size(),
                KnownDifferences.kind(first).replace('_', ' '),
                first.key(),
                first.column().isEmpty() ? "" : " (" + first.column() + ")",
                table);
    }

    @Override
    public void close() {
        closed.countDown();
        thread.interrupt();
    }
}
