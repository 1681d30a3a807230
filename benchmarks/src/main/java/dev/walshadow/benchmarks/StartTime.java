package dev.walshadow.benchmarks;

import dev.walshadow.embedded.FreePort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * From the start of {@code walshadow run} to {@code /readyz} answering 200: the archive that {@code
 * scripts/dist} makes, unpacked and prepared, on a state directory whose initial load is done. With
 * and without the cache of classes, in turns.
 */
final class StartTime {
    private static final int ROUNDS = 7;
    private static final long POLL_NANOS = Duration.ofMillis(2).toNanos();
    private static final long PATIENCE_NANOS = Duration.ofMinutes(1).toNanos();

    private final Stand stand;
    private final Path command;
    private final int port = FreePort.next();

    private StartTime(Stand stand) throws IOException, InterruptedException {
        this.stand = stand;
        stand.configure("\n[http]\nlisten = \"127.0.0.1:" + port + "\"\n");
        Path out = stand.folder().resolve("dist");
        run(DaemonProcess.root().resolve("scripts/dist").toString(), "--output", out.toString());
        Path archive = only(out);
        run("tar", "-xzf", archive.toString(), "-C", out.toString());
        Files.delete(archive);
        this.command = only(out).resolve("bin/walshadow");
        run(command.toString(), "prepare");
    }

    static List<Figure> measure(int major) throws SQLException, InterruptedException {
        try (Stand stand = Stand.start(major)) {
            StartTime starts = new StartTime(stand);
            stand.attach().close();
            starts.seconds("on"); // unpacks the shadow's PostgreSQL
            double[] cached = new double[ROUNDS];
            double[] plain = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                cached[round] = starts.seconds("on");
                plain[round] = starts.seconds("off");
            }
            return List.of(
                    Figure.of("start to ready, median of " + ROUNDS, median(cached), "s").atMost(1),
                    Figure.of("start to ready without the cache", median(plain), "s"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private double seconds(String withCache) throws IOException {
        Map<String, String> environment =
                Map.of("WALSHADOW_CACHE", cache(), "WALSHADOW_AOT", withCache);
        long started = System.nanoTime();
        try (DaemonProcess daemon = stand.startDaemon(command, environment)) {
            while (!isReady()) {
                daemon.requireAlive();
                if (System.nanoTime() - started > PATIENCE_NANOS) {
                    throw new IllegalStateException("not ready within a minute");
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
            return (System.nanoTime() - started) / 1e9;
        }
    }

    private boolean isReady() throws IOException {
        URI page = URI.create("http://127.0.0.1:" + port + "/readyz");
        HttpURLConnection connection = (HttpURLConnection) page.toURL().openConnection();
        try {
            return connection.getResponseCode() == HttpURLConnection.HTTP_OK;
        } catch (ConnectException e) {
            return false; // it does not listen yet
        } finally {
            connection.disconnect();
        }
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    private void run(String... words) throws IOException, InterruptedException {
        ProcessBuilder process =
                new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(toLog());
        process.environment().put("WALSHADOW_CACHE", cache());
        int code = process.start().waitFor();
        if (code != 0) {
            throw new IllegalStateException(String.join(" ", words) + " ended with " + code);
        }
    }

    private ProcessBuilder.Redirect toLog() {
        return ProcessBuilder.Redirect.appendTo(stand.folder().resolve("dist.log").toFile());
    }

    private String cache() {
        return stand.folder().resolve("cache").toString();
    }

    private static Path only(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.findFirst().orElseThrow();
        }
    }
}
