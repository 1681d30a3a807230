package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.embedded.engine.EngineServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A real ClickHouse engine as a child process that speaks ClickHouse's HTTP interface, its data
 * kept between runs. It has one user, {@code default} without a password, and takes any other.
 *
 * <p>The process ends with this JVM, also when the JVM is killed. Under the directory given: {@code
 * data/}, {@code clickhouse.log}, {@code lock}. Thread safe.
 */
public final class EmbeddedClickHouse implements AutoCloseable {
    private static final Duration STOP_LIMIT = Duration.ofSeconds(30);

    private final Path directory;

    /** A new one for every start: the connections of the old one lead nowhere. */
    private volatile HttpClient http = HttpClient.newHttpClient();

    private int port;
    private @Nullable Process process;

    private EmbeddedClickHouse(Path directory, int port) {
        this.directory = directory.toAbsolutePath().normalize();
        this.port = port;
    }

    /** On a free port of 127.0.0.1, started. */
    public static EmbeddedClickHouse start(Path directory) {
        EmbeddedClickHouse server = at(directory, 0);
        server.start();
        return server;
    }

    /** Not started yet; port 0 takes a free one and keeps it. */
    public static EmbeddedClickHouse at(Path directory, int port) {
        return new EmbeddedClickHouse(directory, port);
    }

    /** Starts the process and returns when it answers. */
    public synchronized void start() {
        if (isRunning()) {
            return;
        }
        ChdbLibrary.find();
        if (port == 0) {
            port = FreePort.next();
        }
        try {
            Files.createDirectories(directory);
            Process started = launch();
            awaitReady(started);
            process = started;
            http.shutdownNow();
            http = HttpClient.newHttpClient();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Stops cleanly; the data stays. */
    public synchronized void stop() {
        Process running = process;
        if (running == null) {
            return;
        }
        running.destroy();
        if (!waitFor(running)) {
            running.destroyForcibly();
            waitFor(running);
        }
        process = null;
    }

    /** Kills the process with signal 9; the data stays. */
    public synchronized void kill() {
        Process running = process;
        if (running == null) {
            return;
        }
        running.destroyForcibly();
        waitFor(running);
        process = null;
    }

    /** Stops and starts again, on the same port. */
    public synchronized void restart() {
        stop();
        start();
    }

    @Override
    public void close() {
        stop();
        http.shutdownNow();
    }

    public synchronized boolean isRunning() {
        return process != null && process.isAlive();
    }

    public synchronized int port() {
        return port;
    }

    public String url() {
        return "http://127.0.0.1:" + port();
    }

    public synchronized long pid() {
        if (process == null) {
            throw new IllegalStateException("ClickHouse in " + directory + " is not started");
        }
        return process.pid();
    }

    public Path directory() {
        return directory;
    }

    /**
     * Runs a statement over HTTP and returns its text, TabSeparated unless it says otherwise.
     *
     * @throws RetryException with the server's message when it fails
     */
    public String query(String statement) {
        HttpResponse<String> response = post("/?wait_end_of_query=1", statement);
        if (response.statusCode() != 200) {
            throw new RetryException(EmbeddedCodes.ENGINE_FAILED, response.body().strip());
        }
        return response.body();
    }

    /** Every request must carry this login, others get 516; null, null lets everybody in again. */
    public void requireLogin(@Nullable String user, @Nullable String password) {
        switchTo("login=" + (user == null ? "" : user + ":" + password));
    }

    /** Statements that match this regular expression get 497; an empty one denies nothing. */
    public void deny(String statements) {
        switchTo("deny=" + statements);
    }

    /**
     * Statements that match this regular expression are answered with this exception code and not
     * run; with an empty one they work again.
     */
    public void failStatements(String statements, int code) {
        switchTo("fail-code=" + code + "\nfail=" + statements);
    }

    /** The next inserts are answered with this exception code and not run. */
    public void refuseInserts(int count, int code) {
        switchTo("refuse-code=" + code + "\nrefuse=" + count);
    }

    /** The next inserts are read and thrown away, the connection dropped without an answer. */
    public void dropInsertsBeforeCommit(int count) {
        switchTo("drop-before=" + count);
    }

    /** The next inserts are committed, then the connection is dropped without an answer. */
    public void dropInsertsAfterCommit(int count) {
        switchTo("drop-after=" + count);
    }

    /** Every insert waits so long between its last byte and its commit. */
    public void delayInserts(Duration delay) {
        switchTo("delay-millis=" + delay.toMillis());
    }

    /** How many inserts have arrived, were committed, were answered since the start. */
    public InsertCounts insertCounts() {
        String text = switchTo("");
        return new InsertCounts(
                count(text, "inserts-started="),
                count(text, "inserts-committed="),
                count(text, "inserts-answered="));
    }

    /** Inserts since the start of the process: started >= committed >= answered. */
    public record InsertCounts(long started, long committed, long answered) {}

    private static long count(String text, String name) {
        int start = text.indexOf(name) + name.length();
        return Long.parseLong(text.substring(start, text.indexOf('\n', start)));
    }

    private String switchTo(String lines) {
        HttpResponse<String> response = post("/walshadow/switches", lines);
        if (response.statusCode() != 200) {
            throw new IllegalArgumentException(response.body());
        }
        return response.body();
    }

    private HttpResponse<String> post(String path, String body) {
        try {
            return http.send(
                    HttpRequest.newBuilder(URI.create(url() + path))
                            .POST(HttpRequest.BodyPublishers.ofString(body))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new RetryException(
                    EmbeddedCodes.ENGINE_FAILED, "ClickHouse at " + url() + " is gone: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for ClickHouse", e);
        }
    }

    private Process launch() throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Xmx256m");
        command.add("-XX:+UseSerialGC");
        command.add("-XX:TieredStopAtLevel=1");
        command.add("--enable-native-access=ALL-UNNAMED");
        for (String property : List.of("walshadow.libchdb", "walshadow.cache")) {
            String value = System.getProperty(property);
            if (value != null) {
                command.add("-D" + property + "=" + value);
            }
        }
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(EngineServer.class.getName());
        command.addAll(List.of("--dir", directory.toString()));
        command.addAll(List.of("--port", Integer.toString(port), "--switches"));
        return new ProcessBuilder(ParentWatch.detached(command))
                .redirectError(ProcessBuilder.Redirect.appendTo(logFile().toFile()))
                .start();
    }

    private void awaitReady(Process started) throws IOException {
        BufferedReader output =
                new BufferedReader(
                        new java.io.InputStreamReader(
                                started.getInputStream(), StandardCharsets.UTF_8));
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.startsWith("ready ")) {
                drain(output);
                return;
            }
        }
        started.destroyForcibly();
        waitFor(started);
        throw new ConfigurationException(
                EmbeddedCodes.START_FAILED,
                "the ClickHouse engine in "
                        + directory
                        + " does not start. The end of "
                        + logFile()
                        + ":\n"
                        + endOfLog());
    }

    /** Nothing more is expected; but a full pipe must never stop the child. */
    private static void drain(BufferedReader output) {
        Thread.ofVirtual()
                .name("clickhouse-output")
                .start(() -> {
                    try {
                        while (output.readLine() != null) {
                            // Discarded.
                        }
                    } catch (IOException e) {
                        // The process has ended.
                    }
                });
    }

    private Path logFile() {
        return directory.resolve("clickhouse.log");
    }

    private String endOfLog() throws IOException {
        List<String> lines = Files.readAllLines(logFile());
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 15), lines.size()));
    }

    private static boolean waitFor(Process running) {
        try {
            return running.waitFor(STOP_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while ClickHouse stops", e);
        }
    }
}
