package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import org.junit.jupiter.api.Test;

/**
 * The initial load while everything moves: sessions that insert, update, move and delete, and
 * transactions that were open before the base backup began and end after it, either way.
 */
final class BootstrapUnderLoadTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int MAJOR =
            Integer.getInteger("walshadow.major", 15 + (int) Math.floorMod(SEED, 4L));

    /** A string of user rows that must never reach the shadow's disk. */
    private static final String CANARY = "canary-3f1c9a77-never-on-the-shadow";

    @Test
    void rowsOfTransactionsOpenAcrossTheLoadEndAsOnTheSource() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + MAJOR);
        try (Installation installation = Installation.start(MAJOR)) {
            installation.execute(MixedLoad.SCHEMA);
            installation.execute(
                    "CREATE TABLE kept (id int PRIMARY KEY, v text) WITH (autovacuum_enabled ="
                            + " false)",
                    "INSERT INTO kept SELECT i, 'old' FROM generate_series(1, 1000) i");
            try (Connection committed = installation.session();
                    Connection rolledBack = installation.session();
                    MixedLoad load = new MixedLoad(installation::session, 3, SEED, 10_000_000)) {
                openCommitted(committed);
                openRolledBack(rolledBack);
                installation.startDaemon();
                installation.await("the load goes on", () -> load.committed() > 100);
                installation.awaitStreaming();
                committed.commit();
                rolledBack.rollback();
            }
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason())
                    .as("seed %d, %s %s", SEED, outcome.results(), outcome.setAside())
                    .isEmpty();
            assertThat(
                            installation
                                    .target()
                                    .query(
                                            "SELECT v, count() FROM public.kept FINAL GROUP BY v"
                                                    + " ORDER BY v")
                                    .strip())
                    .isEqualTo(CANARY + "\t10\nmoved\t50\nnew\t50\nold\t800\nupdated\t100");
            Canary.requireAbsent(installation, CANARY);
        }
    }

    /** Ends with 100 rows updated, 100 deleted, 50 moved, 60 new. */
    private static void openCommitted(Connection session) throws SQLException {
        session.setAutoCommit(false);
        try (Statement statement = session.createStatement()) {
            statement.execute("UPDATE kept SET v = 'updated' WHERE id BETWEEN 1 AND 100");
            statement.execute("DELETE FROM kept WHERE id BETWEEN 101 AND 150");
            statement.execute(
                    "UPDATE kept SET id = id + 5000, v = 'moved' WHERE id BETWEEN 151 AND 200");
            Savepoint savepoint = session.setSavepoint();
            statement.execute("DELETE FROM kept WHERE id BETWEEN 301 AND 400");
            session.rollback(savepoint);
            statement.execute("SAVEPOINT inner_one");
            statement.execute(
                    "INSERT INTO kept SELECT i, 'new' FROM generate_series(2001, 2050) i");
            statement.execute("RELEASE SAVEPOINT inner_one");
            statement.execute(
                    "INSERT INTO kept SELECT i, '%s' FROM generate_series(2101, 2110) i"
                            .formatted(CANARY));
        }
    }

    private static void openRolledBack(Connection session) throws SQLException {
        session.setAutoCommit(false);
        try (Statement statement = session.createStatement()) {
            statement.execute("UPDATE kept SET v = 'never' WHERE id BETWEEN 501 AND 600");
            statement.execute("DELETE FROM kept WHERE id BETWEEN 601 AND 700");
            statement.execute(
                    "INSERT INTO kept SELECT i, 'never' FROM generate_series(3001, 3050) i");
        }
    }
}
