package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** The daemon's own comparison: silent under load and DDL, and it finds what is wrong. */
@Timeout(600)
final class BackgroundVerifyTest {
    private static final String HIGHEST = "toUInt128('340282366920938463463374607431768211455')";

    @Test
    void isSilentWhileTablesAreWrittenToAndNamesTheRowsThatDiffer() throws Exception {
        try (Installation installation = Installation.start(18);
                ExecutorService beside = Executors.newVirtualThreadPerTaskExecutor()) {
            installation.execute(
                    "CREATE TABLE item (id int, name text, v text, PRIMARY KEY (name, id))",
                    "INSERT INTO item SELECT i, chr(65 + i % 50), 'v' || i FROM"
                            + " generate_series(1, 5000) i",
                    "CREATE TABLE loose (v text)",
                    "INSERT INTO loose SELECT 'v' || i % 10 FROM generate_series(1, 100) i",
                    "CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
                    "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (100)",
                    "CREATE TABLE high PARTITION OF parted FOR VALUES FROM (100) TO (200)",
                    "INSERT INTO parted SELECT i, 'v' || i FROM generate_series(1, 150) i",
                    "CREATE TABLE empty (id uuid PRIMARY KEY)",
                    "CREATE TABLE wide (v text)",
                    "ALTER TABLE wide ALTER v SET STORAGE EXTERNAL",
                    "INSERT INTO wide SELECT repeat('x', 1000000) FROM generate_series(1, 18)");
            installation.configure("http", "listen = \"127.0.0.1:0\"");
            installation.configure("verify", "interval = \"10ms\"");
            installation.configure("verify", "rows = 300");
            installation.startDaemon();
            installation.awaitStreaming();
            AtomicBoolean enough = new AtomicBoolean();
            Future<?> load = beside.submit(() -> write(installation, enough));
            awaitRanges(installation, 40);
            installation.execute("ALTER TABLE item ADD COLUMN more int DEFAULT 7");
            installation.resyncAll(List.of("public.parted"), List.of("public.low", "public.high"));
            awaitRanges(installation, 40);
            enough.set(true);
            load.get();
            JsonNode verify = installation.status().path("verify");
            assertThat(verify.path("differences").asLong(-1)).as(verify.toString()).isZero();
            assertThat(verify.path("left_out").toString())
                    .contains("public.wide", "more than 16 MB")
                    .doesNotContain("public.loose");
            assertThat(installation.logged("WS-1952")).isFalse();

            damage(installation);
            for (String table : new String[] {"item", "parted", "loose"}) {
                installation.await(
                        "the difference of " + table + " is found",
                        () -> differs(installation, table));
            }
            String different = installation.status().path("verify").path("different").toString();
            assertThat(different).contains("id=120", "missing_in_clickhouse", "v=surplus");
            assertThat(different).contains("name=0").contains("only_in_clickhouse");
            assertThat(
                            installation.logged(
                                    "WS-1952 public.parted differs from the source in 1 rows"))
                    .isTrue();
            assertThat(metrics(installation))
                    .contains("walshadow_verify_differences{table=\"public.parted\"} 1.0");
            Installation.CommandResult repaired = installation.command("verify", "--repair");
            assertThat(repaired.exitCode()).as(repaired.output()).isZero();
            installation.await(
                    "nothing differs any more",
                    () -> installation.status().path("verify").path("differences").asLong(-1) == 0);
            awaitRanges(installation, 20);
            assertThat(installation.status().path("verify").path("differences").asLong(-1))
                    .isZero();
        }
    }

    @Test
    void isTurnedOnAndOffByAReloadAndRestsWhilePaused() throws Exception {
        try (Installation installation = Installation.start(15)) {
            installation.execute(
                    "CREATE TABLE item (id int PRIMARY KEY)",
                    "INSERT INTO item SELECT generate_series(1, 100)");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.status().has("verify")).isFalse();
            installation.configure("verify", "interval = \"10ms\"");
            assertThat(installation.command("ctl reload").output())
                    .contains("verify.interval is applied");
            awaitRanges(installation, 3);
            assertThat(installation.command("ctl pause").exitCode()).isZero();
            long before = ranges(installation);
            installation.execute("INSERT INTO item SELECT generate_series(101, 200)");
            installation.target().query("INSERT INTO public.item (id, _version) SELECT 7777, 1");
            assertThat(installation.command("ctl resume").exitCode()).isZero();
            assertThat(before).isPositive();
            installation.await(
                    "the row that is too much is found", () -> differs(installation, "item"));
            installation.configure("verify", "interval = \"0s\"");
            assertThat(installation.command("ctl reload").exitCode()).isZero();
            assertThat(installation.status().has("verify")).isFalse();
        }
    }

    private static long ranges(Installation installation) {
        return installation.status().path("verify").path("ranges").asLong(0);
    }

    private static void awaitRanges(Installation installation, int more) {
        long before = ranges(installation);
        installation.await(
                more + " more ranges are compared", () -> ranges(installation) >= before + more);
    }

    private static boolean differs(Installation installation, String table) {
        for (JsonNode each : installation.status().path("verify").path("tables")) {
            if (each.path("name").asString("").equals("public." + table)) {
                return each.path("differences").asLong(0) > 0;
            }
        }
        return false;
    }

    private static String metrics(Installation installation) throws Exception {
        String url = installation.status().path("http").asString("");
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                            HttpRequest.newBuilder(URI.create(url + "metrics")).build(),
                            BodyHandlers.ofString())
                    .body();
        }
    }

    private static void damage(Installation installation) {
        installation
                .target()
                .query(
                        "INSERT INTO public.parted (id, v, _is_deleted, _version, _leaf) SELECT id,"
                                + " v, 1, "
                                + HIGHEST
                                + ", _leaf FROM public.parted WHERE id = 120 LIMIT 1");
        installation
                .target()
                .query(
                        "INSERT INTO public.item (id, name, v, _version) SELECT 1, '0', 'added', "
                                + HIGHEST);
        installation
                .target()
                .query(
                        "INSERT INTO public.loose (v, _tid, _version) SELECT 'surplus', 1, "
                                + HIGHEST);
    }

    private static void write(Installation installation, AtomicBoolean enough) {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = 0; !enough.get(); i++) {
                statement.execute("UPDATE item SET v = 'w" + i + "' WHERE id % 100 = " + i % 100);
                statement.execute("DELETE FROM item WHERE id % 1000 = " + i % 1000);
                statement.execute(
                        "INSERT INTO item (id, name, v) SELECT j, chr(65 + j % 50), 'again' FROM"
                                + " generate_series(1, 5000) j WHERE j % 1000 = "
                                + i % 1000);
                statement.execute("INSERT INTO loose VALUES ('more')");
                statement.execute("DELETE FROM loose WHERE v = 'more'");
                statement.execute("UPDATE parted SET v = 'w" + i + "' WHERE id = " + i % 150);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
