package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever is done to the source's tables ends equal in ClickHouse: every case of {@link
 * SchemaCases} in a schema of its own, one daemon for all of them, quiet, under load, and killed
 * over and over meanwhile. What does not work yet stands in {@link SchemaCases#PENDING}; a case
 * named there that works fails the test.
 *
 * <p>{@code -Dwalshadow.seed=N} repeats a run, {@code -Dwalshadow.major=N} and {@code
 * -Dwalshadow.mode=quiet|load|kill} choose one, {@code -Dwalshadow.case=REGEX} and {@code
 * -Dwalshadow.sample=PERCENT} some cases; {@code -Dwalshadow.soak=true} runs every case in every
 * mode on every major.
 */
@Timeout(1200)
final class SchemaChangeTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};
    private static final long LOAD_PAUSE_NANOS = 20_000_000;
    private static final int KILLS = 4;

    private static final long LONGEST_PAUSE_NANOS = 300_000_000;

    /** Percent of the cases, chosen by the seed. */
    private static final int SAMPLE = Integer.getInteger("walshadow.sample", SOAK ? 100 : 40);

    enum Mode {
        QUIET,
        LOAD,
        KILL
    }

    static Stream<Arguments> runs() {
        String only = System.getProperty("walshadow.mode", "");
        Integer major = Integer.getInteger("walshadow.major");
        List<Arguments> runs = new ArrayList<>();
        long turn = SEED;
        for (Mode mode : Mode.values()) {
            turn++;
            if (!only.isEmpty() && !only.toUpperCase(Locale.ROOT).equals(mode.name())) {
                continue;
            }
            if (major != null) {
                runs.add(Arguments.of(mode, major));
            } else if (SOAK) {
                for (int each : MAJORS) {
                    runs.add(Arguments.of(mode, each));
                }
            } else {
                runs.add(Arguments.of(mode, MAJORS[Math.floorMod(turn, MAJORS.length)]));
            }
        }
        return runs.stream();
    }

    @ParameterizedTest(name = "{0}, PostgreSQL {1}")
    @MethodSource("runs")
    void everyCaseEndsEqual(Mode mode, int major) throws Exception {
        long started = System.nanoTime();
        Phases phases = new Phases();
        String wanted = System.getProperty("walshadow.case", "");
        List<SchemaCase> cases = SchemaCases.of(major);
        SplittableRandom random = new SplittableRandom(SEED);
        cases.removeIf(each ->
                wanted.isEmpty() ? random.nextInt(100) >= SAMPLE : !each.name().matches(wanted));
        Map<String, String> wrong;
        try (Installation installation = Installation.start(major);
                SchemaRun run = new SchemaRun(installation)) {
            switch (mode) {
                case QUIET -> quiet(installation, run, cases, phases);
                case LOAD -> underLoad(installation, run, cases, phases);
                case KILL -> killed(installation, run, cases, phases);
            }
            wrong = run.judge(cases);
        }
        phases.end("judged");
        say("  " + phases);
        report(mode, major, cases, wrong, started);
    }

    /** All tables are there at the attach. */
    private static void quiet(
            Installation installation, SchemaRun run, List<SchemaCase> cases, Phases phases)
            throws Exception {
        run.prepare(cases);
        phases.end("prepared");
        installation.startDaemon();
        installation.awaitStreaming();
        phases.end("attached");
        run.change(cases, running -> {});
        phases.end("changed");
    }

    /** All tables come after the attach. */
    private static void underLoad(
            Installation installation, SchemaRun run, List<SchemaCase> cases, Phases phases)
            throws Exception {
        installation.execute(MixedLoad.SCHEMA);
        installation.startDaemon();
        installation.awaitStreaming();
        phases.end("attached");
        try (MixedLoad load = new MixedLoad(installation::session, 2, SEED, LOAD_PAUSE_NANOS);
                Interference rows = new Interference(installation, SEED)) {
            run.prepare(cases);
            phases.end("prepared");
            run.change(cases, rows);
            phases.end("changed");
            say("  beside " + load.committed() + " transactions, " + rows.done() + " rows between");
            assertThat(rows.done()).isPositive();
        }
    }

    /**
     * Half of the tables are there at the attach. Each kill comes when some of the changes before
     * it are durable, and others are made while no daemon runs.
     */
    private static void killed(
            Installation installation, SchemaRun run, List<SchemaCase> cases, Phases phases)
            throws Exception {
        SplittableRandom random = new SplittableRandom(SEED);
        List<SchemaCase> attached = new ArrayList<>();
        List<SchemaCase> later = new ArrayList<>();
        cases.forEach(each -> (random.nextBoolean() ? attached : later).add(each));
        run.prepare(attached);
        phases.end("prepared");
        installation.startDaemon();
        installation.awaitStreaming();
        phases.end("attached");
        installation.target().delayInserts(Duration.ofMillis(50));
        int slice = Math.ceilDiv(cases.size(), KILLS);
        for (int from = 0; from < cases.size(); from += slice) {
            List<SchemaCase> part = cases.subList(from, Math.min(cases.size(), from + slice));
            run.prepare(part.stream().filter(later::contains).toList());
            long durable = durable(installation);
            run.change(part.subList(0, part.size() / 2), running -> {});
            installation.await(
                    "some of it is durable",
                    () -> part.size() < 2 || durable(installation) > durable);
            LockSupport.parkNanos(random.nextLong(LONGEST_PAUSE_NANOS));
            installation.killDaemon();
            run.change(part.subList(part.size() / 2, part.size()), running -> {});
            installation.startDaemon();
        }
        phases.end("changed and killed " + KILLS + " times");
        installation.target().delayInserts(Duration.ZERO);
    }

    private static long durable(Installation installation) {
        String position = installation.status().path("durable").asString("");
        return position.isEmpty() ? 0 : Lsn.parse(position);
    }

    private static void report(
            Mode mode, int major, List<SchemaCase> cases, Map<String, String> wrong, long started) {
        Map<String, String> pending = SchemaCases.pending();
        Map<String, String> failed = new TreeMap<>(wrong);
        List<String> passed = new ArrayList<>();
        for (SchemaCase each : cases) {
            if (pending.containsKey(each.name())) {
                if (failed.remove(each.name()) == null) {
                    passed.add(each.name());
                }
            }
        }
        say(
                "PostgreSQL %d, %s, seed %d: %d cases, %d equal, %d pending, %d unequal, %.1f s"
                        .formatted(
                                major,
                                mode.name().toLowerCase(Locale.ROOT),
                                SEED,
                                cases.size(),
                                cases.size() - wrong.size(),
                                wrong.size() - failed.size(),
                                failed.size(),
                                (System.nanoTime() - started) / 1e9));
        failed.forEach((name, what) -> say("  " + name + "\n      " + what));
        assertThat(failed).as("unequal, seed %d", SEED).isEmpty();
        assertThat(passed).as("no longer pending: remove from %s", SchemaCases.PENDING).isEmpty();
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
