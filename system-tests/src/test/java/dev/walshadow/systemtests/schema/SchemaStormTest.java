package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.catalog.DescriptorHistory;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random histories of tables and rows end equal in ClickHouse, the daemon killed in the middle of
 * every third; and what the daemon knows of the catalogs is what the source has. {@code
 * -Dwalshadow.seed=N} repeats a run, {@code -Dwalshadow.major=N} chooses a major and {@code
 * -Dwalshadow.histories=N} how many; {@code -Dwalshadow.soak=true} makes 500, over all majors.
 */
@Timeout(3600)
final class SchemaStormTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};
    private static final int HISTORIES = Integer.getInteger("walshadow.histories", SOAK ? 125 : 30);
    private static final int TOGETHER = 10;
    private static final int STEPS = 40;

    @Test
    void everyHistoryEndsEqual() throws Exception {
        Integer only = Integer.getInteger("walshadow.major");
        if (only != null) {
            run(only, SEED);
        } else if (SOAK) {
            for (int major : MAJORS) {
                run(major, SEED + major);
            }
        } else {
            run(MAJORS[(int) (SEED % MAJORS.length)], SEED);
        }
    }

    private static void run(int major, long seed) throws Exception {
        say("PostgreSQL " + major + ", seed " + seed);
        try (Installation installation = Installation.start(major)) {
            installation.startDaemon();
            installation.awaitStreaming();
            for (int round = 0; round < HISTORIES / TOGETHER; round++) {
                for (int i = 0; i < TOGETHER; i++) {
                    play(installation, seed, round * TOGETHER + i);
                }
                Verification.Outcome outcome = installation.verify();
                assertThat(outcome.reason())
                        .describedAs("after history %d of seed %d", (round + 1) * TOGETHER, seed)
                        .isEmpty();
                requireSameCatalog(installation, seed);
            }
        }
    }

    /** What the shadow's captures have made of the catalogs is what the source has. */
    static void requireSameCatalog(Installation installation, long seed) throws SQLException {
        List<RelationDescriptor> known =
                DescriptorHistory.read(installation.state().resolve("desclog")).newest();
        List<RelationDescriptor> actual;
        try (Connection session = installation.session()) {
            actual = new CatalogReader().readAll(session);
        }
        assertThat(known.stream().filter(each -> each.databaseOid() != 0))
                .as("the descriptor log, seed %d", seed)
                .containsExactlyInAnyOrderElementsOf(actual);
    }

    private static void play(Installation installation, long seed, int number) throws Exception {
        List<String> statements = RandomHistory.of(seed * 1000 + number, "storm" + number, STEPS);
        int kill = number % 3 == 2 ? statements.size() / 2 : -1;
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = 0; i < statements.size(); i++) {
                statement.execute(statements.get(i));
                if (i == kill) {
                    installation.killDaemon();
                }
            }
        }
        if (kill >= 0) {
            installation.startDaemon();
        }
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
