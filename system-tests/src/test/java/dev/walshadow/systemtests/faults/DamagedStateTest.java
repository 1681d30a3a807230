package dev.walshadow.systemtests.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every file of the state directory is torn, damaged and removed between two runs of the daemon. It
 * refuses by a message that names the file and changes nothing, so that the file can be put back;
 * or it needs no more of it than is left, and ends equal. {@code -Dwalshadow.seed=N} repeats a run.
 */
final class DamagedStateTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");

    private final SplittableRandom random = new SplittableRandom(SEED);
    private final int major = Integer.getInteger("walshadow.major", random.nextInt(15, 19));
    private int rows;

    /** What becomes of a file's bytes; null removes it. */
    private enum Damage {
        REMOVED,
        EMPTY,
        CUT_IN_HALF,
        WITHOUT_ITS_LAST_BYTE,
        A_BIT_CHANGED,
        ZEROS_BEHIND_THE_MIDDLE,
        OLDER_TEXT_BEHIND;

        void of(Path file, byte[] good, SplittableRandom random) throws IOException {
            switch (this) {
                case REMOVED -> Files.delete(file);
                case EMPTY -> Files.write(file, new byte[0]);
                case CUT_IN_HALF -> Files.write(file, Arrays.copyOf(good, good.length / 2));
                case WITHOUT_ITS_LAST_BYTE ->
                        Files.write(file, Arrays.copyOf(good, Math.max(0, good.length - 1)));
                case A_BIT_CHANGED -> {
                    byte[] bytes = good.clone();
                    bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
                    Files.write(file, bytes);
                }
                case ZEROS_BEHIND_THE_MIDDLE -> {
                    byte[] bytes = good.clone();
                    Arrays.fill(bytes, bytes.length / 2, bytes.length, (byte) 0);
                    Files.write(file, bytes);
                }
                case OLDER_TEXT_BEHIND -> {
                    byte[] bytes = Arrays.copyOf(good, good.length + 100);
                    System.arraycopy(good, 0, bytes, good.length, Math.min(100, good.length));
                    Files.write(file, bytes);
                }
            }
        }
    }

    @Test
    void aDamagedFileIsNamedOrNotNeeded() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + major);
        try (Installation installation = Installation.start(major)) {
            installation.execute("CREATE TABLE steady (id int PRIMARY KEY, note text)");
            write(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("ALTER TABLE steady ADD more int", "CREATE TABLE added (id int)");
            write(installation);
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(installation.stopDaemon()).isZero();
            int refused = 0;
            for (String name : files(installation.state())) {
                for (Damage damage : damages()) {
                    refused += survives(installation, name, damage) ? 1 : 0;
                }
            }
            assertThat(refused).as("starts that were refused").isPositive();
            installation.startDaemon();
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    /** Of the daemon's own; the shadow's are PostgreSQL's, which has checksums of its own. */
    private static List<String> files(Path state) throws IOException {
        try (Stream<Path> files = Files.walk(state)) {
            return files.filter(Files::isRegularFile)
                    .map(file -> state.relativize(file).toString())
                    .filter(name -> !name.matches("(shadow|run|scratch)/.*|lock"))
                    .sorted()
                    .toList();
        }
    }

    private List<Damage> damages() {
        List<Damage> all = new ArrayList<>(List.of(Damage.values()));
        while (!SOAK && all.size() > 2) {
            all.remove(random.nextInt(all.size()));
        }
        return all;
    }

    /** Whether the start was refused. */
    private boolean survives(Installation installation, String name, Damage damage)
            throws Exception {
        Path file = installation.state().resolve(name);
        if (!Files.exists(file) || Files.size(file) == 0) {
            return false;
        }
        String what = damage + " " + name;
        byte[] good = Files.readAllBytes(file);
        damage.of(file, good, random);
        write(installation);
        if (installation.startsDaemon()) {
            System.out.println(what + ": goes on");
            assertThat(installation.verify().reason()).as(what).isEmpty();
            assertThat(installation.stopDaemon()).as(what).isZero();
            return false;
        }
        int exitCode = installation.awaitDaemonEnd();
        String message = lastMessage(installation);
        System.out.println(what + ": " + exitCode + " " + message);
        assertThat(exitCode).as(what + ": " + message).isBetween(2, 3);
        assertThat(message).as(what).contains("WS-").doesNotContain("Exception:");
        // without its manifest it is a fresh directory, and the target tables belong to another
        boolean fresh = damage == Damage.REMOVED && name.equals("manifest.toml");
        assertThat(message).as(what).contains(fresh ? "WS-1705" : "/" + name);
        Files.write(file, good);
        return true;
    }

    private static String lastMessage(Installation installation) throws IOException {
        List<String> lines =
                Files.readAllLines(installation.log()).stream()
                        .filter(line -> line.contains("WS-"))
                        .toList();
        return lines.isEmpty() ? Files.readString(installation.log()) : lines.getLast();
    }

    private void write(Installation installation) throws Exception {
        rows++;
        installation.execute(
                "INSERT INTO steady SELECT g, 'row "
                        + rows
                        + "' FROM generate_series("
                        + (rows * 10)
                        + ","
                        + (rows * 10 + 9)
                        + ") g");
    }
}
