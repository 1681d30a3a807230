package dev.walshadow.embedded;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The files of one {@link EmbeddedPostgres}, and the processes that live in them. */
final class PostgresDirectory {
    private static final String SETTINGS_FILE = "walshadow.conf";
    private static final Duration LEFTOVER_LIMIT = Duration.ofSeconds(20);
    private static final int LOG_LINES = 20;

    private final Path root;
    private final Path sockets;

    PostgresDirectory(Path root) {
        this.root = root;
        this.sockets =
                Path.of(
                        System.getProperty("java.io.tmpdir"),
                        "walshadow-pg-" + Integer.toHexString(root.hashCode()));
    }

    Path data() {
        return root.resolve("data");
    }

    Path lockFile() {
        return root.resolve("lock");
    }

    Path logFile() {
        return root.resolve("postgres.log");
    }

    Path sockets() {
        return sockets;
    }

    boolean exists() {
        return Files.exists(data().resolve("PG_VERSION"));
    }

    /** An empty directory for initdb, renamed to {@link #data} when it is complete. */
    Path freshData() {
        Path fresh = root.resolve("data.new");
        CacheDirectory.deleteTree(fresh);
        return UnprivilegedUser.createDirectory(fresh);
    }

    /**
     * The command line {@code program -D directory options}, run as the server's user. Where a
     * parent of the directory is closed to that user (a temporary folder of root's), a shell of
     * ours opens the directory first and the server reaches it through that descriptor: no
     * permission needs to be widened.
     */
    List<String> command(Path program, Path dataDirectory, List<String> options) {
        boolean enterable = UnprivilegedUser.canEnter(dataDirectory);
        List<String> command = new ArrayList<>();
        command.add(program.toString());
        command.add("-D");
        command.add(enterable ? dataDirectory.toString() : "/proc/self/fd/9");
        command.addAll(options);
        List<String> asUser = UnprivilegedUser.wrap(command);
        if (enterable) {
            return asUser;
        }
        List<String> opened = new ArrayList<>();
        opened.addAll(List.of("sh", "-c", "exec 9<\"$0\"; exec \"$@\""));
        opened.add(dataDirectory.toString());
        opened.addAll(asUser);
        return opened;
    }

    void requireVersion(int major) {
        String found;
        try {
            found = Files.readString(data().resolve("PG_VERSION")).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (!found.equals(Integer.toString(major))) {
            throw new ConfigurationException(
                    EmbeddedCodes.OTHER_VERSION,
                    "expected a PostgreSQL "
                            + major
                            + " cluster in "
                            + data()
                            + ", found version "
                            + found
                            + "; start it with version "
                            + found
                            + " or choose another directory");
        }
    }

    void includeSettings(Path dataDirectory) {
        try {
            Files.writeString(
                    dataDirectory.resolve("postgresql.conf"),
                    "\ninclude_if_exists = '" + SETTINGS_FILE + "'\n",
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void writeSettings(Map<String, String> settings) {
        StringBuilder text = new StringBuilder("# Written at every start.\n");
        settings.forEach((name, value) ->
                text.append(name)
                        .append(" = '")
                        .append(value.replace("\\", "\\\\").replace("'", "''"))
                        .append("'\n"));
        Path file = data().resolve(SETTINGS_FILE);
        try {
            Files.writeString(file, text);
            UnprivilegedUser.own(file);
            if (!Files.isDirectory(sockets)) {
                UnprivilegedUser.createDirectory(sockets);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void deleteSockets() {
        CacheDirectory.deleteTree(sockets);
    }

    String endOfLog() {
        try {
            List<String> lines =
                    new String(Files.readAllBytes(logFile()), StandardCharsets.UTF_8)
                            .lines()
                            .toList();
            return String.join(
                    "\n", lines.subList(Math.max(0, lines.size() - LOG_LINES), lines.size()));
        } catch (IOException e) {
            return "(" + e + ")";
        }
    }

    /**
     * Ends every server process that still works in the data directory: all of them have it as
     * their working directory. The caller holds the lock, so they are orphans of a killed owner, or
     * the children of a killed postmaster, which end by themselves. A {@code postmaster.pid} that
     * remains is stale and removed, in case its pid lives again as something else.
     */
    void endLeftovers() {
        PostmasterPid file = PostmasterPid.read(data());
        List<ProcessHandle> leftovers = processes();
        for (ProcessHandle process : leftovers) {
            if (file != null && file.pid() == process.pid()) {
                SystemCommands.signal("QUIT", process.pid());
            }
        }
        if (!awaitEnd(leftovers)) {
            leftovers.forEach(ProcessHandle::destroyForcibly);
            if (!awaitEnd(leftovers)) {
                throw new RetryException(
                        EmbeddedCodes.STOP_FAILED,
                        "PostgreSQL processes "
                                + leftovers.stream().map(ProcessHandle::pid).toList()
                                + " still work in "
                                + data()
                                + " and do not end, not even by kill -9");
            }
        }
        try {
            Files.deleteIfExists(data().resolve("postmaster.pid"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<ProcessHandle> processes() {
        Path real = realPath(data());
        if (real == null) {
            return List.of();
        }
        try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
            return all.filter(process -> real.equals(workingDirectory(process.pid()))).toList();
        }
    }

    private static @Nullable Path workingDirectory(long pid) {
        Path process = Path.of("/proc", Long.toString(pid));
        try {
            if (!Files.readString(process.resolve("comm")).strip().startsWith("postgres")) {
                return null;
            }
            return Files.readSymbolicLink(process.resolve("cwd"));
        } catch (IOException e) {
            return null;
        }
    }

    private static @Nullable Path realPath(Path path) {
        try {
            return path.toRealPath();
        } catch (IOException e) {
            return null;
        }
    }

    private static boolean awaitEnd(List<ProcessHandle> processes) {
        CompletableFuture<?> all =
                CompletableFuture.allOf(
                        processes.stream()
                                .map(ProcessHandle::onExit)
                                .toArray(CompletableFuture<?>[]::new));
        try {
            all.get(LEFTOVER_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while PostgreSQL ends", e);
        }
    }
}
