package dev.walshadow.benchmarks;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.source.CatalogBoundary;
import dev.walshadow.source.Decision;
import dev.walshadow.testkit.shadow.ShadowFiles;
import dev.walshadow.testkit.shadow.ShadowRig;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * How long a boundary holds the pump: ALTER TABLE ... ADD COLUMN on one of many tables, one after
 * the other, each captured as the daemon does it. By step: the shadow's replay of the commit, the
 * read of its catalogs, the descriptor log's append with its fsync.
 */
final class HoldLatency {
    private static final int TABLES = 100;
    private static final int WARM_UP = 200;
    private static final String DATABASE = "postgres";
    private static final Duration STALL = Duration.ofSeconds(30);

    private final CatalogReader reader = new CatalogReader();
    private final Histogram applied = new Histogram(3);
    private final Histogram read = new Histogram(3);
    private final Histogram logged = new Histogram(3);
    private final Histogram whole = new Histogram(3);
    private final ShadowRig rig;
    private final DescriptorLog log;
    private volatile int databaseOid;
    private volatile boolean measuring;

    private HoldLatency(ShadowRig rig, DescriptorLog log) {
        this.rig = rig;
        this.log = log;
    }

    static List<Figure> measure(int major, int changes)
            throws SQLException, IOException, InterruptedException {
        Path root = UnprivilegedUser.temporaryDirectory("walshadow-holds");
        try (EmbeddedPostgres source =
                        EmbeddedPostgres.at(root.resolve("source")).version(major).start();
                ShadowRig rig = new ShadowRig(source, root.resolve("mirror"), true);
                DescriptorLog log = DescriptorLog.open(root.resolve("log"), 1)) {
            return new HoldLatency(rig, log).run(changes);
        } finally {
            ShadowFiles.remove(root);
        }
    }

    private List<Figure> run(int changes) throws SQLException, InterruptedException {
        try (Connection session = rig.connect(DATABASE);
                Statement statement = session.createStatement()) {
            for (int i = 0; i < TABLES; i++) {
                statement.execute(
                        "create table t" + i + " (id bigint primary key, a int, b text, c date)");
            }
            rig.onRecord(this::onRecord);
            rig.bootstrap();
            rig.awaitStreamed();
            databaseOid = oid(statement);
            alter(statement, 0, WARM_UP);
            rig.awaitStreamed();
            measuring = true;
            alter(statement, WARM_UP, changes);
            rig.awaitStreamed();
        }
        return List.of(
                Figure.of("hold: measured", (double) whole.getTotalCount(), ""),
                quantile("replay, p50", applied, 50),
                quantile("replay, p99", applied, 99),
                quantile("catalog read, p50", read, 50),
                quantile("catalog read, p99", read, 99),
                quantile("descriptor log, p50", logged, 50),
                quantile("descriptor log, p99", logged, 99),
                quantile("whole, p50", whole, 50).atMost(5),
                quantile("whole, p99", whole, 99).atMost(50));
    }

    private static void alter(Statement statement, int from, int count) throws SQLException {
        for (int i = from; i < from + count; i++) {
            statement.execute("alter table t" + i % TABLES + " add column x" + i + " int");
        }
    }

    private static int oid(Statement statement) throws SQLException {
        try (var row =
                statement.executeQuery(
                        "select oid from pg_database where datname = current_database()")) {
            row.next();
            return (int) row.getLong(1);
        }
    }

    private static Figure quantile(String name, Histogram micros, double percentile) {
        return Figure.of("hold: " + name, micros.getValueAtPercentile(percentile) / 1e3, "ms");
    }

    /** On the pump. */
    private void onRecord(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary)
            throws InterruptedException {
        if (boundary == null || boundary.databaseOid() != databaseOid) {
            return;
        }
        int[] relations = new int[boundary.relationCount()];
        for (int i = 0; i < relations.length; i++) {
            relations[i] = boundary.relation(i);
        }
        long start = System.nanoTime();
        rig.sender().awaitApplied(boundary.replayLsn(), STALL);
        long replayed = System.nanoTime();
        List<RelationDescriptor> found =
                rig.readAt(
                        boundary.replayLsn(), DATABASE, session -> reader.read(session, relations));
        long known = System.nanoTime();
        log.append(boundary.nextLsn(), found, List.of(), databaseOid);
        long end = System.nanoTime();
        if (measuring) {
            applied.recordValue((replayed - start) / 1000);
            read.recordValue((known - replayed) / 1000);
            logged.recordValue((end - known) / 1000);
            whole.recordValue((end - start) / 1000);
        }
    }
}
