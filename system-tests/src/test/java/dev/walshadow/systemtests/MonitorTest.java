package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What an operator sees of a daemon that runs, and before it does. */
@Timeout(600)
final class MonitorTest {
    private final HttpClient client = HttpClient.newHttpClient();

    private String get(Installation installation, String path) {
        String url = installation.status().path("http").asString("");
        try {
            return client.send(
                            HttpRequest.newBuilder(URI.create(url + path)).build(),
                            BodyHandlers.ofString())
                    .body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private double metric(Installation installation, String series) {
        Matcher line =
                Pattern.compile("(?m)^" + Pattern.quote(series) + " (\\S+)$")
                        .matcher(get(installation, "metrics"));
        return line.find() ? Double.parseDouble(line.group(1)) : -1;
    }

    private static void verifyStreamed(Installation installation) throws Exception {
        assertThat(installation.verify().reason()).isEmpty();
    }

    @Test
    void metricsFollowTheStreamAndNameWhatIsAway() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(
                    "CREATE TABLE t (id int PRIMARY KEY, at timestamp)",
                    "INSERT INTO t SELECT i, now() FROM generate_series(1, 100) i");
            installation.configure("http", "listen = \"127.0.0.1:0\"");
            installation.configure("source", "poll_interval = \"200ms\"");
            checkBefore(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "INSERT INTO t VALUES (101, 'infinity')", "DELETE FROM t WHERE id = 1");
            verifyStreamed(installation);
            assertThat(metric(installation, "walshadow_table_rows_total{table=\"public.t\"}"))
                    .isEqualTo(102);
            assertThat(metric(installation, "walshadow_tombstones_total")).isEqualTo(1);
            assertThat(
                            metric(
                                    installation,
                                    "walshadow_table_values_changed_total{policy=\"clamped\","
                                            + "table=\"public.t\"}"))
                    .isEqualTo(1);
            assertThat(metric(installation, "walshadow_commit_to_durable_seconds_count"))
                    .isGreaterThanOrEqualTo(2);
            installation.await(
                    "the slot is known",
                    () ->
                            metric(
                                            installation,
                                            "walshadow_slot_wal_status{wal_status=\"reserved\"}")
                                    == 1);
            assertThat(get(installation, "readyz")).isEqualTo("ok\n");
            awayTarget(installation);
            pageShowsTheLog(installation);
        }
    }

    /** Preflight finds the source ready, and has advice about a slot without limit. */
    private static void checkBefore(Installation installation) throws Exception {
        Installation.CommandResult check = installation.command("check", "--json");
        JsonNode findings = new JsonMapper().readTree(lastLine(check.output()));
        assertThat(check.exitCode()).as(check.output()).isZero();
        assertThat(findings.path("ok").asBoolean(false)).isTrue();
        assertThat(findings.path("advice").toString())
                .contains("WS-1941")
                .contains("ALTER SYSTEM SET max_slot_wal_keep_size");
        assertThat(Files.exists(installation.state())).isFalse();
    }

    private static String lastLine(String text) {
        return text.strip().substring(text.strip().lastIndexOf('\n') + 1);
    }

    /** While ClickHouse is away the lag of what is durable grows, and the page names it. */
    private void awayTarget(Installation installation) throws Exception {
        installation.target().kill();
        installation.execute("INSERT INTO t SELECT i, now() FROM generate_series(200, 300) i");
        installation.await(
                "ClickHouse is seen to be away",
                () -> metric(installation, "walshadow_target_reachable") == 0);
        installation.await(
                "it falls behind",
                () -> metric(installation, "walshadow_lag_seconds{stage=\"durable\"}") > 0);
        assertThat(installation.status().path("bottleneck").path("stage").asString(""))
                .isEqualTo("clickhouse");
        assertThat(get(installation, "readyz")).contains("ClickHouse does not answer");
        assertThat(get(installation, "healthz")).isEqualTo("ok\n");
        installation.target().start();
        verifyStreamed(installation);
        installation.await(
                "it has caught up",
                () -> metric(installation, "walshadow_lag_seconds{stage=\"durable\"}") == 0);
    }

    private void pageShowsTheLog(Installation installation) {
        JsonNode page = new JsonMapper().readTree(get(installation, "status.json"));
        assertThat(page.path("events").toString()).contains("ClickHouse does not answer");
        assertThat(page.path("settings").toString()).contains("clickhouse.metadata_database");
        assertThat(get(installation, "")).contains("<title>walshadow</title>");
    }

    @Test
    void checkTellsEveryFaultAtOnceBesideARunningDaemonToo() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.execute(
                    "CREATE UNLOGGED TABLE u (id int PRIMARY KEY)",
                    "CREATE TABLE t (id int PRIMARY KEY)");
            installation.startDaemon();
            installation.awaitStreaming();
            Installation.CommandResult good = installation.command("check");
            assertThat(good.exitCode()).as(good.output()).isZero();
            assertThat(good.output())
                    .contains("WS-1942")
                    .contains("public.u")
                    .contains("SET LOGGED")
                    .contains("walshadow can start");
            Installation.CommandResult bad =
                    installation.command(
                            "check",
                            "--tables-include",
                            "public.t,public.absent",
                            "--source-slot",
                            "other");
            assertThat(bad.exitCode()).as(bad.output()).isEqualTo(2);
            assertThat(bad.output())
                    .contains("WS-1907")
                    .contains("public.absent")
                    .contains("WS-1913")
                    .contains("walshadow cannot start: 2 faults");
        }
    }
}
