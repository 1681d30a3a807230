package dev.walshadow.shadow;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Short-lived system commands, run to their end; output and error together. */
final class SystemCommands {
    record Result(int exitCode, String output) {}

    private SystemCommands() {}

    static Result run(List<String> command) {
        try {
            Process process =
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
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
            throw new IllegalStateException("interrupted while running " + command.getFirst(), e);
        }
    }

    /** Sends a signal by name; a process that is gone is no error. */
    static void signal(String name, long pid) {
        run(List.of("sh", "-c", "kill -s \"$1\" \"$2\" 2>/dev/null", "sh", name, "" + pid));
    }

    static boolean exists(String program) {
        String path = System.getenv().getOrDefault("PATH", "") + ":/usr/bin:/bin:/usr/sbin:/sbin";
        for (String directory : path.split(":", -1)) {
            if (Files.isExecutable(Path.of(directory.isEmpty() ? "." : directory, program))) {
                return true;
            }
        }
        return false;
    }
}
