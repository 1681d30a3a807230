package dev.walshadow.testkit;

import dev.walshadow.base.FileTree;
import dev.walshadow.base.RetryException;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.daemon.verify.VerifyProgress;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A source, a ClickHouse and the daemon as a process of its own, all in one temporary directory.
 * Each of them can be killed and started again. {@code -Dwalshadow.shards=N}: N ClickHouse, which
 * are shards, for tests that look at what is in ClickHouse by {@link #verify} only; for those also
 * {@code -Dwalshadow.append=true}: all tables keep every version.
 */
public final class Installation implements AutoCloseable {
    /** For every wait; a machine under load is slow. {@code -Dwalshadow.patience=SECONDS}. */
    public static final Duration PATIENCE =
            Duration.ofSeconds(Integer.getInteger("walshadow.patience", 180));

    private static final long POLL_NANOS = 10_000_000;

    private final Path directory;
    private final EmbeddedPostgres source;
    private final List<EmbeddedClickHouse> targets;
    private final Path configurationFile;
    private final Map<String, String> environment = new HashMap<>();
    private @Nullable Process daemon;

    private Installation(Path directory, EmbeddedPostgres source, List<EmbeddedClickHouse> targets)
            throws IOException {
        this.directory = directory;
        this.source = source;
        this.targets = targets;
        this.configurationFile = directory.resolve("walshadow.toml");
        String text =
                """
                [source]
                url = "%s"

                [clickhouse]
                %s

                [state]
                dir = "%s"
                """
                        .formatted(source.url("postgres"), address(targets), state());
        if (Boolean.getBoolean("walshadow.append")) {
            text += "\n[tables]\nappend = [\"*\"]\n";
        }
        Files.writeString(configurationFile, text);
    }

    private static String address(List<EmbeddedClickHouse> targets) {
        return targets.size() == 1
                ? "url = \"" + targets.getFirst().url() + "\""
                : targets.stream()
                        .map(target -> "\"" + target.url() + "\"")
                        .collect(Collectors.joining(", ", "shards = [", "]"));
    }

    /** Both servers run, the daemon does not yet. */
    public static Installation start(int major) {
        return start(major, source -> source);
    }

    /**
     * @param settings what the source has besides its defaults
     */
    public static Installation start(int major, UnaryOperator<EmbeddedPostgres.Builder> settings) {
        return start(major, settings, Integer.getInteger("walshadow.shards", 1));
    }

    /** Several ClickHouse are shards. */
    public static Installation startSharded(int major, int shards) {
        return start(major, source -> source, shards);
    }

    private static Installation start(
            int major, UnaryOperator<EmbeddedPostgres.Builder> settings, int shards) {
        try {
            Path directory = Files.createTempDirectory("walshadow-test");
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
            EmbeddedPostgres source =
                    settings.apply(EmbeddedPostgres.at(directory.resolve("source")).version(major))
                            .start();
            List<EmbeddedClickHouse> targets = new ArrayList<>();
            for (int i = 1; i <= shards; i++) {
                targets.add(
                        EmbeddedClickHouse.start(
                                directory.resolve("clickhouse" + (i == 1 ? "" : i))));
            }
            return new Installation(directory, source, targets);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public EmbeddedPostgres source() {
        return source;
    }

    /** The only ClickHouse, or the first shard. */
    public EmbeddedClickHouse target() {
        return targets.getFirst();
    }

    /** Every shard. */
    public List<EmbeddedClickHouse> targets() {
        return targets;
    }

    /** The daemon's state directory. */
    public Path state() {
        return directory.resolve("state");
    }

    /** A folder of its own for what a test runs beside, gone at {@link #close}. */
    public Path folder(String name) {
        return UnprivilegedUser.createDirectory(directory.resolve(name));
    }

    public Path configurationFile() {
        return configurationFile;
    }

    /** Sets a variable of the environment for the daemon's next start. */
    public void environment(String name, String value) {
        environment.put(name, value);
    }

    /** Adds lines to the configuration file. */
    public void configure(String more) {
        try {
            Files.writeString(configurationFile, "\n" + more, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Configuration configuration() {
        return ConfigurationLoader.load(configurationFile, Map.of(), Map.of());
    }

    /** Changes the configuration file's text, for the daemon's next start. */
    public void configure(UnaryOperator<String> change) {
        try {
            Files.writeString(configurationFile, change.apply(Files.readString(configurationFile)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A new session on the source. */
    public Connection session() throws SQLException {
        return DriverManager.getConnection(source.jdbcUrl("postgres"));
    }

    /** A new session on a database of the source. */
    public Connection session(String database) throws SQLException {
        return DriverManager.getConnection(source.jdbcUrl(database));
    }

    /** Sets a key of the configuration, {@code key = value}, for the daemon's next start. */
    public void configure(String section, String line) {
        String heading = "[" + section + "]\n";
        String key = line.substring(0, line.indexOf('=')).strip();
        try {
            String text =
                    Files.readString(configurationFile).replaceAll("(?m)^" + key + " *=.*\\n", "");
            Files.writeString(
                    configurationFile,
                    text.contains(heading)
                            ? text.replace(heading, heading + line + "\n")
                            : text + "\n" + heading + line + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Statements one by one on a database of the source. */
    public void executeIn(String database, String... statements) throws SQLException {
        try (Connection session = session(database);
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    public void execute(String... statements) throws SQLException {
        execute(List.of(statements));
    }

    public void execute(List<String> statements) throws SQLException {
        try (Connection session = session();
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** Starts the daemon's process; returns when it answers. */
    public void startDaemon() {
        Process started = launch("run");
        daemon = started;
        await(
                "the daemon answers",
                () -> {
                    if (!started.isAlive()) {
                        throw new IllegalStateException(
                                "the daemon ended with "
                                        + started.exitValue()
                                        + ":\n"
                                        + endOfLog());
                    }
                    return progress().has("received");
                });
    }

    /** Starts the daemon's process without waiting for an answer. */
    public void launchDaemon() {
        daemon = launch("run");
    }

    /** Starts the daemon's process; true when it answers, false when it has ended instead. */
    public boolean startsDaemon() {
        Process started = launch("run");
        await("the daemon answers or ends", () -> !started.isAlive() || progress().has("received"));
        daemon = started;
        return started.isAlive();
    }

    /** Waits until the daemon's process has ended by itself. Returns its exit code. */
    public int awaitDaemonEnd() throws InterruptedException {
        Process ending = daemon;
        if (ending == null || !ending.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            throw new IllegalStateException("the daemon goes on; status " + status());
        }
        daemon = null;
        return ending.exitValue();
    }

    /** Stops the daemon as a service manager does. Returns its exit code. */
    public int stopDaemon() throws InterruptedException {
        Process running = daemon;
        if (running != null) {
            running.destroy();
        }
        return awaitDaemonEnd();
    }

    /** Kills the daemon's process with signal 9. */
    public void killDaemon() throws InterruptedException {
        Process running = daemon;
        if (running != null) {
            running.destroyForcibly();
            running.waitFor();
            daemon = null;
        }
    }

    /** Sends the daemon a signal, {@code HUP}. */
    public void signalDaemon(String name) throws InterruptedException {
        Process running = daemon;
        if (running == null) {
            throw new IllegalStateException("no daemon runs");
        }
        try {
            new ProcessBuilder("kill", "-" + name, Long.toString(running.pid()))
                    .inheritIO()
                    .start()
                    .waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether a line of the daemon's log has this text. */
    public boolean logged(String text) {
        try (Stream<String> lines = Files.lines(log())) {
            return lines.anyMatch(line -> line.contains(text));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until a table has been loaded anew, as {@code walshadow resync} asks for. */
    public void resync(String table) throws InterruptedException {
        long before = loads(table);
        CommandResult result = command("resync", table);
        if (result.exitCode() != 0) {
            throw new IllegalStateException(result.output());
        }
        await(table + " is loaded anew", () -> loads(table) > before);
    }

    /** Waits until all these tables have been loaded anew, asked for at once. */
    public void resyncAll(List<String> tables) {
        resyncAll(tables, tables);
    }

    /**
     * The same where the rows of partitioned tables are loaded.
     *
     * @param loaded the tables that are read: partitions instead of their partitioned tables
     */
    public void resyncAll(List<String> tables, List<String> loaded) {
        Map<String, Long> before =
                loaded.stream().collect(Collectors.toMap(table -> table, this::loads));
        ObjectNode request = ControlClient.request("resync");
        ArrayNode names = request.putArray("tables");
        tables.forEach(names::add);
        ControlClient.send(StateDirectory.controlSocket(state()), request);
        before.forEach(
                (table, loads) -> await(table + " is loaded anew", () -> loads(table) > loads));
    }

    /** How often the log says that a load of the table was finished. */
    private long loads(String table) {
        try (Stream<String> lines = Files.lines(log())) {
            return lines.filter(line -> line.contains(table + " is loaded: ")).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills the shadow's postmaster with signal 9. Returns its pid. */
    public long killShadow() {
        long pid = progress().path("shadow").path("pid").asLong(0);
        ProcessHandle.of(pid)
                .orElseThrow(() -> new IllegalStateException("no shadow runs as " + pid))
                .destroyForcibly();
        return pid;
    }

    /** What {@code walshadow status --json} prints; empty while no daemon answers. */
    public JsonNode status() {
        return ask(ControlClient.request("status"));
    }

    /** The same without its tables, to be asked for again and again. */
    public JsonNode progress() {
        return ask(ControlClient.request("status").put("tables", false));
    }

    private JsonNode ask(ObjectNode request) {
        try {
            return ControlClient.send(StateDirectory.controlSocket(state()), request);
        } catch (RetryException e) {
            return ControlClient.request("none");
        }
    }

    /** Waits until the initial load is done. */
    public void awaitStreaming() {
        await(
                "the initial load is done",
                () -> progress().path("phase").asString("").equals("streaming"));
    }

    /**
     * Waits until ClickHouse has been sent inserts that it has not answered, and the daemon holds
     * batches that are not acknowledged. Returns the number of those inserts.
     */
    public long awaitSentNotAcknowledged() {
        long[] between = new long[1];
        await(
                "an insert is on its way",
                () -> {
                    boolean held = progress().path("held_bytes").asLong(0) > 0;
                    EmbeddedClickHouse.InsertCounts counts = target().insertCounts();
                    between[0] = counts.started() - counts.answered();
                    return held && between[0] > 0;
                });
        return between[0];
    }

    /** Waits for a condition; says what it waited for, and the daemon's last words, if in vain. */
    public void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            Process running = daemon;
            if (running != null && !running.isAlive()) {
                throw new IllegalStateException(
                        "the daemon has ended while waiting until " + what + ":\n" + endOfLog());
            }
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException(
                        "waited in vain until "
                                + what
                                + "; status "
                                + status()
                                + "\n"
                                + endOfLog());
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /** Until all that is committed on the source is durable, by the daemon's status. */
    public void awaitDurable() throws SQLException {
        long position = Lsn.parse(Sql.ask(source, "SELECT pg_current_wal_lsn()"));
        await(
                "everything is durable",
                () -> {
                    String durable = progress().path("durable").asString("");
                    return !durable.isEmpty() && Lsn.parse(durable) >= position;
                });
    }

    /** Compares all rows of all tables; every wait inside has this test's patience. */
    public Verification.Outcome verify() throws InterruptedException, SQLException {
        return compare(configuration());
    }

    /** The same with this server for the source. */
    public Verification.Outcome verify(EmbeddedPostgres server)
            throws InterruptedException, SQLException {
        return compare(
                ConfigurationLoader.load(
                        configurationFile,
                        Map.of(),
                        Map.of("--source-mode", "stream", "--source-url", server.url("postgres"))));
    }

    private Verification.Outcome compare(Configuration of)
            throws InterruptedException, SQLException {
        try {
            return Verification.of(of, PATIENCE).run(null, VerifyProgress.NONE);
        } catch (RetryException e) {
            throw new IllegalStateException(e.getMessage() + "\n" + endOfLog(), e);
        }
    }

    /**
     * Runs another command of the product against this installation.
     *
     * @param name its words, {@code ctl pause}
     */
    public CommandResult command(String name, String... options) throws InterruptedException {
        try {
            Path output = Files.createTempFile(directory, "command", ".out");
            Process process =
                    new ProcessBuilder(commandLine(name, options))
                            .redirectErrorStream(true)
                            .redirectOutput(output.toFile())
                            .start();
            int code = process.waitFor();
            return new CommandResult(code, Files.readString(output));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** VmHWM of the daemon's process, in kB. */
    public long peakMemory() throws IOException {
        long most = 0;
        for (ProcessHandle child : ProcessHandle.current().children().toList()) {
            Path status = Path.of("/proc/" + child.pid() + "/status");
            String command = Files.readString(Path.of("/proc/" + child.pid() + "/cmdline"));
            if (command.contains("dev.walshadow.cli.Main\0run")) {
                for (String line : Files.readAllLines(status)) {
                    if (line.startsWith("VmHWM:")) {
                        most = Math.max(most, Long.parseLong(line.replaceAll("[^0-9]", "")));
                    }
                }
            }
        }
        return most;
    }

    /** What a command printed, and its exit code. */
    public record CommandResult(int exitCode, String output) {}

    private Process launch(String command) {
        try {
            ProcessBuilder process =
                    new ProcessBuilder(commandLine(command))
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()));
            process.environment().putAll(environment);
            return process.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> commandLine(String command, String... options) {
        List<String> line =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Xmx640m",
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "--enable-native-access=ALL-UNNAMED",
                                "--sun-misc-unsafe-memory-access=allow",
                                "-cp",
                                System.getProperty("java.class.path"),
                                "dev.walshadow.cli.Main"));
        line.addAll(List.of(command.split(" ")));
        line.add("--config");
        line.add(configurationFile.toString());
        line.addAll(List.of(options));
        return line;
    }

    /** Where all runs of the daemon write. */
    public Path log() {
        return directory.resolve("walshadow.log");
    }

    private String endOfLog() {
        try {
            List<String> lines = Files.readAllLines(log());
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size()));
        } catch (IOException e) {
            return "(no log: " + e + ")";
        }
    }

    /** Ends everything and removes the directory, unless -Dwalshadow.keep=true. */
    @Override
    public void close() {
        Process running = daemon;
        if (running != null) {
            running.destroy();
            try {
                running.waitFor();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        source.stopImmediate();
        targets.forEach(EmbeddedClickHouse::kill);
        if (Boolean.getBoolean("walshadow.keep")) {
            return;
        }
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
