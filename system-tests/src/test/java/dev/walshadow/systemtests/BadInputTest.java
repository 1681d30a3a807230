package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.cli.Main;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code run} says to bad input: the code, exit code 2, and nothing was changed. */
final class BadInputTest {
    private static final boolean ROOT = "root".equals(System.getProperty("user.name"));

    @TempDir private static Path folder;
    private static EmbeddedPostgres postgres;
    private static EmbeddedClickHouse clickhouse;
    private static int cases;

    /**
     * What a command said.
     *
     * @param before what there was in ClickHouse and in the state directories
     * @param after the same, afterwards
     */
    private record Said(int exitCode, String text, String before, String after) {}

    @BeforeAll
    static void start() throws Exception {
        // the shadow's user must be able to enter a state directory
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        postgres = EmbeddedPostgres.at(folder.resolve("source")).version(17).start();
        clickhouse = EmbeddedClickHouse.start(folder.resolve("target"));
        source(
                "CREATE TABLE orders (id int PRIMARY KEY, note text)",
                "INSERT INTO orders VALUES (1, 'one')",
                "CREATE ROLE asked LOGIN REPLICATION PASSWORD 'right'",
                "GRANT pg_read_all_data TO asked");
        Path access = postgres.dataDirectory().resolve("pg_hba.conf");
        Files.writeString(
                access,
                "host all,replication asked 127.0.0.1/32 scram-sha-256\n"
                        + Files.readString(access));
        source("SELECT pg_reload_conf()");
    }

    @AfterAll
    static void stop() {
        clickhouse.close();
        postgres.close();
    }

    @Test
    void aMissingFileAndUnknownKeys() throws Exception {
        refused(
                execute("run", "--config", folder.resolve("none.toml").toString()),
                "WS-1901",
                "does not exist");
        Path file = folder.resolve("keys.toml");
        Files.writeString(file, "[source]\nurll = \"x\"\n[batch]\nrows = \"many\"\n");
        refused(
                execute("run", "--config", file.toString()),
                "WS-1901",
                "did you mean url?",
                "\"many\"");
    }

    @Test
    void aWrongPasswordAndThePasswordFile() throws Exception {
        String url = postgres.url("postgres").replace("postgres@", "asked:wrong@");
        refused(run(url, clickhouse.url(), ""), "WS-1404");
        Path secret = Files.writeString(folder.resolve("secret"), "right\n");
        Path file = file(url, clickhouse.url(), state(), "[tables]\ninclude = [\"public.none\"]\n");
        Said said =
                execute(
                        "run",
                        "--config",
                        file.toString(),
                        "--source-password-file",
                        secret.toString());
        refused(said, "WS-1907");
        assertThat(said.text()).doesNotContain("WS-1404");
    }

    @Test
    void severalFaultsOfSettingsAreToldTogether() throws Exception {
        Path file = folder.resolve("several.toml");
        Files.writeString(
                file,
                """
                [source]
                url = "postgres://postgres@127.0.0.1:99999/postgres"
                slot = "Not-A-Slot"
                [clickhouse]
                url = "http://127.0.0.1:2"
                [shadow]
                user = "nobody-has-this-name"
                [state]
                dir = "%s"
                """
                        .formatted(state()));
        refused(
                execute("run", "--config", file.toString()),
                "found",
                "99999",
                "Not-A-Slot",
                "WS-1201",
                ROOT ? "nobody-has-this-name" : "WS-1400");
    }

    @Test
    void valuesOfTheWrongKindAreToldTogether() throws Exception {
        Path file = folder.resolve("kinds.toml");
        Files.writeString(
                file,
                """
                [source]
                url = ["a", "b"]
                slot = { name = "x" }
                status_interval = -1
                [batch]
                rows = -5
                bytes = "12XB"
                [tables]
                include = [["nested"]]
                [tables."public.orders"]
                table = ["x"]
                """);
        refused(
                execute("run", "--config", file.toString()),
                "WS-1901",
                "[source] url",
                "[source] slot",
                "[source] status_interval",
                "[batch] rows",
                "[batch] bytes",
                "[tables] include",
                "[tables.\"public.orders\"] table");
    }

    @Test
    void aCommandLineThatIsWrongIsOneLine() {
        for (String[] arguments :
                new String[][] {
                    {"runn"},
                    {"run"},
                    {"status", "--confg", "x"},
                    {"wait", "--config", "x", "--timeout", "soon"},
                    {"verify", "--config", "x", "--nothing"},
                    {"postgres", "--dir", "x", "--port", "many"},
                    {"demo", "--postgres", "14"},
                    {"wal", "inspect"},
                    {"resync", "--config", "x"},
                }) {
            Said said = execute(arguments);
            assertThat(said.exitCode()).as(said.text()).isEqualTo(2);
            assertThat(said.text().strip().lines()).as(said.text()).hasSize(1);
            assertThat(said.text()).startsWith("WS-1930").contains("--help");
        }
    }

    @Test
    void unreachableServersAreToldTogether() throws Exception {
        refused(
                run("postgres://postgres@127.0.0.1:1/x", "http://127.0.0.1:2", ""),
                "WS-1401",
                "WS-1201",
                "found 2 faults");
    }

