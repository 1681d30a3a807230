package dev.walshadow.shadow;

import dev.walshadow.base.RetryException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One run of the shadow's postmaster, from its start to its end. */
final class ServerProcess {
    private static final Logger LOG = LoggerFactory.getLogger(ServerProcess.class);
    private static final Duration FAST_LIMIT = Duration.ofSeconds(60);
    private static final Duration IMMEDIATE_LIMIT = Duration.ofSeconds(10);

    private final Process process;
    private final Path dataDirectory;
    private final ServerLog log;
    private final long logStart;

    private ServerProcess(Process process, Path dataDirectory, ServerLog log, long logStart) {
        this.process = process;
        this.dataDirectory = dataDirectory;
        this.log = log;
        this.logStart = logStart;
    }

    /**
     * Starts a server in a session of its own, so that a Ctrl-C at the daemon's terminal reaches
     * only the daemon, which then stops it in order.
     */
    static ServerProcess start(
            Path binDirectory,
            Path dataDirectory,
            ServerUser user,
            ServerLog log,
            @Nullable Path locales)
            throws IOException {
        List<String> command = new ArrayList<>();
        if (SystemCommands.find("setsid").isPresent()) {
            command.add("setsid");
        }
        command.addAll(
                user.command(
                        List.of(
                                binDirectory.resolve("postgres").toString(),
                                "-D",
                                dataDirectory.toString())));
        ProcessBuilder builder = new ProcessBuilder(command).directory(Path.of("/").toFile());
        builder.environment()
                .keySet()
                .removeIf(name -> name.startsWith("PG") || name.startsWith("LC_"));
        builder.environment().remove("LANG");
        builder.environment().put("LC_ALL", "C");
        if (locales != null) {
            builder.environment().put("LOCPATH", locales.toString());
        }
        long logStart = log.size();
        Process process =
                builder.redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.file().toFile()))
                        .start();
        return new ServerProcess(process, dataDirectory, log, logStart);
    }

    /**
     * Stops a server that a killed daemon left on this data directory; removes a stale pid file.
     */
    static void endOrphan(Path dataDirectory) throws IOException, InterruptedException {
        PostmasterFile file = PostmasterFile.read(dataDirectory);
        Optional<ProcessHandle> orphan =
                file == null ? Optional.empty() : file.server(dataDirectory);
        if (orphan.isPresent()) {
            LOG.info(
                    "stopping the shadow server (pid {}) that an earlier daemon left in {}",
                    orphan.get().pid(),
                    dataDirectory);
            end(orphan.get(), dataDirectory);
        }
        Files.deleteIfExists(PostmasterFile.path(dataDirectory));
    }

    private static void end(ProcessHandle server, Path dataDirectory) throws InterruptedException {
        for (String signal : List.of("INT", "QUIT", "KILL")) {
            SystemCommands.signal(signal, server.pid());
            Duration limit = signal.equals("INT") ? FAST_LIMIT : IMMEDIATE_LIMIT;
            if (awaitExit(server, limit)) {
                return;
            }
            LOG.warn(
                    "the shadow server (pid {}) in {} did not end {} s after SIG{}",
                    server.pid(),
                    dataDirectory,
                    limit.toSeconds(),
                    signal);
        }
        throw new RetryException(
                ShadowCodes.FOREIGN_POSTMASTER,
                "the server process "
                        + server.pid()
                        + " in "
                        + dataDirectory
                        + " does not end, not even by kill -9; end it by hand");
    }

    private static boolean awaitExit(ProcessHandle server, Duration limit)
            throws InterruptedException {
        try {
            server.onExit().get(limit.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    /** The server itself, which is not the started process where {@code su} is in front of it. */
    private Optional<ProcessHandle> server() {
        PostmasterFile file = PostmasterFile.read(dataDirectory);
        if (file == null || file.pid() == process.pid()) {
            return Optional.of(process.toHandle()).filter(ProcessHandle::isAlive);
        }
        return process.descendants().filter(child -> child.pid() == file.pid()).findFirst();
    }

    boolean alive() {
        return process.isAlive();
    }

    /** 0 when it has ended. */
    long pid() {
        return server().map(ProcessHandle::pid).orElse(0L);
    }

    boolean acceptsConnections() {
        PostmasterFile file = PostmasterFile.read(dataDirectory);
        return file != null && file.acceptsConnections() && file.pid() == pid();
    }

    /** True when it ended within the time. */
    boolean awaitEnd(long millis) throws InterruptedException {
        return process.waitFor(millis, TimeUnit.MILLISECONDS);
    }

    /** Fast shutdown, harder where that does not end it. */
    void stop() throws InterruptedException {
        Optional<ProcessHandle> server = server();
        if (server.isPresent()) {
            end(server.get(), dataDirectory);
        }
        process.waitFor();
    }

    void signal(String name) {
        server().ifPresent(server -> SystemCommands.signal(name, server.pid()));
    }

    /** Why it ended, for people. */
    String obituary() {
        return "PostgreSQL in "
                + dataDirectory
                + " ended with "
                + process.exitValue()
                + "; the end of "
                + log.file()
                + ":\n"
                + log.end(logStart);
    }
}
