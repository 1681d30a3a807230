package dev.walshadow.daemon.preflight;

import com.sun.management.OperatingSystemMXBean;
import dev.walshadow.daemon.DaemonCodes;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** This machine: its directories, its memory, and its clock beside the servers'. */
public final class HostCheck {
    /** What the shadow, the system and the JVM's own memory need beside the heap. */
    private static final long BESIDE_HEAP_BYTES = 512L << 20;

    private static final long SKEW_MILLIS_MOST = 2_000;

    private HostCheck() {}

    /**
     * Whether this user may read and write them, as far as they are there; what the first is to be
     * made in decides if it is not.
     */
    public static void directories(Path root, List<Path> inside, Findings findings) {
        Path nearest = root.toAbsolutePath();
        while (nearest.getParent() != null && !Files.exists(nearest, LinkOption.NOFOLLOW_LINKS)) {
            nearest = nearest.getParent();
        }
        directory(nearest, findings);
        inside.stream()
                .filter(path -> Files.exists(path, LinkOption.NOFOLLOW_LINKS))
                .forEach(path -> directory(path, findings));
    }

    private static void directory(Path path, Findings findings) {
        String wrong =
                !Files.isDirectory(path)
                        ? "is no directory"
                        : Files.isReadable(path)
                                        && Files.isWritable(path)
                                        && Files.isExecutable(path)
                                ? ""
                                : "may not be read and written by the user "
                                        + System.getProperty("user.name");
        if (!wrong.isEmpty()) {
            findings.add(
                    DaemonCodes.STATE_UNUSABLE,
                    path
                            + ", where the state directory is or is to be, "
                            + wrong
                            + "; give it to that user, or give [state] dir another one");
        }
    }

    /** The heap is promised to the JVM, whether the machine has it or not. */
    public static void memory(Findings findings) {
        if (ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system) {
            memory(Runtime.getRuntime().maxMemory(), system.getTotalMemorySize(), findings);
        }
    }

    /**
     * @param machineBytes of this machine, or of the container
     */
    static void memory(long heapBytes, long machineBytes, Findings findings) {
        if (heapBytes + BESIDE_HEAP_BYTES > machineBytes) {
            findings.advise(
                    DaemonCodes.LITTLE_MEMORY,
                    String.format(
                            Locale.ROOT,
                            "the heap may take %d MB, and the shadow and the system need %d MB"
                                    + " beside it, but this machine has %d MB: start with a smaller"
                                    + " WALSHADOW_JAVA_OPTIONS=-Xmx and [memory], or give it more",
                            heapBytes >> 20,
                            BESIDE_HEAP_BYTES >> 20,
                            machineBytes >> 20));
        }
    }

    /**
     * Latency and the age of the watermark are told by different clocks.
     *
     * @param askedMillis this machine's clock before the server was asked for its own
     * @param answeredMillis the same after its answer
     */
    public static void clock(
            String server,
            long askedMillis,
            long serverMillis,
            long answeredMillis,
            Findings findings) {
        long early = askedMillis - serverMillis;
        long late = serverMillis - answeredMillis;
        long skew = Math.max(early, late);
        if (skew > SKEW_MILLIS_MOST) {
            findings.advise(
                    DaemonCodes.CLOCK_SKEW,
                    String.format(
                            Locale.ROOT,
                            "the clock of %s is %.1f s %s this machine's: latencies and the"
                                    + " watermark's age are wrong by as much; let both follow one"
                                    + " time server (timedatectl set-ntp true)",
                            server,
                            skew / 1e3,
                            early > 0 ? "behind" : "ahead of"));
        }
    }
}
