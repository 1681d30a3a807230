package dev.walshadow.daemon.monitor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

final class MetricsTest {
    private static final Path DOCUMENTATION = Path.of("..", "docs", "operations.md");
    private static final Path OPS = Path.of("..", "ops");
    private static final Pattern NAME = Pattern.compile("walshadow_[a-z_]+");
    private static final Pattern ROW =
            Pattern.compile("\\| `(walshadow_[a-z_]+)` \\| ([^|]+) \\| (.+) \\|");
    private static final int SECOND = 1_000_000;

    private static String written(JsonNode status, CommitLatency latency) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Metrics.write(status, latency, out);
        return out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void everyMetricIsReadFromTheStatus() throws IOException {
        String text = written(Pages.streaming(), new CommitLatency());
        assertThat(text.lines())
                .contains(
                        "walshadow_ok 0.0",
                        "walshadow_phase{phase=\"streaming\"} 1.0",
                        "walshadow_position_bytes{stage=\"durable\"} 8192.0",
                        "walshadow_lag_bytes{stage=\"durable\"} 4096.0",
                        "walshadow_lag_seconds{stage=\"durable\"} 1.5",
                        "walshadow_rows_total 1200.0",
                        "walshadow_insert_retries_total 2.0",
                        "walshadow_slot_wal_status{wal_status=\"reserved\"} 1.0",
                        "walshadow_slot_safe_wal_bytes 1000000.0",
                        "walshadow_memory_limit_bytes{area=\"queue\"} 3.3554432E7",
                        "walshadow_table_state{state=\"live\",table=\"public.Orders\"} 1.0",
                        "walshadow_table_rows_total{table=\"public.Orders\"} 800.0",
                        "walshadow_table_values_changed_total{policy=\"clamped\","
                                + "table=\"public.Orders\"} 3.0",
                        "walshadow_table_discarded_total{table=\"public.<b>bad</b>\"} 5.0",
                        "walshadow_shadow_hold_seconds_total 0.25");
        TreeSet<String> shown = new TreeSet<>();
        Matcher name = Pattern.compile("(?m)^# TYPE (\\S+)").matcher(text);
        while (name.find()) {
            shown.add(name.group(1));
        }
        TreeSet<String> absent = new TreeSet<>(Metrics.meanings().keySet());
        absent.removeAll(shown);
        assertThat(absent)
                .containsExactly(
                        "walshadow_initial_load_bytes", "walshadow_initial_load_expected_bytes");
    }

    @Test
    void whatIsNotKnownIsAbsent() throws IOException {
        String text =
                written(Pages.read("{\"ok\":true,\"phase\":\"starting\"}"), new CommitLatency());
        assertThat(text).contains("walshadow_phase{phase=\"starting\"} 1.0");
        assertThat(text).doesNotContain("walshadow_slot").doesNotContain("walshadow_lag_bytes");
    }

    @Test
    void aDroppedTableAndItsSuccessorAreOneSeries() throws IOException {
        String text =
                written(
                        Pages.read(
                                """
                                {"tables":[{"name":"a","state":"dropped","rows":5},
                                 {"name":"a","state":"live","rows":2}]}
                                """),
                        new CommitLatency());
        assertThat(text)
                .contains("walshadow_table_rows_total{table=\"a\"} 7.0")
                .contains("walshadow_table_state{state=\"dropped\",table=\"a\"} 1.0")
                .contains("walshadow_table_state{state=\"live\",table=\"a\"} 1.0");
    }

    @Test
    void everyDurableCommitIsInTheHistogramOnce() throws IOException {
        CommitLatency latency = new CommitLatency();
        latency.committed(100, 1 * SECOND);
        latency.committed(200, 2 * SECOND);
        latency.committed(300, 3 * SECOND);
        latency.durable(250, 4 * SECOND);
        latency.durable(250, 9 * SECOND);
        String text = written(Pages.streaming(), latency);
        assertThat(text)
                .contains("walshadow_commit_to_durable_seconds_count 2")
                .contains("walshadow_commit_to_durable_seconds_sum 5.0")
                .contains("walshadow_commit_to_durable_seconds_bucket{le=\"1.0\"} 0")
                .contains("walshadow_commit_to_durable_seconds_bucket{le=\"2.5\"} 1");
    }

    @Test
    void theDocumentationListsEveryMetricWithUnitAndMeaning() throws IOException {
        Map<String, String> described = new TreeMap<>();
        for (String line : Files.readAllLines(DOCUMENTATION)) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                assertThat(row.group(2)).as(line).isNotBlank();
                described.put(row.group(1), row.group(3));
            }
        }
        assertThat(described).isEqualTo(Metrics.meanings());
    }

    @Test
    void dashboardAndAlertsAskForMetricsThatExist() throws IOException {
        TreeSet<String> known = new TreeSet<>(Metrics.meanings().keySet());
        for (String suffix : List.of("_bucket", "_count", "_sum")) {
            known.add(Metrics.COMMIT_LATENCY + suffix);
        }
        for (String expression : expressions()) {
            Matcher name = NAME.matcher(expression);
            assertThat(name.find()).as(expression).isTrue();
            do {
                assertThat(known).as(expression).contains(name.group());
            } while (name.find());
        }
    }

    private static List<String> expressions() throws IOException {
        List<String> found = new ArrayList<>();
        JsonNode dashboard =
                new JsonMapper().readTree(Files.readString(OPS.resolve("grafana/walshadow.json")));
        for (JsonNode panel : dashboard.path("panels")) {
            for (JsonNode target : panel.path("targets")) {
                found.add(target.path("expr").asString(""));
            }
        }
        assertThat(found).hasSizeGreaterThan(25);
        int panels = found.size();
        String rules = Files.readString(OPS.resolve("prometheus/walshadow-rules.yml"));
        Matcher rule =
                Pattern.compile("(?s)- alert: .*?expr:(.*?)\\n +(?:for|labels):").matcher(rules);
        while (rule.find()) {
            found.add(rule.group(1));
        }
        assertThat(found).hasSize(panels + rules.split("- alert:", -1).length - 1);
        return found;
    }
}
