package dev.walshadow.benchmarks;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.RetryException;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code ./walshadow run} as a child, with the memory and options that it has everywhere. */
final class DaemonProcess implements AutoCloseable {
    private final Process process;
    private final Path state;
    private final Path log;
    private final Thread atExit;

    private DaemonProcess(Process process, Path state, Path log) {
        this.process = process;
        this.state = state;
        this.log = log;
        this.atExit = new Thread(process::destroy, "end the daemon");
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /**
     * @param state the state directory that {@code config} names
     * @param log gets everything that it says, after what is there already
     */
    static DaemonProcess start(Path config, Path state, Path log) {
        return start(root().resolve("walshadow"), Map.of(), config, state, log);
    }

    /** The checkout. */
    static Path root() {
        return Path.of(System.getProperty("walshadow.root", "."));
    }

    /** The same of another start script, with more in its environment. */
    static DaemonProcess start(
            Path command, Map<String, String> environment, Path config, Path state, Path log) {
        ProcessBuilder builder =
                new ProcessBuilder(command.toString(), "run", "--config", config.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment().putAll(environment);
        try {
            return new DaemonProcess(builder.start(), state, log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The launcher becomes the JVM, so this is the JVM's. */
    long pid() {
        return process.pid();
    }

    /** Waits until what is committed on the source now is in ClickHouse. */
    void awaitAll(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        ObjectNode request = ControlClient.request("wait").put("timeout_millis", limit.toMillis());
        Backoff backoff = new Backoff(100);
        while (true) {
            requireAlive();
            try {
                JsonNode answer = ControlClient.send(StateDirectory.controlSocket(state), request);
                if (!answer.path("durable").asBoolean(false)) {
                    throw new IllegalStateException("not in ClickHouse in time: " + answer);
                }
                return;
            } catch (RetryException e) {
                if (System.nanoTime() - deadline > 0) {
                    throw e;
                }
                backoff.pause();
            }
        }
    }

    JsonNode status() {
        return ControlClient.send(
                StateDirectory.controlSocket(state), ControlClient.request("status"));
    }

    void requireAlive() {
        if (!process.isAlive()) {
            String said;
            try {
                said = Files.readString(log);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            throw new IllegalStateException(
                    "the daemon ended with exit code " + process.exitValue() + ":\n" + said);
        }
    }

    /** Stops it as SIGTERM does. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException("the daemon did not end within 60 s");
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().removeShutdownHook(atExit);
    }
}
