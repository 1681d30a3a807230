package dev.walshadow.daemon.replication;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.source.CatalogBoundary;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Rewrites of the catalogs beside held commits (I14): nothing waits for ever, and no capture misses
 * a row. The shadow is killed now and then. Seed: {@code -Dwalshadow.seed}.
 */
@Timeout(1800)
class HoldStormTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED =
            Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFF_FFFFL);
    private static final int ROUNDS = SOAK ? 200 : 8;
    private static final int CRASH_EVERY = SOAK ? 10 : 4;
    private static final int CHANGES = SOAK ? Integer.MAX_VALUE : 20;
    private static final int STILL = 30;

    /** Deadlocks and lock timeouts: statements of two sessions that met. */
    private static final Set<String> MET = Set.of("40P01", "55P03");

    private static final List<String> REWRITES =
            List.of(
                    "VACUUM FULL pg_class",
                    "VACUUM FULL pg_attribute",
                    "VACUUM FULL pg_type",
                    "VACUUM FULL pg_index",
                    "VACUUM FULL pg_depend",
                    "REINDEX TABLE pg_class",
                    "REINDEX TABLE pg_attribute",
                    "REINDEX TABLE pg_type",
                    "REINDEX INDEX pg_class_oid_index",
                    "CLUSTER pg_attribute USING pg_attribute_relid_attnum_index",
                    "CLUSTER pg_type USING pg_type_oid_index",
                    "VACUUM pg_attribute",
                    "VACUUM pg_class");

    private final CatalogReader reader = new CatalogReader();
    private final List<String> wrong = new ArrayList<>();
    private List<RelationDescriptor> still = List.of();
    private volatile boolean over;
    private final AtomicInteger compared = new AtomicInteger();

    static Stream<Integer> majors() {
        return SOAK ? Stream.of(15, 16, 17, 18) : Stream.of(15, 18);
    }

    @ParameterizedTest
    @MethodSource("majors")
    void readsRightThroughRewritesOfTheCatalogs(int major) throws Exception {
        System.out.println("HoldStormTest: PostgreSQL " + major + ", seed " + SEED);
        try (CaptureRig rig = new CaptureRig(major);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < STILL; i++) {
                rig.execute(
                        CaptureRig.DATABASE,
                        "CREATE TABLE still" + i + " (id int PRIMARY KEY, a text, b numeric)");
            }
            rig.execute(CaptureRig.DATABASE, "CREATE TYPE mood AS ENUM ('a')");
            rig.start();
            still = still(rig.actual());
            rig.afterHold(boundary -> compare(rig, boundary));
            List<Future<Boolean>> changing = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                int number = i;
                changing.add(threads.submit(() -> change(rig, number)));
            }
            Callable<Boolean> rewriting = () -> rewrite(rig);
            Future<Boolean> rewriter = threads.submit(rewriting);
            rewriter.get();
            for (Future<Boolean> each : changing) {
                each.get();
            }
            assertThat(rig.holds()).isGreaterThan(ROUNDS);
            assertThat(rig.known()).as("seed %d", SEED).isEqualTo(rig.actual());
            assertThat(wrong).as("seed %d", SEED).isEmpty();
            assertThat(compared.get()).isPositive();
            assertThat(rig.shadow().cluster().health().restarts())
                    .isGreaterThanOrEqualTo(ROUNDS / CRASH_EVERY);
        }
    }

    private static List<RelationDescriptor> still(List<RelationDescriptor> relations) {
        return relations.stream().filter(r -> r.name().name().startsWith("still")).toList();
    }

    /** On the pump, still within the hold: what nobody changed must be there unchanged. */
    private void compare(CaptureRig rig, CatalogBoundary boundary) throws InterruptedException {
        List<RelationDescriptor> found =
                still(
                        rig.shadow()
                                .readAt(
                                        boundary.replayLsn(),
                                        CaptureRig.DATABASE,
                                        reader::readAll));
        compared.incrementAndGet();
        if (!Set.copyOf(found).equals(Set.copyOf(still))) {
            wrong.add("found " + found.size() + " of " + still.size() + " unchanged tables");
        }
    }

    private boolean rewrite(CaptureRig rig) throws Exception {
        Random random = new Random(SEED);
        try {
            for (int round = 1; round <= ROUNDS; round++) {
                execute(rig, bloat(round));
                for (int i = 0; i < 3; i++) {
                    execute(rig, REWRITES.get(random.nextInt(REWRITES.size())));
                }
                if (round % CRASH_EVERY == 0) {
                    rig.shadow().cluster().crash();
                }
            }
        } finally {
            over = true;
        }
        return true;
    }

    /** Rows at the end of pg_attribute and pg_class that a VACUUM can cut off. */
    private static String bloat(int round) {
        return "DO $$ BEGIN FOR i IN 1 .. 40 LOOP EXECUTE format('CREATE TABLE bloat"
                + round
                + "_%s (a int, b int, c int, d int, e int, f int)', i); END LOOP; FOR i IN 1 .. 40"
                + " LOOP EXECUTE format('DROP TABLE bloat"
                + round
                + "_%s', i); END LOOP; END $$";
    }

    private boolean change(CaptureRig rig, int number) throws SQLException {
        String table = "moving" + number;
        execute(rig, "CREATE TABLE IF NOT EXISTS " + table + " (id int PRIMARY KEY, v text)");
        for (int i = 0; !over && i < CHANGES; i++) {
            execute(rig, "ALTER TABLE " + table + " ADD COLUMN c" + i + " int DEFAULT " + i);
            execute(rig, "ALTER TABLE " + table + " DROP COLUMN IF EXISTS c" + Math.max(0, i - 3));
            execute(
                    rig,
                    "BEGIN; CREATE TABLE n"
                            + table
                            + i
                            + " (id int); SAVEPOINT a; ALTER TABLE "
                            + table
                            + " ADD COLUMN gone int; ROLLBACK TO a; COMMIT");
            execute(rig, "TRUNCATE " + table);
            execute(rig, "DROP TABLE IF EXISTS n" + table + i);
            execute(rig, "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'v" + number + i + "'");
        }
        return true;
    }

    private static void execute(CaptureRig rig, String sql) throws SQLException {
        try (Connection session = rig.shadow().connect(CaptureRig.DATABASE);
                Statement statement = session.createStatement()) {
            statement.execute("SET lock_timeout = '5s'");
            statement.execute(sql);
        } catch (SQLException e) {
            if (!MET.contains(String.valueOf(e.getSQLState()))) {
                throw e;
            }
        }
    }
}
