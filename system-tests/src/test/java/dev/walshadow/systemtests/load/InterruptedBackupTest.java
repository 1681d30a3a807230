package dev.walshadow.systemtests.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import dev.walshadow.testkit.MixedLoad;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The initial load of a source that breaks off in the middle of the backup: its connections are
 * cut, it is restarted, and it crashes, while sessions write. Each time the load goes on with what
 * it has.
 */
@Tag("soak")
final class InterruptedBackupTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int MAJOR =
            Integer.getInteger("walshadow.major", 15 + (int) Math.floorMod(SEED, 4L));
    private static final Pattern KEPT = Pattern.compile("(\\d+) kept from before");

    /** Something that ends every connection of the source. */
    private interface Break {
        void of(Installation installation) throws Exception;
    }

    @Test
    void theLoadGoesOnAfterEachBreak() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + MAJOR);
        try (Installation installation = Installation.start(MAJOR)) {
            installation.execute(MixedLoad.SCHEMA);
            installation.execute(
                    "CREATE TABLE filler (id int PRIMARY KEY, v text)",
                    "ALTER TABLE filler ALTER v SET STORAGE PLAIN",
                    "INSERT INTO filler SELECT i, repeat(md5(i::text), 60) FROM generate_series(1,"
                            + " 16000) i");
            installation.configure("backup", "max_rate = \"6MB\"");
            try (MixedLoad load = new MixedLoad(installation::session, 2, SEED, 20_000_000)) {
                installation.startDaemon();
                breakOff(
                        installation,
                        1,
                        each ->
                                each.execute(
                                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                                + " WHERE backend_type = 'walsender'"));
                breakOff(installation, 2, each -> each.source().restart());
                breakOff(
                        installation,
                        3,
                        each -> {
                            each.source().kill();
                            // an attempt that fails before its backup loses nothing either
                            each.await(
                                    "the daemon finds no server",
                                    () -> count(each, "no server can be reached") > 0);
                            each.source().start();
                        });
                installation.awaitStreaming();
                long now = load.committed();
                installation.await("the writers go on", () -> load.committed() > now);
            }
            assertThat(keptPages(installation)).isPositive();
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason()).as("seed %d, %s", SEED, outcome.results()).isEmpty();
        }
    }

    /** In the middle of the backup of this number. */
    private static void breakOff(Installation installation, int number, Break step)
            throws Exception {
        installation.await(
                "a third of backup " + number,
                () -> installation.status().path("bootstrap").path("percent").asDouble(0) >= 33);
        step.of(installation);
        installation.await(
                "it goes on",
                () -> count(installation, "the initial load goes on as of") >= number);
    }

    private static long count(Installation installation, String text) {
        try (Stream<String> lines = Files.lines(installation.log())) {
            return lines.filter(line -> line.contains(text)).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long keptPages(Installation installation) throws IOException {
        return KEPT.matcher(Files.readString(installation.log()))
                .results()
                .mapToLong((MatchResult each) -> Long.parseLong(each.group(1)))
                .max()
                .orElse(0);
    }
}
