package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Values in line, compressed and out of line, full pages, 1,600 columns and none. One major by the
 * seed ({@code -Dwalshadow.seed=N}, {@code -Dwalshadow.major=N}), all with {@code
 * -Dwalshadow.soak=true}.
 */
final class StoredFormsTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);

    @Test
    void everyStoredFormArrives() throws Exception {
        int chosen = Integer.getInteger("walshadow.major", 15 + (int) (SEED % 4));
        int[] majors = SOAK ? IntStream.rangeClosed(15, 18).toArray() : new int[] {chosen};
        for (int major : majors) {
            System.out.println("PostgreSQL " + major + ", seed " + SEED);
            run(major);
        }
    }

    private static void run(int major) throws Exception {
        List<StoredForms> all = StoredForms.all();
        try (Installation installation = Installation.start(major)) {
            for (StoredForms forms : all) {
                installation.execute(forms.before());
            }
            installation.startDaemon();
            installation.awaitStreaming();
            equal(installation, all.size());
            for (StoredForms forms : all) {
                execute(installation, forms);
            }
            equal(installation, all.size());
            installation.resyncAll(all.stream().map(forms -> "public." + forms.name()).toList());
            equal(installation, all.size());
        }
    }

    private static void execute(Installation installation, StoredForms forms) {
        for (String statement : forms.after()) {
            try {
                installation.execute(statement);
            } catch (SQLException e) {
                throw new IllegalStateException(forms.name() + ": " + statement, e);
            }
        }
    }

    private static void equal(Installation installation, int tables) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s %s", outcome.results(), outcome.setAside()).isEmpty();
        assertThat(outcome.results()).hasSize(tables);
    }
}
