package dev.walshadow.systemtests.transaction;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every kind of transaction arrives: whole, once, in order. One daemon for all cases, with so
 * little memory for transactions that those of more than a few thousand rows go to disk; after each
 * case both sides are compared in full.
 *
 * <p>{@code -Dwalshadow.seed=N} repeats a run, {@code -Dwalshadow.major=N} and {@code
 * -Dwalshadow.case=REGEX} choose; {@code -Dwalshadow.soak=true} takes every major.
 */
@Timeout(1800)
final class TransactionsTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int[] MAJORS = {15, 16, 17, 18};

    static IntStream majors() {
        Integer one = Integer.getInteger("walshadow.major");
        if (one != null) {
            return IntStream.of(one);
        }
        return SOAK ? IntStream.of(MAJORS) : IntStream.of(MAJORS[(int) (SEED % MAJORS.length)]);
    }

    @ParameterizedTest(name = "PostgreSQL {0}")
    @MethodSource("majors")
    void everyKindOfTransactionArrives(int major) throws Exception {
        System.out.printf("TransactionsTest: seed %d, PostgreSQL %d%n", SEED, major);
        List<TransactionCase> cases = new ArrayList<>();
        cases.addAll(TwoPhaseCases.ALL);
        cases.addAll(SavepointCases.ALL);
        cases.addAll(RowCases.ALL);
        cases.addAll(ConcurrencyCases.ALL);
        cases.addAll(LargeCases.ALL);
        String wanted = System.getProperty("walshadow.case", "");
        cases.removeIf(each -> !wanted.isEmpty() && !each.name().matches(wanted));
        try (Installation installation = Installation.start(major)) {
            installation.source().setting("max_prepared_transactions", "400");
            installation.source().restart();
            installation.configure("memory", "transactions = \"1MB\"");
            for (TransactionCase each : cases) {
                installation.execute(each.before());
            }
            installation.startDaemon();
            installation.awaitStreaming();
            SplittableRandom random = new SplittableRandom(SEED);
            for (TransactionCase each : cases) {
                long started = System.nanoTime();
                each.body().run(installation, random.split());
                requireEqual(installation, each.name());
                System.out.printf(
                        "  %s: %.1f s%n", each.name(), (System.nanoTime() - started) / 1e9);
            }
            assertThat(installation.status().path("open_transactions").asLong(-1))
                    .as("transactions without an end")
                    .isZero();
        }
    }

    // all tables of the source compare as equal, partitions as their root
    static void requireEqual(Installation installation, String after) throws Exception {
        Verification.Outcome outcome = installation.verify();
        List<String> compared =
                outcome.results().stream().map(each -> each.table().name()).sorted().toList();
        List<TableResult> wrong = outcome.results().stream().filter(each -> !each.equal()).toList();
        assertThat(outcome.reason())
                .as("after %s: %s, set aside: %s", after, wrong, outcome.setAside())
                .isEmpty();
        assertThat(compared).as("after %s", after).isEqualTo(tables(installation));
    }

    private static List<String> tables(Installation installation) throws SQLException {
        List<String> names = new ArrayList<>();
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT"
                                    + " relispartition AND relnamespace = 'public'::regnamespace"
                                    + " ORDER BY relname COLLATE \"C\"")) {
            while (row.next()) {
                names.add(row.getString(1));
            }
        }
        return names;
    }
}