    @Test
    void anUnknownTableAndANonEmptyTarget() throws Exception {
        clickhouse.query("CREATE DATABASE public");
        clickhouse.query("CREATE TABLE public.orders (id Int32) ENGINE = MergeTree ORDER BY id");
        clickhouse.query("INSERT INTO public.orders VALUES (7)");
        try {
            refused(
                    run(
                            postgres.url("postgres"),
                            clickhouse.url(),
                            "[tables]\ninclude = [\"public.orders\", \"public.none\"]\n"),
                    "WS-1907",
                    "public.none",
                    "WS-1705",
                    "public.orders");
            assertThat(clickhouse.query("SELECT count() FROM public.orders").strip())
                    .isEqualTo("1");
        } finally {
            clickhouse.query("DROP DATABASE public");
        }
    }

    @Test
    void clickHouseWithoutLoginOrRights() throws Exception {
        clickhouse.requireLogin("default", "");
        try {
            String wrong = clickhouse.url().replace("//", "//somebody:se%63ret@");
            refused(run(postgres.url("postgres"), wrong, ""), "WS-1203", "516");
        } finally {
            clickhouse.requireLogin(null, null);
        }
        clickhouse.deny("CREATE");
        try {
            refused(run(postgres.url("postgres"), clickhouse.url(), ""), "WS-1203", "497");
        } finally {
            clickhouse.deny("");
        }
    }

    @Test
    void aStateDirectoryInUseForeignOrTorn() throws Exception {
        Path used = state();
        try (StateDirectory held = StateDirectory.open(used)) {
            refused(runIn(used), "WS-1902", held.root().toString());
        }
        Path other = state();
        StateDirectory.open(other).close();
        manifest(42).write(other.resolve("manifest.toml"));
        refused(runIn(other), "WS-1903", "system identifier 42");
        Files.writeString(other.resolve("manifest.toml"), "version = 1\nsystem_ident");
        refused(runIn(other), "WS-1904", "manifest.toml");
        Path unknown = state();
        Files.createDirectories(unknown.resolve("archive"));
        Path precious = Files.writeString(unknown.resolve("archive").resolve("mine"), "precious");
        refused(runIn(unknown), "WS-1903");
        assertThat(precious).hasContent("precious");
    }

    @Test
    void aSlotThatIsGoneAndALowWalLevel() throws Exception {
        Path state = state();
        StateDirectory.open(state).close();
        String identifier = ask("SELECT system_identifier FROM pg_control_system()");
        manifest(Long.parseUnsignedLong(identifier)).write(state.resolve("manifest.toml"));
        postgres.setting("wal_level", "replica");
        postgres.restart();
        try {
            refused(runIn(state), "WS-1911", "wal_level", "WS-1913", "walshadow");
        } finally {
            postgres.setting("wal_level", "logical");
            postgres.restart();
        }
    }

    private static Manifest manifest(long systemIdentifier) {
        long at = 1L << 24;
        return new Manifest(systemIdentifier, 1, 1, 16 << 20, at, at, at, at, 0);
    }

    private static void refused(Said said, String... wanted) throws Exception {
        assertThat(said.text()).contains(wanted).doesNotContain("\tat ");
        assertThat(said.exitCode()).as(said.text()).isEqualTo(2);
        assertThat(said.after()).as(said.text()).isEqualTo(said.before());
        assertThat(ask("SELECT count(*) FROM pg_replication_slots")).isEqualTo("0");
    }

    private static Path state() {
        return folder.resolve("state" + cases++);
    }

    private static Said runIn(Path state) throws Exception {
        Path file = file(postgres.url("postgres"), clickhouse.url(), state, "");
        return execute("run", "--config", file.toString());
    }

    private static Said run(String source, String target, String more) throws Exception {
        return execute("run", "--config", file(source, target, state(), more).toString());
    }

    private static Path file(String source, String target, Path state, String more)
            throws Exception {
        return Files.writeString(
                folder.resolve("config" + cases++ + ".toml"),
                """
                [source]
                url = "%s"
                [clickhouse]
                url = "%s"
                [state]
                dir = "%s"
                %s
                """
                        .formatted(source, target, state, more));
    }

    private static Said execute(String... arguments) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text, true);
        String before = everything();
        int exitCode = Main.commandLine().setOut(out).setErr(out).execute(arguments);
        return new Said(exitCode, text.toString(), before, everything());
    }

    /** Every table of ClickHouse, every file of the state directories but the lock's content. */
    private static String everything() {
        StringBuilder all = new StringBuilder();
        try {
            all.append(clickhouse.query("SHOW DATABASES"));
            all.append(
                    clickhouse.query(
                            "SELECT database, name, total_rows FROM system.tables WHERE database"
                                + " NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')"
                                + " ORDER BY ALL"));
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.filter(BadInputTest::isState).sorted().toList()) {
                    all.append(folder.relativize(file));
                    if (Files.isRegularFile(file) && !file.endsWith("lock")) {
                        all.append(' ').append(Arrays.hashCode(Files.readAllBytes(file)));
                    }
                    all.append('\n');
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return all.toString();
    }

    private static boolean isState(Path file) {
        return folder.relativize(file).toString().startsWith("state");
    }

    private static void source(String... statements) throws Exception {
        try (Connection session = DriverManager.getConnection(postgres.jdbcUrl("postgres"));
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static String ask(String sql) throws Exception {
        try (Connection session = DriverManager.getConnection(postgres.jdbcUrl("postgres"));
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            assertThat(row.next()).isTrue();
            return row.getString(1);
        }
    }
}
