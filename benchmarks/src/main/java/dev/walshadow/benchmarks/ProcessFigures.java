package dev.walshadow.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** What Linux tells about a process: proc(5). */
final class ProcessFigures {
    /** The unit of the times in /proc/PID/stat as user space sees them, USER_HZ. */
    private static final double TICKS_PER_SECOND = 100;

    /** Fields of /proc/PID/stat after the parenthesised name: state is 3, utime 14, stime 15. */
    private static final int UTIME = 14 - 3;

    private static final int STIME = 15 - 3;

    private ProcessFigures() {}

    /** User and system time so far, in seconds; 0 for a process that has ended. */
    static double cpuSeconds(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            long ticks = Long.parseLong(fields[UTIME]) + Long.parseLong(fields[STIME]);
            return ticks / TICKS_PER_SECOND;
        } catch (NoSuchFileException e) {
            return 0;
        } catch (IOException e) {
            if (ProcessHandle.of(pid).isEmpty()) {
                return 0; // it ended between the opening and the reading
            }
            throw new UncheckedIOException(e);
        }
    }

    /** The same, of a process and the children that it has now. */
    static double cpuSecondsOfFamily(long pid) {
        return cpuSeconds(pid)
                + ProcessHandle.of(pid).stream()
                        .flatMap(ProcessHandle::children)
                        .mapToDouble(child -> cpuSeconds(child.pid()))
                        .sum();
    }

    /** Most memory that was ever resident, in bytes. */
    static long peakResidentBytes(long pid) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"))) {
                if (line.startsWith("VmHWM:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new IllegalStateException("no VmHWM in /proc/" + pid + "/status");
    }
}
