package dev.walshadow.systemtests.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tables are loaded anew over and over while sessions change their rows: values out of line that
 * stay as they are under other keys and in a table without one, partitions that rows move between,
 * subtransactions, prepared transactions. None is set aside, and both sides are equal.
 */
@Tag("soak")
final class ReloadUnderLoadTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int MAJOR =
            Integer.getInteger("walshadow.major", 15 + (int) Math.floorMod(SEED, 4L));
    private static final int ROUNDS = Boolean.getBoolean("walshadow.soak") ? 20 : 3;

    /** A load of a table ends when what was written meanwhile is durable. */
    private static final long BEHIND_BYTES = 2 << 20;

    private static final List<String> ASKED =
            List.of(
                    "public.documents",
                    "public.scraps",
                    "public.history",
                    "public.churned",
                    "public.parts");
    private static final List<String> LOADED =
            List.of(
                    "public.documents",
                    "public.scraps",
                    "public.history",
                    "public.churned",
                    "public.parts_0",
                    "public.parts_1",
                    "public.parts_2");

    @Test
    void rowsThatAreReadWhileTheyChangeEndAsOnTheSource() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + MAJOR);
        try (Installation installation =
                Installation.start(
                        MAJOR, source -> source.setting("max_prepared_transactions", "20"))) {
            installation.execute(HardSchema.OF_LOAD);
            installation.startDaemon();
            installation.awaitStreaming();
            try (HardLoad load =
                    HardLoad.ofRows(
                            installation::session, new Pace(installation, BEHIND_BYTES), SEED)) {
                installation.await("every session has done something", () -> load.least() > 0);
                for (int round = 0; round < ROUNDS; round++) {
                    installation.resyncAll(ASKED, LOADED);
                }
                System.out.println(load.done());
            }
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason()).as("seed %d, %s", SEED, outcome.results()).isEmpty();
        }
    }
}
