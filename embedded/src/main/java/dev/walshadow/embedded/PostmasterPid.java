package dev.walshadow.embedded;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code postmaster.pid} says, as {@code pg_ctl} reads it: line 1 is the pid, line 8 the
 * status ({@code src/include/utils/pidfile.h}, PostgreSQL 15-18).
 */
record PostmasterPid(long pid, String status) {
    private static final int STATUS_LINE = 7;

    /** Null while there is no such file or it is only half written. */
    static @Nullable PostmasterPid read(Path dataDirectory) {
        try {
            List<String> lines = Files.readAllLines(dataDirectory.resolve("postmaster.pid"));
            String status = lines.size() > STATUS_LINE ? lines.get(STATUS_LINE).strip() : "";
            return lines.isEmpty()
                    ? null
                    : new PostmasterPid(Long.parseLong(lines.getFirst().strip()), status);
        } catch (IOException | NumberFormatException e) {
            return null;
        }
    }

    /** Accepts connections. */
    boolean ready() {
        return status.equals("ready") || status.equals("standby");
    }
}
