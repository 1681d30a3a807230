package dev.walshadow.base;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Short-lived system commands: run to their end, output and error together. */
public final class SystemCommands {
    /**
     * @param output standard output and error as they came
     */
    public record Result(int exitCode, String output) {}

    private SystemCommands() {}

    /**
     * Runs one with nothing to read until it has ended, however it ended.
     *
     * @throws UncheckedIOException when it cannot be started
     */
    public static Result run(List<String> command) {
        return run(new ProcessBuilder(command));
    }

    /** The same in the builder's environment and directory. */
    public static Result run(ProcessBuilder builder) {
        try {
            Process process =
                    builder.redirectErrorStream(true)
                            .redirectInput(
                                    ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                            .start();
            String output =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Result(process.waitFor(), output);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while running " + builder.command(), e);
        }
    }

    /** Sends a signal by name; a process that is gone is no error. */
    public static void signal(String name, long pid) {
        run(List.of("sh", "-c", "kill -s \"$1\" \"$2\" 2>/dev/null", "sh", name, "" + pid));
    }

    /** The first executable file of that name in PATH and the system's usual folders. */
    public static Optional<Path> find(String program) {
        String path = System.getenv().getOrDefault("PATH", "") + ":/usr/bin:/bin:/usr/sbin:/sbin";
        for (String directory : path.split(":", -1)) {
            Path candidate = Path.of(directory.isEmpty() ? "." : directory, program);
            if (Files.isExecutable(candidate) && !Files.isDirectory(candidate)) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }
}
