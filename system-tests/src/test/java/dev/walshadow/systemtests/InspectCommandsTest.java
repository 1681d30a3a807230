package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.cli.Main;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The commands that only look: at a running installation, and at real WAL. */
final class InspectCommandsTest {
    private static final String CANARY = "only in user rows";

    @TempDir private static Path folder;
    private static Installation installation;

    private record Said(int exitCode, String text) {}

    @BeforeAll
    static void start() throws Exception {
        installation = Installation.start(17);
        installation.execute(
                "CREATE TABLE orders (id int PRIMARY KEY, note text, amount numeric(8,2))",
                "INSERT INTO orders SELECT i, '" + CANARY + "', i FROM generate_series(1, 9) i",
                "CREATE UNLOGGED TABLE scratch (id int PRIMARY KEY)");
        installation.startDaemon();
        installation.awaitStreaming();
        installation.execute(
                "INSERT INTO orders VALUES (10, '" + CANARY + "', 1)",
                "CREATE TABLE later (code text PRIMARY KEY)",
                "SELECT pg_switch_wal()",
                "INSERT INTO later VALUES ('" + CANARY + "')",
                "CREATE TABLE last (id bigint PRIMARY KEY)",
                "SELECT pg_switch_wal()",
                "INSERT INTO orders VALUES (11, '" + CANARY + "', 1)");
        // says 1 since the unlogged table is held back
        assertThat(execute("wait", "--config", configuration()).text()).contains("public.scratch");
    }

    @AfterAll
    static void stop() {
        installation.close();
    }

    @Test
    void schemaShowsBothSidesOfEveryTable() {
        Said said = execute("schema", "--config", configuration());
        assertThat(said.exitCode()).as(said.text()).isZero();
        assertThat(said.text())
                .contains("public.orders (database postgres, OID ")
                .contains("-> public.orders: live")
                .contains("public.scratch (database postgres, OID ")
                .containsPattern("nowhere: held, .*unlogged")
                .containsPattern("\\* id +int4 +-> id +Int32")
                .containsPattern("  amount +numeric \\(typmod \\d+\\) +-> amount +Nullable.Decimal")
                .contains("ReplacingMergeTree(_version, _is_deleted) ORDER BY")
                .contains("_version")
                .doesNotContain("no daemon is running");
    }

    @Test
    void schemaPrintsOneJsonObject() {
        Said said = execute("schema", "--config", configuration(), "--json");
        JsonNode root = new JsonMapper().readTree(said.text());
        assertThat(root.path("running").asBoolean(false)).isTrue();
        for (JsonNode table : root.path("tables")) {
            if (table.path("source").asString("").equals("public.orders")) {
                JsonNode id = table.path("columns").path(0);
                assertThat(id.path("source").asString("")).isEqualTo("id");
                assertThat(id.path("mapped_type").asString("")).isEqualTo("Int32");
                assertThat(id.path("target_type").asString("")).isEqualTo("Int32");
                assertThat(id.path("key").asBoolean(false)).isTrue();
                return;
            }
        }
        assertThat(said.text()).as("has orders").isEmpty();
    }

    @Test
    void descLogTellsTheHistoryOfATable() {
        Said all = execute("desc-log", "--config", configuration());
        assertThat(all.exitCode()).as(all.text()).isZero();
        assertThat(all.text())
                .containsPattern(
                        "\\d+/[0-9A-F]+ +public.orders .OID \\d+, relkind r, database postgres."
                                + " +known from")
                .containsPattern(
                        "\\d+/[0-9A-F]+ +public.later .OID \\d+, relkind r, database postgres."
                                + " +created")
                .contains("id int4, note text, amount numeric (typmod ")
                .contains("; key id");
        Said one =
                execute(
                        "desc-log",
                        "--state",
                        installation.state().toString(),
                        "--table",
                        "public.later");
        assertThat(one.text()).contains("code text; key code").doesNotContain("public.orders");
        refused(execute("desc-log", "--state", folder.toString()), "WS-1905");
    }

