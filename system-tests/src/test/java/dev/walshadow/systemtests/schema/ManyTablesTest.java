package dev.walshadow.systemtests.schema;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Many tables, each with a row: attached, changed, restarted after a kill, equal. Prints how long
 * each took, ClickHouse's CREATEs apart. {@code -Dwalshadow.tables=N}; 20,000 in the soak, {@code
 * -Dwalshadow.major=N}.
 */
@Timeout(3600)
final class ManyTablesTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final int TABLES = Integer.getInteger("walshadow.tables", SOAK ? 20_000 : 200);
    private static final int MAJOR = Integer.getInteger("walshadow.major", 17);
    private static final int AT_ONCE = 500;
    private static final int CHANGED = 40;

    @Test
    void attachChangeAndRestart() throws Exception {
        try (Installation installation =
                Installation.start(MAJOR, source -> source.setting("fsync", "off"))) {
            create(installation, TABLES);
            long started = System.nanoTime();
            installation.startDaemon();
            installation.awaitStreaming();
            say(TABLES + " tables attached in " + since(started) + created(installation));
            assertThat(installation.status().path("tables")).hasSize(TABLES);
            assertThat(installation.progress().has("tables")).isFalse();
            change(installation, 0);
            installation.killDaemon();
            started = System.nanoTime();
            installation.startDaemon();
            say("started again in " + since(started));
            change(installation, CHANGED);
            started = System.nanoTime();
            assertThat(installation.verify().reason()).isEmpty();
            say("compared in " + since(started));
        }
    }

    /** With a row in each. */
    static void create(Installation installation, int tables) throws SQLException {
        long started = System.nanoTime();
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int from = 0; from < tables; from += AT_ONCE) {
                statement.execute(
                        "DO $$ BEGIN FOR i IN "
                                + from
                                + " .. "
                                + (Math.min(tables, from + AT_ONCE) - 1)
                                + " LOOP EXECUTE format('CREATE TABLE m%s (id bigint PRIMARY KEY, a"
                                + " int, b text, c timestamptz, d numeric(12,2), e jsonb)', i);"
                                + " EXECUTE format('INSERT INTO m%s VALUES (1, %s, ''b'')', i, i);"
                                + " END LOOP; END $$");
            }
        }
        say(tables + " tables created on the source in " + since(started));
    }

    /** Each ALTER holds once. */
    private static void change(Installation installation, int from) throws SQLException {
        double before = holdSeconds(installation);
        long holds = holds(installation);
        long started = System.nanoTime();
        long position;
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = from; i < from + CHANGED; i++) {
                String table = "m" + i * (TABLES / (2 * CHANGED));
                statement.execute("ALTER TABLE " + table + " ADD COLUMN f int DEFAULT 7");
                statement.execute("INSERT INTO " + table + " (id, a) VALUES (2, 3)");
            }
            try (ResultSet row = statement.executeQuery("SELECT pg_current_wal_insert_lsn()")) {
                row.next();
                position = Lsn.parse(row.getString(1));
            }
        }
        installation.await(
                "the changes are durable",
                () -> {
                    String durable = installation.progress().path("durable").asString("");
                    return !durable.isEmpty() && Lsn.parse(durable) >= position;
                });
        say(
                "%d tables changed and written, durable after %s; %d holds of %.1f ms"
                        .formatted(
                                CHANGED,
                                since(started),
                                holds(installation) - holds,
                                (holdSeconds(installation) - before) * 1000 / CHANGED));
        assertThat(holds(installation) - holds).isEqualTo(CHANGED);
    }

    private static long holds(Installation installation) {
        return installation.progress().path("shadow").path("holds").asLong(0);
    }

    private static double holdSeconds(Installation installation) {
        return installation.progress().path("shadow").path("hold_seconds").asDouble(0);
    }

    private static String created(Installation installation) throws IOException {
        try (Stream<String> lines = Files.lines(installation.log())) {
            List<String> found =
                    lines.filter(line -> line.contains("created in ClickHouse")).toList();
            assertThat(found).hasSize(1);
            return "; " + found.getFirst();
        }
    }

    private static String since(long started) {
        return String.format(Locale.ROOT, "%.1f s", (System.nanoTime() - started) / 1e9);
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
