package dev.walshadow.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.config.Setting;
import dev.walshadow.daemon.config.Settings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code init} and {@code config show}; what commands say where no daemon runs. */
final class ConfigurationCommandsTest {
    @TempDir private Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        CommandLine main = Main.commandLine();
        main.setOut(new PrintWriter(out));
        main.setErr(new PrintWriter(err));
        return main.execute(arguments);
    }

    private int init(Path file) {
        return run(
                "init",
                "--output",
                file.toString(),
                "--source-url",
                "postgres://ws:p\"w\\d@db:5432/shop",
                "--clickhouse-url",
                "http://ch:8123",
                "--tables-exclude",
                "public.log, audit.*");
    }

    /** The first word decides by it which command is made. */
    @Test
    void eachCommandIsKnownByTheNameOfItsAnnotation() {
        Main.commandLine()
                .getSubcommands()
                .forEach((name, command) -> {
                    Command told = command.getCommand().getClass().getAnnotation(Command.class);
                    assertThat(told.name()).isEqualTo(name);
                });
    }

    @Test
    void initWritesWhatWasGivenAndTellsEverySetting() throws IOException {
        Path file = directory.resolve("w.toml");
        assertThat(init(file)).as(err.toString()).isZero();
        assertThat(out.toString()).contains("walshadow check --config " + file);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        Configuration loaded = ConfigurationLoader.load(file, Map.of(), Map.of());
        assertThat(loaded.get(Settings.SOURCE_URL)).isEqualTo("postgres://ws:p\"w\\d@db:5432/shop");
        assertThat(loaded.get(Settings.TABLES_EXCLUDE)).isEqualTo(List.of("public.log", "audit.*"));
        assertThat(loaded.get(Settings.HTTP_LISTEN).getHostString()).isEqualTo("127.0.0.1");
        assertThat(loaded.origin(Settings.BATCH_ROWS)).contains("default");
        String text = Files.readString(file);
        for (Setting<?> setting : Settings.all()) {
            assertThat(text).containsPattern("(?m)^(# )?" + setting.name() + " = ");
        }
        assertThat(text.lines().mapToInt(String::length).max().orElse(0)).isLessThan(200);
    }

    @Test
    void whatInitCommentsOutIsTheDefault() throws IOException {
        Path file = directory.resolve("w.toml");
        init(file);
        Path uncommented = directory.resolve("all.toml");
        Files.writeString(
                uncommented,
                Files.readString(file).replaceAll("(?m)^# ([a-z_]+ = (?!\"\"$).*)$", "$1"));
        Configuration all = ConfigurationLoader.load(uncommented, Map.of(), Map.of());
        Configuration defaults = ConfigurationLoader.load(file, Map.of(), Map.of());
        for (Setting<?> setting : Settings.all()) {
            assertThat(all.find(setting)).as(setting.key()).isEqualTo(defaults.find(setting));
        }
    }

    @Test
    void waitSaysThatNoDaemonRunsBeforeItHasTimedOutAndAfterwards() {
        Path file = directory.resolve("w.toml");
        init(file);
        Path state = directory.resolve("state");
        int code =
                run("wait", "--config", file.toString(), "--state-dir", "" + state, "--timeout=1s");
        assertThat(code).isEqualTo(1);
        String answers = "no walshadow answers on " + state;
        assertThat(err.toString())
                .containsSubsequence(answers, "waiting for it", "timed out after 1 s", answers);
    }

    @Test
    void initOverwritesNothingAndNamesWhatIsMissing() throws IOException {
        Path file = directory.resolve("w.toml");
        Files.writeString(file, "mine");
        assertThat(init(file)).isEqualTo(2);
        assertThat(err.toString()).contains("WS-1945").contains(file + " exists");
        assertThat(Files.readString(file)).isEqualTo("mine");
        Path other = directory.resolve("other.toml");
        assertThat(run("init", "--output", other.toString(), "--source-url", "postgres://a/b"))
                .isEqualTo(2);
        assertThat(err.toString()).contains("--clickhouse-url");
        assertThat(other).doesNotExist();
    }

    @Test
    void initLeavesNoFileThatCannotBeLoaded() {
        Path file = directory.resolve("w.toml");
        int code =
                run(
                        "init",
                        "--output",
                        file.toString(),
                        "--source-url",
                        "postgres://a/b",
                        "--clickhouse-url",
                        "http://ch:8123",
                        "--batch-rows",
                        "many");
        assertThat(code).isEqualTo(2);
        assertThat(err.toString()).contains("[batch] rows: \"many\"");
        assertThat(file).doesNotExist();
    }

    @Test
    void anySettingCanBeSetOnTheCommandLine() throws IOException {
        Path file = directory.resolve("w.toml");
        init(file);
        String[] show = {"config", "show", "--config", file.toString(), "--set"};
        assertThat(run(with(show, "batch.rows=7", "--set", "tables.include=a.*, b"))).isZero();
        assertThat(out.toString())
                .containsPattern("batch.rows +7 +flag --batch-rows")
                .containsPattern("tables.include +a.\\*, b +flag --tables-include");
        assertThat(run(with(show, "batch.row=7"))).isEqualTo(2);
        assertThat(err.toString()).contains("batch.row").contains("did you mean batch.rows?");
        assertThat(run(with(show, "batch.rows"))).isEqualTo(2);
        assertThat(run(with(show, "batch.rows=1", "--batch-rows", "2"))).isEqualTo(2);
        assertThat(err.toString()).contains("batch.rows is set twice");
        assertThat(run(with(show, "batch.rows=many"))).isEqualTo(2);
        assertThat(err.toString()).contains("WS-1901").contains("flag --batch-rows");
    }

    private static String[] with(String[] some, String... more) {
        return Stream.concat(Arrays.stream(some), Arrays.stream(more)).toArray(String[]::new);
    }

    @Test
    void configShowTellsValuesWithTheirOriginAndNoSecret() throws IOException {
        Path file = directory.resolve("w.toml");
        Files.writeString(
                file,
                """
                [source]
                url = "postgres://ws:hidden@db:5432/shop?sslpassword=hidden&sslmode=require"
                [clickhouse]
                url = "http://me:hidden@ch:8123"
                password = "hidden"
                [state]
                dir = "/s"
                [batch]
                age = "1500ms"
                """);
        String[] arguments = {
            "config", "show", "--config", file.toString(), "--memory-batches", "67108864"
        };
        assertThat(run(arguments)).as(err.toString()).isZero();
        assertThat(out.toString())
                .doesNotContain("hidden")
                .containsPattern(
                        "source.url +postgres://ws:\\*\\*\\*@db:5432/shop\\?sslpassword="
                                + "\\*\\*\\*&sslmode=require +"
                                + file)
                .containsPattern("clickhouse.password +\\*\\*\\* +" + file)
                .containsPattern("batch.age +1500ms +" + file)
                .containsPattern("memory.batches +64MB +flag --memory-batches")
                .containsPattern("memory.transactions +128MB +default")
                .containsPattern("source.password_file +unset");
    }
}
