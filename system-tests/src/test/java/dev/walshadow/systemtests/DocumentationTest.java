package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.cli.Main;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.ParameterException;

/** What the pages tell a reader to type is what the programs understand. */
@Timeout(600)
final class DocumentationTest {
    private static final Pattern PROGRAM = Pattern.compile("^(?:\\./|bin/|/\\S*/)?walshadow (.*)$");
    private static final Pattern SPAN = Pattern.compile("`([^`\\n]+(?:\\n[^`\\n]+)?)`");

    /** Subcommands that the start script of the archive does by itself. */
    private static final List<String> OF_THE_SCRIPT = List.of("prepare", "shape <digest> 1/2");

    @TempDir private Path folder;

    /** A command line without comment, brackets of what may be left out, and dots of repetition. */
    private static String[] words(String line) {
        return line.replaceAll("\\s#.*$", "")
                .replaceAll("\\.\\.\\.(?=\\s|]|$)", "")
                .replaceAll("(?<=\\s)\\[|](?=\\s|$)", "")
                .replaceAll("\"[^\"]*\"", "TEXT")
                .replaceAll("^ctl COMMAND", "ctl status")
                .strip()
                .split("\\s+");
    }

    /** The commands that stand within the text, {@code walshadow add TABLE...}. */
    private static List<String> mentioned(String page) {
        List<String> mentioned = new ArrayList<>();
        Matcher span = SPAN.matcher(page.replaceAll("(?ms)^```.*?^```$", ""));
        while (span.find()) {
            String text = span.group(1).replace('\n', ' ');
            Matcher program = PROGRAM.matcher(text);
            if (text.startsWith("ctl ")) {
                mentioned.add(text);
            } else if (program.matches() && !OF_THE_SCRIPT.contains(program.group(1))) {
                mentioned.add(program.group(1));
            }
        }
        return mentioned;
    }

    private static List<String> printed(String page) {
        return Documentation.blocks(page, "sh").stream()
                .flatMap(block -> Documentation.commands(block).stream())
                .map(PROGRAM::matcher)
                .filter(Matcher::matches)
                .map(program -> program.group(1))
                .toList();
    }

    @Test
    void everyPrintedCommandLineIsCompleteAndUnderstood() throws Exception {
        int seen = 0;
        for (Path page : Documentation.pages()) {
            for (String line : printed(Files.readString(page))) {
                assertThat(faultOf(line, false)).as("%s: %s", page, line).isEmpty();
                seen++;
            }
        }
        assertThat(seen).isGreaterThan(30);
    }

    /** Options that are needed may be left out there, nothing may be wrong. */
    @Test
    void everyMentionedCommandIsUnderstood() throws Exception {
        int seen = 0;
        for (Path page : Documentation.pages()) {
            for (String line : mentioned(Files.readString(page))) {
                assertThat(faultOf(line, true)).as("%s: %s", page, line).isEmpty();
                seen++;
            }
        }
        assertThat(seen).isGreaterThan(40);
    }

    private static String faultOf(String line, boolean mayMiss) {
        CommandLine main = Main.commandLine();
        try {
            main.parseArgs(words(line));
            return "";
        } catch (MissingParameterException e) {
            List<String> unknown = e.getCommandLine().getUnmatchedArguments();
            return mayMiss && unknown.isEmpty() ? "" : e.getMessage() + " " + unknown;
        } catch (ParameterException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** A block that leaves out what is required gets it from the shortest one. */
    @Test
    void everyConfigurationIsAccepted() throws Exception {
        int seen = 0;
        for (Path page : Documentation.pages()) {
            for (String block : Documentation.blocks(Files.readString(page), "toml")) {
                Path file = folder.resolve("walshadow-" + seen + ".toml");
                Files.writeString(file, block);
                ConfigurationLoader.load(file, Map.of(), required(block));
                seen++;
            }
        }
        assertThat(seen).isGreaterThanOrEqualTo(6);
    }

    private static Map<String, String> required(String block) {
        Map<String, String> flags = new HashMap<>(Map.of("--state-dir", "/var/lib/walshadow"));
        if (!block.contains("[source]\nurl")) {
            flags.put("--source-url", "postgres://walshadow@db.example:5432/shop");
        }
        if (!block.contains("[clickhouse]\nurl")) {
            flags.put("--clickhouse-url", "http://clickhouse.example:8123");
        }
        return flags;
    }

    private static List<String> statements() throws IOException {
        List<String> statements = new ArrayList<>();
        for (Path page : Documentation.pages()) {
            String text = Files.readString(page);
            for (String block : Documentation.blocks(text, "sql")) {
                Stream.of(block.split(";"))
                        .map(String::strip)
                        .filter(statement -> !statement.isEmpty())
                        .forEach(statements::add);
            }
            Matcher span = SPAN.matcher(text.replaceAll("(?ms)^```.*?^```$", ""));
            while (span.find()) {
                if (span.group(1).startsWith("SELECT ")) {
                    statements.add(span.group(1));
                }
            }
        }
        return statements;
    }

    /**
     * What reads with FINAL, or as ClickHouse writes it, is ClickHouse's, the rest the source's.
     */
    @Test
    void everyStatementIsExecuted() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.execute(
                    "CREATE SCHEMA shop",
                    "CREATE TABLE shop.orders (id int PRIMARY KEY, state text)",
                    "CREATE TABLE public.orders (id int PRIMARY KEY, state text)",
                    "CREATE SEQUENCE public.orders_id_seq",
                    "INSERT INTO public.orders VALUES (41, 'new'), (42, 'paid')",
                    "INSERT INTO shop.orders VALUES (1, 'new'), (2, 'paid'), (3, 'new')",
                    "DELETE FROM shop.orders WHERE id = 1",
                    "CREATE TABLE shop.event (id int PRIMARY KEY, state text)",
                    "INSERT INTO shop.event VALUES (1, 'new'), (2, 'new')");
            installation.configure(
                    "[tables]\nviews = \"{database}.{table}_current\"\nappend ="
                            + " [\"shop.event\"]\n");
            installation.configure("source", "signals = [\"watermark\"]");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("UPDATE shop.event SET state = 'paid'");
            assertThat(installation.verify().reason()).isEmpty();
            awaitMarkersAndSequences(installation);
            int asked = 0;
            int ofHistory = 0;
            for (String statement : statements()) {
                if (statement.contains("shop.event")) {
                    assertThat(installation.target().query(statement).lines())
                            .as(statement)
                            .hasSize(statement.contains("FINAL") ? 2 : 1);
                    ofHistory++;
                } else if (statement.contains("FINAL") || statement.contains("orders_current")) {
                    installation.target().query(statement);
                    asked++;
                } else if (!statement.equals("SELECT")) {
                    installation.execute(statement);
                }
            }
            assertThat(asked).isGreaterThanOrEqualTo(5);
            assertThat(ofHistory).isEqualTo(2);
            assertThat(installation.target().query("SELECT * FROM shop.open_orders"))
                    .isEqualTo("3\n");
            assertThat(installation.target().query("SELECT count() FROM shop.orders_current"))
                    .isEqualTo("2\n");
        }
    }

    /** The first of them makes their table. */
    private static void awaitMarkersAndSequences(Installation installation) throws SQLException {
        installation.execute("SELECT pg_logical_emit_message(false, 'walshadow', 'watermark a')");
        String tables =
                "SELECT count() FROM system.tables WHERE name IN ('markers'," + " '_sequences')";
        installation.await(
                "a marker and a sequence are written",
                () -> installation.target().query(tables).strip().equals("2"));
    }
}
