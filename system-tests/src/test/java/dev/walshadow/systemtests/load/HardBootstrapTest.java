package dev.walshadow.systemtests.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * The initial load of a source on which everything happens that makes a copy of its files wrong
 * ({@link HardLoad}), under transactions that are open from before it until behind it ({@link
 * Straddlers}), with so few buffers that pages come and go all the time; some of it with kill -9 of
 * the daemon on the way. Both sides are equal in the end.
 *
 * <p>{@code -Dwalshadow.seed=N} repeats one run; a seed tells major, checksums, kills and pace.
 */
@Tag("soak")
final class HardBootstrapTest {
    private static final long FIRST = System.nanoTime() & 0xFFFFFC;
    private static final int SEEDS = Boolean.getBoolean("walshadow.soak") ? 80 : 4;

    private static final long BEHIND_BYTES = 1 << 20;

    /** What a seed makes of a run. Four that follow one another have all majors and both kinds. */
    record Run(long seed) {
        int major() {
            return Integer.getInteger("walshadow.major", 15 + (int) (seed & 3));
        }

        boolean checksums() {
            return ((seed ^ seed >> 2) & 1) == 0;
        }

        boolean kills() {
            return ((seed >> 1 ^ seed >> 3) & 1) == 0;
        }

        /** Of the backup, so that it lasts and much happens meanwhile. */
        int megabytesInSecond() {
            return 4 << (seed >> 4 & 3);
        }

        @Override
        public String toString() {
            return "seed %d: PostgreSQL %d, checksums %s, kills %s, %d MB/s"
                    .formatted(seed, major(), checksums(), kills(), megabytesInSecond());
        }
    }

    static Stream<Run> runs() {
        Long given = Long.getLong("walshadow.seed");
        return given != null
                ? Stream.of(new Run(given))
                : LongStream.range(FIRST, FIRST + SEEDS).mapToObj(Run::new);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("runs")
    void bothSidesAreEqualWhateverHappensMeanwhile(Run run) throws Exception {
        SplittableRandom random = new SplittableRandom(run.seed());
        try (Installation installation = start(run)) {
            installation.execute(HardSchema.OF_LOAD);
            installation.execute(HardSchema.OF_STRADDLERS);
            installation.configure("backup", "max_rate = \"" + run.megabytesInSecond() + "MB\"");
            try (HardLoad load =
                            new HardLoad(
                                    installation::session,
                                    new Pace(installation, BEHIND_BYTES),
                                    run.seed());
                    Straddlers straddlers = Straddlers.begin(installation::session)) {
                installation.await("every session has done something", () -> load.least() > 0);
                installation.startDaemon();
                if (run.kills()) {
                    killWithin(installation, random.nextInt(10, 90));
                }
                installation.awaitStreaming();
                straddlers.end(random);
                // a list of running transactions that is whole again: the shadow can be asked
                installation.execute("CHECKPOINT");
                if (run.kills()) {
                    // their rows are on their way at best
                    installation.killDaemon();
                    installation.startDaemon();
                }
                long now = load.least();
                installation.await("the load goes on", () -> load.least() > now);
                System.out.println(run + ", " + load.done());
            }
            // how many pages were walked, and kept from before a kill
            System.out.println(lastWords(installation));
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason()).as("%s, %s", run, outcome.results()).isEmpty();
        }
    }

    /**
     * So few buffers that nearly each look at a page reads it, and nearly each change writes one.
     */
    private static Installation start(Run run) {
        return Installation.start(
                run.major(),
                source -> {
                    source.setting("shared_buffers", "1MB")
                            .setting("max_prepared_transactions", "20")
                            .setting("autovacuum_naptime", "1s")
                            .setting("checkpoint_timeout", "30s");
                    if (run.checksums()) {
                        return source.initdbOption("--data-checksums");
                    }
                    return run.major() < 18 ? source : source.initdbOption("--no-data-checksums");
                });
    }

    /** Kills the daemon when so much of the backup has come. */
    private static void killWithin(Installation installation, int percent) throws Exception {
        installation.await(
                percent + " % of the backup",
                () -> {
                    JsonNode bootstrap = installation.status().path("bootstrap");
                    return bootstrap.path("percent").asDouble(0) >= percent;
                });
        installation.killDaemon();
        installation.startDaemon();
    }

    private static String lastWords(Installation installation) throws IOException {
        try (Stream<String> lines = Files.lines(installation.log())) {
            return String.join(
                    "\n", lines.filter(line -> line.contains("initial load done")).toList());
        }
    }
}