    @Test
    void walFilterWritesWhatTheShadowGot() throws Exception {
        List<Path> segments = segments();
        assertThat(segments).hasSizeGreaterThanOrEqualTo(2);
        Path archive = installation.state().resolve("archive");
        Path state = archive.resolve(segments.getFirst().getFileName() + ".state");
        Path output = folder.resolve("exact");
        Said said =
                execute(
                        "wal",
                        "filter",
                        segments.get(0).toString(),
                        segments.get(1).toString(),
                        "--state",
                        state.toString(),
                        "--output",
                        output.toString());
        assertThat(said.exitCode()).as(said.text()).isZero();
        for (Path segment : segments.subList(0, 2)) {
            Path name = segment.getFileName();
            assertThat(output.resolve(name)).hasSameBinaryContentAs(archive.resolve(name));
        }
        long records =
                inspected(segments.get(0), state)
                        + inspected(
                                segments.get(1),
                                archive.resolve(segments.get(1).getFileName() + ".state"));
        Matcher total = Pattern.compile("total +(\\d+) +\\d+ +\\d+ +(\\d+) ").matcher(said.text());
        assertThat(total.find()).as(said.text()).isTrue();
        assertThat(Long.parseLong(total.group(1)) + Long.parseLong(total.group(2)))
                .isEqualTo(records);
        assertThat(said.text()).containsPattern("Heap +\\d+").contains("filtered up to ");
    }

    /** Records of a segment, read to its end; one that goes on in the next belongs to this. */
    private static long inspected(Path segment, Path state) {
        Said said = execute("wal", "inspect", segment.toString(), "--state", state.toString());
        assertThat(said.exitCode()).as(said.text()).isZero();
        Matcher records = Pattern.compile("(\\d+) records, ").matcher(said.text());
        assertThat(records.find()).isTrue();
        assertThat(said.text()).contains("rmgr: Transaction").contains("desc: COMMIT");
        return Long.parseLong(records.group(1));
    }

    @Test
    void walFilterWithoutStateKeepsNoUserRow() throws Exception {
        List<Path> segments = segments();
        Path output = folder.resolve("blank");
        Said said =
                execute(
                        "wal",
                        "filter",
                        segments.get(1).toString(),
                        segments.get(0).toString(),
                        "--output",
                        output.toString());
        assertThat(said.exitCode()).as(said.text()).isZero();
        for (Path segment : segments.subList(0, 2)) {
            assertThat(text(segment)).contains(CANARY);
            assertThat(text(output.resolve(segment.getFileName()))).doesNotContain(CANARY);
        }
        refused(
                execute(
                        "wal",
                        "filter",
                        segments.get(0).toString(),
                        "--output",
                        String.valueOf(segments.get(0).getParent())),
                "WS-1458",
                "Nothing was changed");
    }

    @Test
    void walFilterNamesDamageAndGaps() throws Exception {
        List<Path> segments = segments();
        byte[] bytes = Files.readAllBytes(segments.get(0));
        int at = text(segments.get(0)).indexOf(CANARY);
        bytes[at] ^= 1;
        Path damaged = folder.resolve(segments.get(0).getFileName());
        Files.write(damaged, bytes);
        Said said =
                execute(
                        "wal",
                        "filter",
                        damaged.toString(),
                        "--output",
                        folder.resolve("damaged").toString());
        assertThat(said.text()).contains("WS-1102");
        assertThat(said.exitCode()).isEqualTo(3);
        assertThat(execute("wal", "inspect", damaged.toString()).exitCode()).isEqualTo(3);
        Path none = Files.writeString(folder.resolve("none"), "no WAL");
        Said other = execute("wal", "filter", none.toString(), "--output", folder + "/none.out");
        assertThat(other.text()).contains("WS-1101");
        assertThat(other.exitCode()).isEqualTo(3);
    }

    /** Complete ones of the source that the archive has, too. */
    private static List<Path> segments() throws Exception {
        Path wal = installation.source().dataDirectory().resolve("pg_wal");
        Path archive = installation.state().resolve("archive");
        try (Stream<Path> files = Files.list(archive)) {
            return files.filter(file -> file.getFileName().toString().matches("[0-9A-F]{24}"))
                    .map(file -> wal.resolve(file.getFileName()))
                    .filter(Files::exists)
                    .filter(InspectCommandsTest::hasCanary)
                    .sorted()
                    .toList();
        }
    }

    private static boolean hasCanary(Path file) {
        return text(file).contains(CANARY);
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void refused(Said said, String... wanted) {
        assertThat(said.text()).contains(wanted).doesNotContain("\tat ");
        assertThat(said.exitCode()).isEqualTo(2);
    }

    private static String configuration() {
        return installation.configurationFile().toString();
    }

    private static Said execute(String... arguments) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text, true);
        int exitCode = Main.commandLine().setOut(out).setErr(out).execute(arguments);
        return new Said(exitCode, text.toString());
    }
}
