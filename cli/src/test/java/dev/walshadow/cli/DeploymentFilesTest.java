package dev.walshadow.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The image, the demonstration and the chart against what they start, copy and mount. */
final class DeploymentFilesTest {
    private static final Path ROOT = Path.of("..");
    private static final Path DOCKER = ROOT.resolve("ops/docker");
    private static final Path CHART = ROOT.resolve("ops/helm/walshadow");

    @TempDir private Path folder;

    private static @Nullable Object at(@Nullable Object root, String... path) {
        Object value = root;
        for (String step : path) {
            value =
                    value instanceof List<?> list
                            ? list.get(Integer.parseInt(step))
                            : ((Map<?, ?>) Objects.requireNonNull(value, step)).get(step);
        }
        return value;
    }

    private static @Nullable Object yaml(Path file) throws IOException {
        return Yaml.parse(Files.readString(file));
    }

    private static String version() throws IOException {
        Matcher version =
                Pattern.compile("(?m)^  <version>(.*)</version>")
                        .matcher(Files.readString(ROOT.resolve("pom.xml")));
        assertThat(version.find()).isTrue();
        return version.group(1);
    }

    private Configuration load(String toml) throws IOException {
        Path file = Files.writeString(folder.resolve("walshadow.toml"), toml);
        return ConfigurationLoader.load(file, Map.of(), Map.of());
    }

    private static void assertStarts(List<?> words) {
        List<String> texts = words.stream().map(String::valueOf).toList();
        var command =
                Objects.requireNonNull(
                        Main.commandLine().getSubcommands().get(texts.getFirst()),
                        texts.getFirst());
        assertThat(command.getCommandSpec().findOption(texts.get(1))).isNotNull();
    }

    /** By the templates' names; those that come out empty are left out. */
    private static Map<String, @Nullable Object> chart(Map<String, String> changes)
            throws IOException {
        String values = Files.readString(CHART.resolve("values.yaml"));
        for (Map.Entry<String, String> change : changes.entrySet()) {
            assertThat(values).contains(change.getKey());
            values = values.replace(change.getKey(), change.getValue());
        }
        Map<String, @Nullable Object> root = new HashMap<>();
        root.put("Values", Yaml.parse(values));
        root.put("Release", Map.of("Name", "shop"));
        Map<?, ?> chart = (Map<?, ?>) Objects.requireNonNull(yaml(CHART.resolve("Chart.yaml")));
        root.put("Chart", Map.of("AppVersion", String.valueOf(chart.get("appVersion"))));
        HelmTemplate template = new HelmTemplate(root);
        Map<String, @Nullable Object> rendered = new TreeMap<>();
        try (Stream<Path> files = Files.list(CHART.resolve("templates"))) {
            for (Path file : files.toList()) {
                Object object = Yaml.parse(template.render(Files.readString(file)));
                if (object != null) {
                    rendered.put(String.valueOf(file.getFileName()), object);
                }
            }
        }
        return rendered;
    }

    @Test
    void theImageIsMadeOfTheArchiveAndStartsTheCommand() throws IOException {
        String text = Files.readString(DOCKER.resolve("Dockerfile")).replace("\\\n", " ");
        assertThat(text)
                .contains("ARG VERSION=" + version() + "\n")
                .contains("ADD walshadow-${VERSION}.tar.gz /opt/")
                .contains("ENTRYPOINT [\"/opt/walshadow/bin/walshadow\"]")
                .doesNotContain("COPY");
        assertThat(Files.readString(ROOT.resolve("scripts/dist")))
                .contains("archive=$output/walshadow-$version.tar.gz")
                .contains("\"$root/bin/walshadow\"");
        Matcher command = Pattern.compile("(?m)^CMD (\\[.*])$").matcher(text);
        assertThat(command.find()).isTrue();
        List<?> words = (List<?>) Objects.requireNonNull(Yaml.parse(command.group(1)));
        assertStarts(words);
        assertThat(at(yaml(CHART.resolve("Chart.yaml")), "appVersion")).isEqualTo(version());
    }

