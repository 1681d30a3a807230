package dev.walshadow.embedded;

import dev.walshadow.base.SystemCommands;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A tiny process that signals a child of ours when this JVM dies without saying goodbye, kill -9
 * included: its standard input then ends. (A parent-death signal would fire as soon as the thread
 * that started the child ended.)
 */
final class ParentWatch implements AutoCloseable {
    private static final String SCRIPT =
            "read -r bye; [ \"$bye\" = bye ] || kill -s \"$2\" \"$1\" 2>/dev/null";

    private final Process watcher;

    private ParentWatch(Process watcher) {
        this.watcher = watcher;
    }

    static ParentWatch over(long pid, String signal) {
        try {
            return new ParentWatch(
                    new ProcessBuilder(
                                    detached(
                                            List.of("sh", "-c", SCRIPT, "watch", "" + pid, signal)))
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** In a session of its own, so that Ctrl-C in our terminal reaches only us. Keeps the pid. */
    static List<String> detached(List<String> command) {
        if (SystemCommands.find("setsid").isEmpty()) {
            return command;
        }
        List<String> detached = new ArrayList<>(List.of("setsid"));
        detached.addAll(command);
        return detached;
    }

    /** Ends the watch: the child has been stopped. */
    @Override
    public void close() {
        try (OutputStream input = watcher.getOutputStream()) {
            input.write("bye\n".getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            watcher.destroyForcibly();
        }
    }
}
