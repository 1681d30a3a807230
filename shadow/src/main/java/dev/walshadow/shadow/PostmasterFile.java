package dev.walshadow.shadow;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What {@code postmaster.pid} says.
 *
 * <pre>
 * line 1 pid (negative: a standalone backend)   2 data directory   3 start time, epoch seconds
 * line 4 port   5 socket directory   6 listen address   7 shared memory key   8 status
 * </pre>
 *
 * Source: {@code src/include/utils/pidfile.h}, PostgreSQL 15-18.
 */
record PostmasterFile(long pid, String dataDirectory, long startSeconds, String status) {
    private static final int START_TIME_LINE = 2;
    private static final int STATUS_LINE = 7;
    private static final int COMPLETE_LINES = 3;

    /** The server notes the time a moment after its process has begun. */
    private static final Duration START_TOLERANCE = Duration.ofSeconds(5);

    static Path path(Path dataDirectory) {
        return dataDirectory.resolve("postmaster.pid");
    }

    /** Null while there is no such file or it is only half written. */
    static @Nullable PostmasterFile read(Path dataDirectory) {
        try {
            List<String> lines = Files.readAllLines(path(dataDirectory));
            if (lines.size() < COMPLETE_LINES) {
                return null;
            }
            return new PostmasterFile(
                    Long.parseLong(lines.get(0).strip()),
                    lines.get(1),
                    Long.parseLong(lines.get(START_TIME_LINE).strip()),
                    lines.size() > STATUS_LINE ? lines.get(STATUS_LINE).strip() : "");
        } catch (IOException | NumberFormatException e) {
            return null;
        }
    }

    boolean acceptsConnections() {
        return status.equals("ready");
    }

    /**
     * The living server that wrote this file; empty when the file is a leftover, also when another
     * process has got its pid since. A server works in its data directory, which Linux tells; where
     * it does not, the start time decides.
     */
    Optional<ProcessHandle> server(Path directory) {
        return ProcessHandle.of(pid)
                .filter(ProcessHandle::isAlive)
                .filter(process -> worksIn(process, directory));
    }

    private boolean worksIn(ProcessHandle process, Path directory) {
        try {
            Path work = Files.readSymbolicLink(Path.of("/proc", "" + process.pid(), "cwd"));
            return work.equals(directory.toRealPath());
        } catch (IOException e) {
            return process.info().startInstant().map(this::startedThen).orElse(true);
        }
    }

    private boolean startedThen(Instant processStart) {
        Duration apart = Duration.between(processStart, Instant.ofEpochSecond(startSeconds)).abs();
        return apart.compareTo(START_TOLERANCE) <= 0;
    }
}
