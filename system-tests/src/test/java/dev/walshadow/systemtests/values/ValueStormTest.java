package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.postgres.value.TypeSamples;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Every type's values, awkward and random, alone and inside of everything that can hold them, as
 * rows that were there, streamed ones, updated ones and ones that were loaded anew.
 *
 * <p>{@code -Dwalshadow.seed=N} repeats a run, {@code -Dwalshadow.major=N} chooses the server,
 * {@code -Dwalshadow.values=N} says how many random values a type gets, {@code
 * -Dwalshadow.types=REGEX} which types take part (a quarter of them otherwise); {@code
 * -Dwalshadow.soak=true}: all, 3,000 values each, on all four servers.
 */
final class ValueStormTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int VALUES = Integer.getInteger("walshadow.values", SOAK ? 3_000 : 12);
    private static final String TYPES = System.getProperty("walshadow.types", ".*");

    /** Where time is short and no types are asked for, one in so many takes part, by the seed. */
    private static final int SHARE = 4;

    private static final boolean ALL = SOAK || System.getProperty("walshadow.types") != null;
    private static final int FIRST_MAJOR = 15;
    private static final int LAST_MAJOR = 18;

    @Test
    void everyValueIsWhatPostgresShows() throws Exception {
        Integer major = Integer.getInteger("walshadow.major");
        int[] majors =
                SOAK && major == null
                        ? IntStream.rangeClosed(FIRST_MAJOR, LAST_MAJOR).toArray()
                        : new int[] {major == null ? FIRST_MAJOR + (int) (SEED % 4) : major};
        for (int each : majors) {
            System.out.println("PostgreSQL " + each + ", seed " + SEED);
            storm(each);
        }
    }

    private static void storm(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(StormTypes.SCHEMA);
            List<StormTable> tables;
            try (Connection session = session(installation)) {
                tables = tables(session, major);
                for (StormTable table : tables) {
                    table.create(session);
                    table.insert(session, 0);
                }
            }
            configure(installation, tables);
            installation.startDaemon();
            installation.awaitStreaming();
            compare(installation, tables, "the initial load");

            try (Connection session = session(installation)) {
                for (int i = 0; i < tables.size(); i++) {
                    tables.get(i).insert(session, 1);
                    // each makes a load of its table: some are enough where time is short
                    if (SOAK || i % 8 == SEED % 8) {
                        tables.get(i).changeComposite(session);
                    }
                    tables.get(i).update(session);
                }
            }
            compare(installation, tables, "the stream");

            Map<String, String> streamed = bytes(installation, tables);
            installation.resyncAll(tables.stream().map(StormTable::name).toList());
            compare(installation, tables, "a load by COPY");
            assertThat(bytes(installation, tables)).isEqualTo(streamed);
        }
    }

    private static List<StormTable> tables(Connection session, int major) throws SQLException {
        List<StormTable> tables = new ArrayList<>();
        int seen = 0;
        for (TypeSamples samples : StormTypes.all(major)) {
            boolean drawn = ALL || seen++ % SHARE == SEED % SHARE;
            if (drawn && samples.type().matches(TYPES)) {
                int number = tables.size();
                Random random = new Random(SEED + number);
                tables.add(new StormTable(session, number, samples, random, VALUES));
            }
        }
        return tables;
    }

    private static void configure(Installation installation, List<StormTable> tables) {
        StringBuilder rules = new StringBuilder();
        for (StormTable table : tables) {
            if (table.isArray()) {
                rules.append("[tables.\"%s\".columns]\n".formatted(table.name()));
                rules.append("v = { type = \"String\" }\nd = { type = \"String\" }\n");
            }
        }
        installation.configure("[tables]\nexclude = [\"stage.*\"]\n" + rules);
    }

    private static Connection session(Installation installation) throws SQLException {
        Connection session = installation.session();
        try (Statement statement = session.createStatement()) {
            statement.execute("SET xmloption TO content");
            statement.execute("SET DateStyle TO ISO, YMD");
            statement.execute("SET search_path TO public, pg_catalog");
        }
        return session;
    }

    private static void compare(Installation installation, List<StormTable> tables, String what)
            throws Exception {
        Verification.Outcome outcome = installation.verify();
        Map<String, String> types = new TreeMap<>();
        tables.forEach(table -> types.put(table.name(), table.type()));
        String differences =
                outcome.results().stream()
                        .filter(result -> !result.equal())
                        .map(result -> types.get(result.table().toString()) + ": " + shown(result))
                        .collect(Collectors.joining("\n"));
        assertThat(differences + String.join("\n", outcome.setAside()))
                .as("after %s, seed %d", what, SEED)
                .isEmpty();
        assertThat(outcome.results()).hasSameSizeAs(tables);
        assertThat(outcome.notCompared()).isEmpty();
    }

    /** Digests of all rows as ClickHouse stores them, not as it prints them. */
    private static Map<String, String> bytes(Installation installation, List<StormTable> tables) {
        Map<String, String> digests = new TreeMap<>();
        for (StormTable table : tables) {
            String sql =
                    "SELECT count(), sum(cityHash64(formatRow('RowBinary', id, %s, touched))) FROM %s FINAL"
                            .formatted(table.names(), table.name());
            digests.put(table.type(), installation.target().query(sql));
        }
        return digests;
    }

    private static String shown(TableResult result) {
        String text = result.toString();
        return text.length() > 3_000 ? text.substring(0, 3_000) + " ..." : text;
    }
}
