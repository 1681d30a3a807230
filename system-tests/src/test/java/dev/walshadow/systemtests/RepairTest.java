package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code verify --repair}: what was changed in ClickHouse by hand is as the source has it again.
 */
@Timeout(600)
final class RepairTest {
    /** No row of the stream is above it. */
    private static final String HIGHEST = "toUInt128('340282366920938463463374607431768211455')";

    @Test
    void bringsTablesRightWhileTheyAreWrittenToAndLeavesTheOthersAlone() throws Exception {
        try (Installation installation = Installation.start(17);
                ExecutorService beside = Executors.newVirtualThreadPerTaskExecutor()) {
            installation.execute(
                    "CREATE TABLE item (id int PRIMARY KEY, v text)",
                    "INSERT INTO item SELECT i, 'v' || i FROM generate_series(1, 2000) i",
                    "CREATE TABLE loose (v text)",
                    "INSERT INTO loose SELECT 'v' || i % 10 FROM generate_series(1, 100) i",
                    "CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
                    "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (100)",
                    "CREATE TABLE high PARTITION OF parted FOR VALUES FROM (100) TO (200)",
                    "INSERT INTO parted SELECT i, 'v' || i FROM generate_series(1, 150) i",
                    "CREATE TABLE hot (id int PRIMARY KEY, n int)",
                    "INSERT INTO hot VALUES (1, 0)",
                    "CREATE TABLE untouched (id int PRIMARY KEY)",
                    "INSERT INTO untouched SELECT generate_series(1, 100)");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();
            damage(installation);
            AtomicBoolean enough = new AtomicBoolean();
            Future<?> load = beside.submit(() -> write(installation, enough));
            Installation.CommandResult command =
                    installation.command("verify", "--repair", "--summary", "json");
            enough.set(true);
            load.get();
            assertThat(command.exitCode()).as(command.output()).isZero();
            assertThat(command.output())
                    .contains("public.item was loaded anew: equal now")
                    .contains("everything is equal");
            JsonNode summary =
                    new JsonMapper().readTree(command.output().strip().lines().toList().getLast());
            assertThat(summary.path("ok").asBoolean(false)).isTrue();
            assertThat(summary.path("repaired"))
                    .extracting(each -> each.path("table").asString("") + each.path("equal"))
                    .containsExactlyInAnyOrder(
                            "public.itemtrue", "public.loosetrue", "public.partedtrue");
            JsonNode item =
                    summary.path("repaired")
                            .valueStream()
                            .filter(each -> each.path("table").asString("").equals("public.item"))
                            .findFirst()
                            .orElseThrow();
            assertThat(item.path("missing").asLong(-1)).isEqualTo(1);
            assertThat(item.path("extra").asLong(-1)).isEqualTo(2);
            assertThat(item.path("different").asLong(-1)).isEqualTo(1);
            assertThat(installation.logged("public.untouched is loaded")).isFalse();
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    @Test
    void saysWhatStaysWrongAndRefusesWithoutADaemon() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.execute(
                    "CREATE TABLE item (id int PRIMARY KEY, v text)",
                    "INSERT INTO item SELECT i, 'v' || i FROM generate_series(1, 100) i",
                    "CREATE UNLOGGED TABLE held (id int PRIMARY KEY)",
                    "CREATE TABLE nothing (id int PRIMARY KEY)");
            installation.startDaemon();
            installation.awaitStreaming();
            change(installation, "item", "id = 11", "'altered' AS v, 0 AS _is_deleted");
            Installation.CommandResult other =
                    installation.command("verify", "--repair", "--table", "public.nothing");
            assertThat(other.exitCode()).as(other.output()).isEqualTo(1);
            assertThat(other.output()).contains("no row was compared").doesNotContain("anew");
            Installation.CommandResult one =
                    installation.command("verify", "--repair", "--table", "public.item");
            assertThat(one.exitCode()).as(one.output()).isZero();
            assertThat(installation.stopDaemon()).isZero();
            change(installation, "item", "id = 12", "'altered' AS v, 0 AS _is_deleted");
            Installation.CommandResult refused = installation.command("verify", "--repair");
            assertThat(refused.exitCode()).as(refused.output()).isEqualTo(1);
            assertThat(refused.output()).contains("WS-1908", "start it with: walshadow run");
        }
    }

    private static void damage(Installation installation) {
        change(installation, "item", "id = 11", "'altered' AS v, 0 AS _is_deleted");
        change(installation, "item", "id = 22", "v, 1 AS _is_deleted");
        add(installation, "item", 5000);
        add(installation, "item", 5001);
        change(installation, "parted", "id = 120", "v, 1 AS _is_deleted");
        add(installation, "parted", 5000);
        installation
                .target()
                .query("DELETE FROM public.loose WHERE v = 'v3' SETTINGS mutations_sync = 2");
    }

    private static void add(Installation installation, String table, int id) {
        installation
                .target()
                .query(
                        "INSERT INTO public.%s (id, v, _version, _is_deleted) SELECT %d, 'added', %s, 0"
                                .formatted(table, id, HIGHEST));
    }

    private static void change(
            Installation installation, String table, String which, String columns) {
        installation
                .target()
                .query(
                        "INSERT INTO public.%1$s (id, %2$s, _version) SELECT id, %3$s, %4$s FROM public.%1$s WHERE %5$s LIMIT 1"
                                .formatted(table, "v, _is_deleted", columns, HIGHEST, which));
    }

    private static void write(Installation installation, AtomicBoolean enough) {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = 0; !enough.get(); i++) {
                statement.execute("UPDATE item SET v = 'w" + i + "' WHERE id % 100 = " + i % 100);
                statement.execute("INSERT INTO loose VALUES ('more')");
                statement.execute("UPDATE hot SET n = n + 1");
                statement.execute("UPDATE parted SET v = 'w" + i + "' WHERE id = " + i % 150);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