    @Test
    void theDemonstrationMountsWhatThereIs() throws IOException {
        Object compose = yaml(DOCKER.resolve("compose.yaml"));
        Map<?, ?> services = (Map<?, ?>) Objects.requireNonNull(at(compose, "services"));
        Map<?, ?> volumes = (Map<?, ?>) Objects.requireNonNull(at(compose, "volumes"));
        for (Object service : services.values()) {
            for (Object mount : (List<?>) Objects.requireNonNull(at(service, "volumes"))) {
                String from = mount.toString().split(":", -1)[0];
                if (from.startsWith(".")) {
                    assertThat(DOCKER.resolve(from)).exists();
                } else {
                    assertThat(volumes.containsKey(from)).as(from).isTrue();
                }
            }
        }
        String dockerfile = String.valueOf(at(services, "walshadow", "build", "dockerfile"));
        String context = String.valueOf(at(services, "walshadow", "build", "context"));
        assertThat(DOCKER.resolve(context).resolve(dockerfile).normalize()).isRegularFile();
        assertThat(String.valueOf(at(services, "source", "command"))).contains("wal_level=logical");

        Configuration configuration = load(Files.readString(DOCKER.resolve("walshadow.toml")));
        assertThat(configuration.get(Settings.SOURCE_URL)).contains("@source:5432");
        assertThat(configuration.get(Settings.CLICKHOUSE_URL)).contains("//clickhouse:8123");
        assertThat(at(services, "clickhouse", "environment", "CLICKHOUSE_PASSWORD"))
                .isEqualTo(configuration.get(Settings.CLICKHOUSE_PASSWORD));
        Object scraped = yaml(DOCKER.resolve("prometheus.yml"));
        assertThat(at(scraped, "scrape_configs", "0", "static_configs", "0", "targets", "0"))
                .isEqualTo("walshadow:9464");
        assertThat(at(yaml(DOCKER.resolve("grafana/dashboards.yaml")), "providers", "0", "options"))
                .isEqualTo(Map.of("path", "/var/lib/walshadow-dashboards"));
        assertThat(at(yaml(DOCKER.resolve("grafana/datasource.yaml")), "datasources", "0", "type"))
                .isEqualTo("prometheus");
    }

    @Test
    void theChartsSettingsExistAndItsFilesAreMounted() throws IOException {
        Map<String, @Nullable Object> chart = chart(Map.of());
        assertThat(chart)
                .containsOnlyKeys(
                        "configmap.yaml", "secret.yaml", "service.yaml", "statefulset.yaml");
        Configuration configuration =
                load(String.valueOf(at(chart, "configmap.yaml", "data", "walshadow.toml")));
        assertThat(configuration.find(Settings.HTTP_LISTEN)).isPresent();
        Object pod = at(chart, "statefulset.yaml", "spec", "template", "spec");
        Object container = at(pod, "containers", "0");
        assertStarts((List<?>) Objects.requireNonNull(at(container, "args")));

        Map<String, String> mounts = new HashMap<>();
        for (Object mount : (List<?>) Objects.requireNonNull(at(container, "volumeMounts"))) {
            mounts.put(String.valueOf(at(mount, "name")), String.valueOf(at(mount, "mountPath")));
        }
        assertThat(configuration.get(Settings.STATE_DIR).toString())
                .startsWith(mounts.get("state") + "/");
        List<String> secrets = new ArrayList<>();
        for (var setting :
                List.of(
                        Settings.SOURCE_PASSWORD_FILE,
                        Settings.CLICKHOUSE_PASSWORD_FILE,
                        Settings.HTTP_TOKEN_FILE)) {
            Path file = configuration.find(setting).orElseThrow();
            assertThat(file.toString()).startsWith(mounts.get("secret") + "/");
            secrets.add(String.valueOf(file.getFileName()));
        }
        Map<?, ?> data = (Map<?, ?>) Objects.requireNonNull(at(chart, "secret.yaml", "stringData"));
        assertThat(data.keySet()).hasToString(secrets.toString());
        assertThat(at(pod, "volumes", "1", "secret", "secretName"))
                .isEqualTo(at(chart, "secret.yaml", "metadata", "name"));
        assertThat(at(container, "image")).isEqualTo("walshadow:" + version());
        assertThat(at(container, "livenessProbe", "httpGet", "path")).isEqualTo("/healthz");
        assertThat(at(container, "readinessProbe", "httpGet", "path")).isEqualTo("/readyz");
        assertThat(at(container, "ports", "0", "containerPort"))
                .isEqualTo(at(chart, "service.yaml", "spec", "ports", "0", "port"));
        assertThat(at(chart, "service.yaml", "spec", "selector"))
                .isEqualTo(at(chart, "statefulset.yaml", "spec", "selector", "matchLabels"))
                .isEqualTo(at(chart, "statefulset.yaml", "spec", "template", "metadata", "labels"));
        assertThat(at(chart, "statefulset.yaml", "spec", "replicas")).isEqualTo("1");
    }

    @Test
    void theChartsSwitchesWork() throws IOException {
        Map<String, @Nullable Object> chart =
                chart(
                        Map.of(
                                "existingSecret: \"\"", "existingSecret: mine",
                                "enabled: false", "enabled: true",
                                "storageClass: \"\"", "storageClass: fast"));
        assertThat(chart).doesNotContainKey("secret.yaml");
        Object set = chart.get("statefulset.yaml");
        assertThat(at(set, "spec", "template", "spec", "volumes", "1", "secret", "secretName"))
                .isEqualTo("mine");
        assertThat(at(set, "spec", "volumeClaimTemplates", "0", "spec", "storageClassName"))
                .isEqualTo("fast");
        assertThat(at(chart, "servicemonitor.yaml", "spec", "endpoints", "0", "path"))
                .isEqualTo("/metrics");
    }
}
