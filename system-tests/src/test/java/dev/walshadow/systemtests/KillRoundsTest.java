package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * Any process dies at any instant under load and comes back: nothing is lost, nobody repairs
 * anything (promise 2 of the design). Each round kills while ClickHouse has been sent rows that it
 * has not acknowledged, and ends with both sides compared in full.
 *
 * <p>{@code -Dwalshadow.seed=N} repeats a run; {@code -Dwalshadow.soak=true} makes 20 rounds and
 * more, on every major.
 */
final class KillRoundsTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};

    private enum Victim {
        DAEMON,
        SHADOW,
        CLICKHOUSE,
        DAEMON_OVER_OPEN_TRANSACTION,
        SOURCE
    }

    private final SplittableRandom random = new SplittableRandom(SEED);
    private int round;

    @Test
    void nothingIsLost() throws Exception {
        say("seed " + SEED);
        if (SOAK) {
            for (int major : MAJORS) {
                rounds(major);
            }
        } else {
            rounds(Integer.getInteger("walshadow.major", MAJORS[random.nextInt(MAJORS.length)]));
        }
    }

    private void rounds(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(MixedLoad.SCHEMA);
            killInitialLoad(installation, major);
            for (Victim victim : order()) {
                round(installation, victim, major);
            }
        }
    }

    private List<Victim> order() {
        List<Victim> left = new ArrayList<>(List.of(Victim.values()));
        List<Victim> order = new ArrayList<>();
        while (!left.isEmpty()) {
            order.add(left.remove(random.nextInt(left.size())));
        }
        return order;
    }

    private void killInitialLoad(Installation installation, int major) throws Exception {
        long started = System.nanoTime();
        installation.target().delayInserts(Duration.ofMillis(300));
        try (MixedLoad load = load(installation)) {
            installation.startDaemon();
            long between = installation.awaitSentNotAcknowledged();
            installation.killDaemon();
            installation.target().delayInserts(Duration.ZERO);
            assertThat(installation.state().resolve("manifest.toml")).doesNotExist();
            installation.startDaemon();
            installation.awaitStreaming();
            report(major, "daemon during the initial load", between, load.committed(), started);
        }
        requireEqual(installation);
    }

    private MixedLoad load(Installation installation) {
        return new MixedLoad(installation::session, 3, random.nextLong(), 10_000_000);
    }

    private void round(Installation installation, Victim victim, int major) throws Exception {
        long started = System.nanoTime();
        EmbeddedClickHouse target = installation.target();
        try (MixedLoad load = load(installation);
                Connection open = installation.session()) {
            if (victim == Victim.DAEMON_OVER_OPEN_TRANSACTION || victim == Victim.SOURCE) {
                begin(open);
            }
            target.delayInserts(Duration.ofMillis(150 + random.nextInt(300)));
            LockSupport.parkNanos(random.nextLong(1_500_000_000));
            long between = installation.awaitSentNotAcknowledged();
            long committed = load.committed();
            kill(installation, victim);
            if (target.isRunning()) {
                target.delayInserts(Duration.ZERO);
            }
            installation.await("the load goes on", () -> load.committed() > committed + 20);
            comeBack(installation, victim);
            if (victim == Victim.DAEMON_OVER_OPEN_TRANSACTION) {
                installation.await(
                        "others are durable again",
                        () -> installation.status().path("transactions").asLong(0) > 0);
                open.commit();
            }
            report(major, victim.toString(), between, load.committed(), started);
        }
        requireEqual(installation);
        if (victim == Victim.DAEMON_OVER_OPEN_TRANSACTION) {
            assertThat(held(installation)).isEqualTo("1000");
        } else if (victim == Victim.SOURCE) {
            assertThat(held(installation)).isIn("0", "1000");
        }
    }

    /** A thousand rows that nobody else has, not committed. */
    private void begin(Connection open) throws SQLException {
        open.setAutoCommit(false);
        try (Statement statement = open.createStatement()) {
            statement.execute(
                    "INSERT INTO journal (id, kind, payload) SELECT -g, 'held %d', '' FROM"
                                    .formatted(round)
                            + " generate_series(%d, %d) g"
                                    .formatted(round * 1000 + 1, round * 1000 + 1000));
        }
    }

    private String held(Installation installation) {
        String sql =
                "SELECT count() FROM public.journal FINAL WHERE kind = 'held " + (round - 1) + "'";
        return Long.toString(
                installation.targets().stream()
                        .mapToLong(shard -> Long.parseLong(shard.query(sql).strip()))
                        .sum());
    }

    private void kill(Installation installation, Victim victim) throws Exception {
        switch (victim) {
            case DAEMON, DAEMON_OVER_OPEN_TRANSACTION -> installation.killDaemon();
            case SHADOW -> installation.killShadow();
            case CLICKHOUSE -> installation.target().kill();
            case SOURCE -> {
                installation.source().stopImmediate();
                installation.source().start();
            }
        }
    }

    private void comeBack(Installation installation, Victim victim) throws Exception {
        switch (victim) {
            case DAEMON, DAEMON_OVER_OPEN_TRANSACTION -> installation.startDaemon();
            case CLICKHOUSE -> installation.target().start();
            case SHADOW ->
                    // a commit that changes the catalogs waits for the shadow
                    installation.execute("ALTER TABLE account SET (fillfactor = 90)");
            case SOURCE -> {}
        }
    }

    private void requireEqual(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("seed %d, %s", SEED, outcome.results()).isEmpty();
        say("    equal: " + outcome.toJson());
    }

    private void report(int major, String victim, long between, long committed, long started) {
        round++;
        say(
                "round %d: PostgreSQL %d, killed %s with %d inserts sent and not acknowledged, %d"
                                .formatted(round, major, victim, between, committed)
                        + " transactions committed, %.1f s"
                                .formatted((System.nanoTime() - started) / 1e9));
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
