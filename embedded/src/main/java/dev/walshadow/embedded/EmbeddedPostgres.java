package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A real PostgreSQL server as a child process, its data kept between runs.
 *
 * <p>Role {@code postgres}, trust on loopback and on the Unix socket, {@code wal_level = logical},
 * UTF8, {@code C.UTF-8}, UTC. Under the directory given: {@code data/} (the cluster), {@code
 * postgres.log}, {@code lock}. When this process is root the server runs as {@link
 * UnprivilegedUser}; a data directory below a folder that this user cannot traverse is reached
 * through an open descriptor.
 *
 * <p>The server stops with this JVM: cleanly by {@link #close}, like a crash when the JVM is
 * killed. Either way the next {@link #start} recovers. Thread safe.
 */
public final class EmbeddedPostgres implements AutoCloseable {
    private static final Duration START_LIMIT = Duration.ofMinutes(5);
    private static final Duration STOP_LIMIT = Duration.ofMinutes(2);

    private final PostgresDirectory directory;
    private final int version;
    private final List<String> initdbOptions;
    private final Map<String, String> settings;
    private final Path binDirectory;
    private int port;
    private @Nullable Running running;

    private record Running(Process process, long pid, ParentWatch watch, DirectoryLock lock) {}

    private EmbeddedPostgres(Builder builder) {
        this.directory = new PostgresDirectory(builder.directory);
        this.version = builder.version;
        this.port = builder.port;
        this.initdbOptions = List.copyOf(builder.initdbOptions);
        this.settings = new TreeMap<>(builder.settings);
        this.binDirectory = EmbeddedPostgresBinaries.unpack(version);
    }

    /** A server whose files live in {@code directory} (made if missing). */
    public static Builder at(Path directory) {
        return new Builder(directory);
    }

    /** What a server is made of; {@link #start()} or {@link #build()} ends it. */
    public static final class Builder {
        private final Path directory;
        private final Map<String, String> settings = new TreeMap<>();
        private final List<String> initdbOptions = new ArrayList<>();
        private int version = EmbeddedPostgresBinaries.NEWEST;
        private int port;

        private Builder(Path directory) {
            this.directory = directory.toAbsolutePath().normalize();
        }

        /** Major version, 15 to 18 (the default). */
        public Builder version(int major) {
            this.version = major;
            return this;
        }

        /** TCP port on 127.0.0.1; 0 (the default) takes a free one and keeps it. */
        public Builder port(int port) {
            this.port = port;
            return this;
        }

        /** A line of postgresql.conf; overrides the defaults of this class. */
        public Builder setting(String name, String value) {
            settings.put(name, value);
            return this;
        }

        /** An option for the first {@code initdb}, for example {@code --data-checksums}. */
        public Builder initdbOption(String option) {
            initdbOptions.add(option);
            return this;
        }

        /** Not started yet. */
        public EmbeddedPostgres build() {
            return new EmbeddedPostgres(this);
        }

        /** Built and started. */
        public EmbeddedPostgres start() {
            EmbeddedPostgres server = build();
            server.start();
            return server;
        }
    }

    /**
     * Creates the cluster if there is none, starts the server and returns when it accepts
     * connections. A server that a killed JVM left behind on this directory is stopped first.
     *
     * @throws ConfigurationException if another process uses the directory, or it holds another
     *     major version
     * @throws RetryException if the server does not come up; the message carries the end of its log
     */
    public synchronized void start() {
        if (running != null && running.process.isAlive()) {
            return;
        }
        release();
        DirectoryLock lock = DirectoryLock.take(directory.lockFile());
        boolean started = false;
        try {
            directory.endLeftovers();
            if (!directory.exists()) {
                initialise();
            }
            directory.requireVersion(version);
            if (port == 0) {
                port = FreePort.next();
            }
            directory.writeSettings(effectiveSettings());
            Process process = launch();
            long pid = awaitReady(process);
            running = new Running(process, pid, ParentWatch.over(pid, "QUIT"), lock);
            started = true;
        } finally {
            if (!started) {
                directory.deleteSockets();
                lock.close();
            }
        }
    }

    /** Stops fast: transactions are rolled back, a shutdown checkpoint is written. */
    public synchronized void stop() {
        end("INT");
    }

    /** Stops like a crash of the server, without a checkpoint; the next start recovers. */
    public synchronized void stopImmediate() {
        end("QUIT");
    }

    /** Kills the postmaster with signal 9 and waits until its children have gone, too. */
    public synchronized void kill() {
        end("KILL");
    }

    /** Stops fast and starts again, on the same port. */
    public synchronized void restart() {
        stop();
        start();
    }

    /** Stops fast; the data stays. */
    @Override
    public void close() {
        stop();
    }

    public synchronized boolean isRunning() {
        return running != null && running.process.isAlive();
    }

    /** Waits for the server's end; true if it ended by itself, false if it was stopped here. */
    public boolean awaitExit() throws InterruptedException {
        Process process;
        synchronized (this) {
            process = requireRunning().process;
        }
        process.waitFor();
        synchronized (this) {
            return running != null && running.process.equals(process);
        }
    }

    /** Changes a setting for the next start. */
    public synchronized void setting(String name, String value) {
        settings.put(name, value);
    }

    public int version() {
        return version;
    }

    /** The TCP port; 0 before the first start of a server that takes a free one. */
    public synchronized int port() {
        return port;
    }

    /** The postmaster's pid. */
    public synchronized long pid() {
        return requireRunning().pid;
    }

    public String jdbcUrl(String database) {
        return "jdbc:postgresql://127.0.0.1:" + port() + "/" + database + "?user=postgres";
    }

    /** The form that libpq and walshadow's configuration take. */
    public String url(String database) {
        return "postgres://postgres@127.0.0.1:" + port() + "/" + database;
    }

    public Path dataDirectory() {
        return directory.data();
    }

    /** The directory of the Unix socket: a short path, whatever the length of the data's. */
    public Path socketDirectory() {
        return directory.sockets();
    }

    public Path binDirectory() {
        return binDirectory;
    }

    public Path logFile() {
        return directory.logFile();
    }

    private void initialise() {
        Path fresh = directory.freshData();
        List<String> options = new ArrayList<>();
        options.addAll(List.of("-U", "postgres", "-A", "trust", "-E", "UTF8"));
        options.addAll(List.of("--locale=C.UTF-8", "--no-sync", "--no-instructions"));
        options.addAll(initdbOptions);
        List<String> command = directory.command(binDirectory.resolve("initdb"), fresh, options);
        SystemCommands.Result result =
                SystemCommands.run(inCleanEnvironment(new ProcessBuilder(command)));
        if (result.exitCode() != 0) {
            throw new RetryException(
                    EmbeddedCodes.START_FAILED,
                    "initdb of PostgreSQL "
                            + version
                            + " in "
                            + fresh
                            + " ended with "
                            + result.exitCode()
                            + ": "
                            + result.output().strip());
        }
        directory.includeSettings(fresh);
        try {
            Files.move(fresh, directory.data(), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Map<String, String> effectiveSettings() {
        Map<String, String> effective = new TreeMap<>();
        effective.put("listen_addresses", "127.0.0.1");
        effective.put("port", Integer.toString(port));
        effective.put("unix_socket_directories", directory.sockets().toString());
        effective.put("wal_level", "logical");
        effective.put("max_connections", "100");
        effective.put("max_wal_senders", "20");
        effective.put("max_replication_slots", "20");
        effective.put("max_prepared_transactions", "20");
        effective.put("timezone", "UTC");
        effective.put("log_timezone", "UTC");
        effective.put("log_line_prefix", "%m [%p] ");
        effective.putAll(settings);
        return effective;
    }

    private Process launch() {
        List<String> command =
                directory.command(binDirectory.resolve("postgres"), directory.data(), List.of());
        ProcessBuilder builder = new ProcessBuilder(ParentWatch.detached(command));
        try {
            return inCleanEnvironment(builder)
                    .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.logFile().toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ProcessBuilder inCleanEnvironment(ProcessBuilder builder) {
        builder.directory(Path.of("/").toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("PG"));
        builder.environment().keySet().removeIf(name -> name.startsWith("LC_"));
        builder.environment().put("LC_ALL", "C.UTF-8");
        return builder;
    }

    private long awaitReady(Process process) {
        long deadline = System.nanoTime() + START_LIMIT.toNanos();
        while (true) {
            PostmasterPid file = PostmasterPid.read(directory.data());
            if (file != null && file.ready() && isOf(process, file.pid())) {
                return file.pid();
            }
            boolean ended = waitFor(process, 10);
            if (ended || System.nanoTime() - deadline > 0) {
                if (!ended) {
                    process.destroyForcibly();
                }
                throw new RetryException(
                        EmbeddedCodes.START_FAILED,
                        "PostgreSQL "
                                + version
                                + " in "
                                + directory.data()
                                + (ended
                                        ? " ended with " + process.exitValue()
                                        : " was not ready after " + START_LIMIT.toSeconds() + " s")
                                + ". The end of "
                                + directory.logFile()
                                + ":\n"
                                + directory.endOfLog());
            }
        }
    }

    private static boolean isOf(Process process, long pid) {
        return process.pid() == pid
                || process.descendants().anyMatch(descendant -> descendant.pid() == pid);
    }

    private void end(String signal) {
        if (running == null) {
            return;
        }
        if (running.process.isAlive()) {
            SystemCommands.signal(signal, running.pid);
            if (!waitFor(running.process, STOP_LIMIT.toMillis())) {
                throw new RetryException(
                        EmbeddedCodes.STOP_FAILED,
                        "PostgreSQL in "
                                + directory.data()
                                + " (pid "
                                + running.pid
                                + ") did not stop within "
                                + STOP_LIMIT.toSeconds()
                                + " s; see "
                                + directory.logFile());
            }
        }
        release();
    }

    /** Whatever the server's end left behind. */
    private void release() {
        Running ended = running;
        if (ended == null) {
            return;
        }
        ended.watch.close();
        directory.endLeftovers();
        directory.deleteSockets();
        ended.lock.close();
        running = null;
    }

    private Running requireRunning() {
        if (running == null) {
            throw new IllegalStateException(
                    "PostgreSQL in " + directory.data() + " is not started");
        }
        return running;
    }

    private static boolean waitFor(Process process, long millis) {
        try {
            return process.waitFor(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            process.destroyForcibly();
            throw new IllegalStateException("interrupted while waiting for PostgreSQL", e);
        }
    }
}
