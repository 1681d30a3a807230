package dev.walshadow.daemon.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.pipeline.mapping.Transform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ConfigurationLoaderTest {
    private static final String MINIMAL =
            """
            [source]
            url = "postgres://user:s3cret@host:5432/db"
            [clickhouse]
            url = "http://host:8123"
            [state]
            dir = "/var/lib/walshadow"
            """;

    @TempDir Path directory;

    @Test
    void minimalFileIsComplete() throws IOException {
        Configuration configuration = load(MINIMAL, Map.of(), Map.of());
        assertThat(configuration.get(Settings.SOURCE_SLOT)).isEqualTo("walshadow");
        assertThat(configuration.get(Settings.TABLES_INCLUDE)).containsExactly("*");
        assertThat(configuration.get(Settings.TABLES_EXCLUDE)).isEmpty();
        assertThat(configuration.get(Settings.BATCH_BYTES)).isEqualTo(16L << 20);
        assertThat(configuration.get(Settings.BATCH_AGE)).isEqualTo(Duration.ofMillis(100));
        assertThat(configuration.find(Settings.SHADOW_USER)).isEmpty();
    }

    @Test
    void laterLayersWin() throws IOException {
        String file = MINIMAL.replace("[clickhouse]", "slot = \"from_file\"\n[clickhouse]");
        Map<String, String> environment = Map.of("WALSHADOW_SOURCE_SLOT", "from_environment");
        assertThat(load(file, Map.of(), Map.of()).get(Settings.SOURCE_SLOT)).isEqualTo("from_file");
        assertThat(load(file, environment, Map.of()).get(Settings.SOURCE_SLOT))
                .isEqualTo("from_environment");
        Configuration configuration = load(file, environment, Map.of("--source-slot", "flag"));
        assertThat(configuration.get(Settings.SOURCE_SLOT)).isEqualTo("flag");
        assertThat(configuration.origin(Settings.SOURCE_SLOT)).contains("flag --source-slot");
    }

    @Test
    void filesBesideTheFileComeAfterItByName() throws IOException {
        Path file = directory.resolve("walshadow.toml");
        Files.writeString(
                file,
                MINIMAL + "[batch]\nrows = 1\nage = \"2s\"\n[tables.\"a.t\"]\ntable = \"x\"\n");
        Path pieces = Files.createDirectory(directory.resolve("conf.d"));
        Files.writeString(pieces.resolve("20.toml"), "# later\n[batch]\nrows = 20\n");
        Files.writeString(
                pieces.resolve("10.toml"),
                "[batch]\nrows = 10\nage = \"3s\"\n[tables.\"a.t\"]\ntable = \"y\"\n");
        Files.writeString(pieces.resolve("30.toml.off"), "no TOML");
        Files.writeString(pieces.resolve(".40.toml"), "an editor's");
        Configuration configuration = ConfigurationLoader.load(file, Map.of(), Map.of());
        assertThat(configuration.get(Settings.BATCH_ROWS)).isEqualTo(20);
        assertThat(configuration.origin(Settings.BATCH_ROWS)).contains(pieces + "/20.toml:3");
        assertThat(configuration.get(Settings.BATCH_AGE)).isEqualTo(Duration.ofSeconds(3));
        assertThat(configuration.nameRules().tables().get(new RelationName("a", "t")))
                .extracting(rule -> rule == null ? null : rule.table())
                .isEqualTo("y");
        Files.writeString(
                pieces.resolve("20.toml"), "[batch]\nrow = 1\nrows = \"many\"\n[tables]\n");
        Files.writeString(pieces.resolve("50.toml"), "[batch\n");
        assertThatThrownBy(() -> ConfigurationLoader.load(file, Map.of(), Map.of()))
                .hasMessageContaining("did you mean rows? (" + pieces + "/20.toml:2)")
                .hasMessageContaining("\"many\" is not a whole number")
                .hasMessageContaining("(" + pieces + "/20.toml:3)")
                .hasMessageContaining(pieces + "/50.toml is not valid TOML at line");
    }

    @Test
    void ofAnotherConfigurationOnlyWhatCanChangeLiveIsTaken() throws IOException {
        Configuration now = load(MINIMAL, Map.of(), Map.of());
        Configuration next =
                load(
                        MINIMAL.replace("/var/lib", "/srv")
                                + "[batch]\nrows = 7\n[schemas.a]\ndatabase = \"b\"\n",
                        Map.of("WALSHADOW_LOG_LEVEL", "debug"),
                        Map.of());
        ConfigurationChange change = ConfigurationChange.between(now, next);
        assertThat(change.live()).containsExactly(Settings.BATCH_ROWS, Settings.LOG_LEVEL);
        assertThat(change.later()).hasSize(2).contains("state.dir");
        Configuration used = now.with(change.live(), next);
        assertThat(used.get(Settings.BATCH_ROWS)).isEqualTo(7);
        assertThat(used.origin(Settings.LOG_LEVEL)).contains("environment WALSHADOW_LOG_LEVEL");
        assertThat(used.get(Settings.STATE_DIR)).isEqualTo(Path.of("/var/lib/walshadow"));
        assertThat(ConfigurationChange.between(used, used).live()).isEmpty();
        assertThat(ConfigurationChange.between(now, now).later()).isEmpty();
    }

    @Test
    void shardsTakeThePlaceOfTheUrlAndMayHaveReplicas() throws IOException {
        String file =
                MINIMAL.replaceAll(
                        "url = \"http.*",
                        "shards = [\"http://u:one@a:8123,b:8123\", \"http://u:two@c:8123/x\"]");
        Configuration configuration = load(file, Map.of(), Map.of());
        assertThat(configuration.get(Settings.CLICKHOUSE_SHARDS))
                .containsExactly("http://u:one@a:8123,b:8123", "http://u:two@c:8123/x");
        assertThat(configuration.shown(Settings.CLICKHOUSE_SHARDS))
                .isEqualTo("http://u:***@a:8123,b:8123, http://u:***@c:8123/x");
        String text = "http://a:8123,b:8123, https://c:8123";
        assertThat(
                        load(file, Map.of("WALSHADOW_CLICKHOUSE_SHARDS", text), Map.of())
                                .get(Settings.CLICKHOUSE_SHARDS))
                .containsExactly("http://a:8123,b:8123", "https://c:8123");
    }

    @Test
    void thePageNamesWhatReloadApplies() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "configuration.md"));
        int from = page.indexOf("**Applied at once:**");
        String told = page.substring(from, page.indexOf("\n\n", from));
        Set<String> keys = new TreeSet<>();
        Matcher key = Pattern.compile("`([a-z_]+\\.[a-z_]+)`").matcher(told);
        while (key.find()) {
            keys.add(key.group(1));
        }
        Set<String> live = new TreeSet<>();
        Settings.LIVE.forEach(setting -> live.add(setting.key()));
        assertThat(keys).isEqualTo(live);
    }

    @Test
    void unknownKeysAndSectionsSuggestTheNearestKnownOne() {
        String file =
                MINIMAL.replace("url = \"http", "usr = \"x\"\nurl = \"http") + "[tabels]\na = 1\n";
        assertThatThrownBy(() -> load(file, Map.of(), Map.of()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1901")
                .hasMessageContaining("unknown key [clickhouse] usr; did you mean user?")
                .hasMessageContaining("unknown section [tabels]; did you mean tables?");
    }

    @Test
    void everyFaultIsReportedAtOnceWithItsPlace() {
        String file =
                MINIMAL
                        + "[batch]\nrows = 0\nbytes = \"12 parsecs\"\nage = \"soon\"\n"
                        + "[toast]\nmode = \"magic\"\n";
        assertThatThrownBy(() -> load(file, Map.of("WALSHADOW_BATCH_ROWS", "many"), Map.of()))
                .hasMessageContaining("[batch] rows: \"0\" is not a whole number from 1")
                .hasMessageContaining("[batch] bytes: \"12 parsecs\"")
                .hasMessageContaining("[batch] age: \"soon\"")
                .hasMessageContaining(
                        "[toast] mode: \"magic\" is not one of destination, clickhouse, disabled")
                .hasMessageContaining("environment WALSHADOW_BATCH_ROWS");
    }

    @Test
    void missingRequiredSettingsAreNamedWithTheWaysToSetThem() {
        assertThatThrownBy(() -> load("", Map.of(), Map.of()))
                .hasMessageContaining("[source] url is required")
                .hasMessageContaining("[clickhouse] url is required")
                .hasMessageContaining("WALSHADOW_STATE_DIR")
                .hasMessageContaining("--state-dir");
    }

    @Test
    void brokenTomlAndMissingFileAreNamed() {
        assertThatThrownBy(() -> load("[source\nurl=1", Map.of(), Map.of()))
                .hasMessageContaining("not valid TOML");
        assertThatThrownBy(() ->
                        ConfigurationLoader.load(
                                directory.resolve("absent.toml"), Map.of(), Map.of()))
                .hasMessageContaining("does not exist");
    }

    @Test
    void secretsAreNotPrinted() {
        String file = MINIMAL.replace("postgres://", "\\u0000");
        assertThatThrownBy(() -> load(file + "[source]\n", Map.of(), Map.of()))
                .hasMessageNotContaining("s3cret");
    }

    @Test
    void documentationNamesEverySettingWithItsDefault() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "configuration.md"));
        for (Setting<?> setting : Settings.all()) {
            String fallback = setting.defaultText() == null ? "" : setting.defaultText();
            assertThat(page)
                    .contains("| `" + setting.key() + "` | " + code(fallback) + " |")
                    .contains(setting.meaning());
        }
    }

    @Test
    void documentationNamesEveryKeyOfRules() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "configuration.md"));
        for (NameRules.Key key : NameRules.keys()) {
            assertThat(page)
                    .contains(
                            "| `%s` | %s | %s | %s |"
                                    .formatted(
                                            key.key(), key.fallback(), key.meaning(), key.form()));
        }
    }

    @Test
    void rulesForNamesAndColumnsAreRead() throws IOException {
        String file =
                MINIMAL
                        + """
                        [schemas.public]
                        database = "shop"
                        [tables]
                        include = ["public.*"]
                        [tables."public.orders"]
                        table = "o"
                        [tables."public.orders".columns]
                        email = { transform = "hash" }
                        note = { transform = "constant(a)b)", name = "n" }
                        code = { type = "Int64" }
                        gone = { exclude = true }
                        [tables.'"we.ird"."a ""b""\"']
                        database = "d"
                        """;
        Configuration configuration = load(file, Map.of(), Map.of());
        NameRules rules = configuration.nameRules();
        assertThat(configuration.get(Settings.TABLES_INCLUDE)).containsExactly("public.*");
        assertThat(rules.schemas()).isEqualTo(Map.of("public", "shop"));
        assertThat(rules.hashes()).isTrue();
        TableRule orders = present(rules.tables(), new RelationName("public", "orders"));
        assertThat(orders.table()).isEqualTo("o");
        assertThat(present(orders.columns(), "note").transform())
                .isEqualTo(new Transform.Constant("a)b"));
        assertThat(present(orders.columns(), "note").name()).isEqualTo("n");
        assertThat(present(orders.columns(), "code").type()).isEqualTo(ClickHouseType.Scalar.INT64);
        assertThat(present(orders.columns(), "gone").exclude()).isTrue();
        assertThat(present(rules.tables(), new RelationName("we.ird", "a \"b\"")).database())
                .isEqualTo("d");
    }

    @Test
    void faultsInRulesAreNamedWithTheirPlace() {
        String file =
                MINIMAL
                        + """
                        [schemas.public]
                        databse = "shop"
                        [tables]
                        includ = ["x"]
                        [tables.orders]
                        table = "o"
                        [tables."public.orders"]
                        tabel = "o"
                        [tables."public.orders".columns]
                        email = { transform = "hsh" }
                        code = { type = "Integer", exclud = true }
                        gone = { exclude = "yes" }
                        """;
        assertThatThrownBy(() -> load(file, Map.of(), Map.of()))
                .hasMessageContaining(
                        "unknown key [schemas.public] databse; did you mean database?")
                .hasMessageContaining("unknown key [tables] includ; did you mean include?")
                .hasMessageContaining("[tables.orders] names no table")
                .hasMessageContaining(
                        "unknown key [tables.\"public.orders\"] tabel; did you mean table?")
                .hasMessageContaining("columns.email] transform: \"hsh\" is not hash, mask")
                .hasMessageContaining("columns.code] type: \"Integer\" is not a ClickHouse type")
                .hasMessageContaining("exclud; did you mean exclude?")
                .hasMessageContaining("columns.gone] exclude: \"yes\" is not true or false");
    }

    private static String code(String text) {
        return text.isEmpty() ? "" : "`" + text + "`";
    }

    @Test
    void listsComeAsTomlArrays() throws IOException {
        String file = MINIMAL + "[tables]\ninclude = [\"public.*\", \"shop.orders\"]\n";
        assertThat(load(file, Map.of(), Map.of()).get(Settings.TABLES_INCLUDE))
                .isEqualTo(List.of("public.*", "shop.orders"));
    }

    private Configuration load(
            String text, Map<String, String> environment, Map<String, String> flags)
            throws IOException {
        Path file = directory.resolve("walshadow.toml");
        Files.writeString(file, text);
        return ConfigurationLoader.load(file, environment, flags);
    }

    private static <K, V> V present(Map<K, V> map, K key) {
        return Objects.requireNonNull(map.get(key));
    }
}
