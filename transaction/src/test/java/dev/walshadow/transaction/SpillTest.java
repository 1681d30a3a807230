package dev.walshadow.transaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Spill files that are full, torn, damaged, left over or foreign. */
final class SpillTest {
    private static final RelationLocator TABLE = SyntheticWal.table(16500);
    private static final int RECORDS = 200;
    private static final long BUDGET = 32 << 10;

    @TempDir Path directory;

    private final SyntheticWal wal = new SyntheticWal();
    private final List<CommittedChanges> held = new ArrayList<>();

    private TransactionBuffer buffer(SpillDirectory.Opener opener) {
        return new TransactionBuffer(
                TransactionBufferTest.options(directory, BUDGET),
                held::add,
                opener,
                TransactionBuffer.MAX_LINKS);
    }

    private void write(TransactionBuffer buffer, int xid) throws InterruptedException {
        for (int i = 0; i < RECORDS; i++) {
            buffer.onRecord(wal.insert(xid, TABLE, new byte[500 + i]));
        }
    }

    /** A committed transaction most of which is in the one spill file. */
    private Path spilled(TransactionBuffer buffer) throws IOException, InterruptedException {
        write(buffer, 100);
        buffer.onRecord(wal.commit(100));
        try (var files = Files.list(directory)) {
            return files.findFirst().orElseThrow();
        }
    }

    @Test
    void everyDamagedByteIsNoticedAndTheFileNamed() throws Exception {
        try (TransactionBuffer buffer = buffer(SpillDirectory::openFile)) {
            Path file = spilled(buffer);
            byte[] whole = Files.readAllBytes(file);
            assertThat(whole.length).isGreaterThan(80_000);
            CommittedChanges changes = held.get(0);
            int seen = Collected.of(changes).records().size();
            assertThat(seen).isEqualTo(RECORDS);
            assertThat(changes.relations()).hasSize(1);
            // the first frame byte by byte, the rest in steps; the file's header is not read again
            int step = 1;
            for (int at = SpillLayout.FILE_HEADER_LENGTH; at < whole.length; at += step) {
                step = at < 400 ? 1 : 397;
                byte[] damaged = whole.clone();
                damaged[at] ^= 0x10;
                overwrite(file, damaged);
                if (isReserved(whole, at)) {
                    assertThat(Collected.of(changes).records()).hasSize(RECORDS);
                } else {
                    assertThatThrownBy(() -> Collected.of(changes))
                            .as("byte " + at)
                            .isInstanceOf(HaltException.class)
                            .hasMessageContaining("WS-1603")
                            .hasMessageContaining(file.toString())
                            .hasMessageContaining("offset");
                }
            }
            overwrite(file, whole);
            assertThat(Collected.of(changes).records()).hasSize(RECORDS);
            changes.close();
            assertThat(file).doesNotExist();
        }
    }

    /** The four zero bytes at the end of a frame header are covered by no checksum. */
    private static boolean isReserved(byte[] whole, int at) {
        int frame = SpillLayout.FILE_HEADER_LENGTH;
        while (frame < whole.length) {
            int inFrame = at - frame;
            if (inFrame >= SpillLayout.FRAME_CRC_OFFSET + 4
                    && inFrame < SpillLayout.FRAME_HEADER_LENGTH) {
                return true;
            }
            frame +=
                    SpillLayout.FRAME_HEADER_LENGTH
                            + LittleEndian.getInt(whole, frame + SpillLayout.FRAME_LENGTH_OFFSET);
        }
        return false;
    }

    private static void overwrite(Path file, byte[] bytes) throws IOException {
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            out.write(bytes);
        }
    }

    @Test
    void aTornFileIsNoticedAndNamed() throws Exception {
        try (TransactionBuffer buffer = buffer(SpillDirectory::openFile)) {
            Path file = spilled(buffer);
            long length = Files.size(file);
            CommittedChanges changes = held.get(0);
            for (long cut : new long[] {length - 1, length / 2, 41, 40, 0}) {
                try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
                    out.setLength(cut);
                }
                assertThatThrownBy(() -> Collected.of(changes))
                        .as("cut at " + cut)
                        .isInstanceOf(HaltException.class)
                        .hasMessageContaining("WS-1603")
                        .hasMessageContaining(file.toString());
            }
            changes.close();
        }
    }

    @Test
    void whatAKilledRunLeftBehindIsDeleted() throws Exception {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("notes.txt"), "not ours, not touched");
        Files.write(directory.resolve("7-1.spill"), new byte[] {1, 2, 3});
        TransactionBuffer killed = buffer(SpillDirectory::openFile);
        spilled(killed);
        assertThat(directory.toFile().list()).hasSize(2); // the torn one went at the start
        try (TransactionBuffer next = buffer(SpillDirectory::openFile)) {
            assertThat(directory.toFile().list()).containsExactly("notes.txt");
            assertThat(next.counters().live()).isZero();
        }
    }

    @Test
    void filesOfAnotherClusterOrVersionAreRefusedAndKept() throws Exception {
        Path ours;
        try (TransactionBuffer killed = buffer(SpillDirectory::openFile)) {
            ours = spilled(killed);
            byte[] bytes = Files.readAllBytes(ours);
            refused(bytes, SpillLayout.FILE_SYSTEM_IDENTIFIER_OFFSET, "WS-1604", "found 78");
            refused(bytes, SpillLayout.FILE_VERSION_OFFSET, "WS-1605", "version 2");
            byte[] unknown = bytes.clone();
            unknown[0]++;
            refused(unknown, "WS-1604", "not that of a spill file");
        }
    }

    /** A file system may have given the file its length, but not yet its content. */
    @Test
    void filesThatAPowerFailureLeftEmptyAreDeleted() throws Exception {
        for (int length : new int[] {0, 1, SpillLayout.FILE_HEADER_LENGTH, 10_000}) {
            Files.write(directory.resolve(length + SpillDirectory.SUFFIX), new byte[length]);
        }
        try (TransactionBuffer next = buffer(SpillDirectory::openFile)) {
            assertThat(directory).isEmptyDirectory();
            assertThat(next.counters().live()).isZero();
        }
    }

    private void refused(byte[] bytes, int field, String code, String what) throws IOException {
        byte[] changed = bytes.clone();
        changed[field]++;
        CRC32C crc = new CRC32C();
        crc.update(changed, 0, SpillLayout.FILE_CRC_OFFSET);
        LittleEndian.putInt(changed, SpillLayout.FILE_CRC_OFFSET, (int) crc.getValue());
        refused(changed, code, what);
    }

    private void refused(byte[] bytes, String code, String what) throws IOException {
        Path foreign = directory.resolve("zz.spill");
        Files.write(foreign, bytes);
        long files = directory.toFile().list().length;
        assertThatThrownBy(() -> buffer(SpillDirectory::openFile))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(code)
                .hasMessageContaining(foreign.toString())
                .hasMessageContaining(what);
        assertThat(directory.toFile().list()).hasSize((int) files);
        Files.delete(foreign);
    }

    /** /dev/full answers every write with the kernel's own ENOSPC. */
    @Test
    @Timeout(60)
    void aFullDiskIsWaitedOutAndLosesNothing() throws Exception {
        AtomicBoolean full = new AtomicBoolean();
        CountDownLatch waiting = new CountDownLatch(2);
        SpillDirectory.Opener opener =
                path -> {
                    if (full.get()) {
                        waiting.countDown();
                        return new RandomAccessFile("/dev/full", "rw");
                    }
                    return SpillDirectory.openFile(path);
                };
        try (TransactionBuffer buffer = buffer(opener)) {
            buffer.onRecord(wal.insert(100, TABLE, new byte[500]));
            full.set(true);
            Thread pump =
                    Thread.ofPlatform()
                            .start(() -> {
                                try {
                                    write(buffer, 100);
                                    buffer.onRecord(wal.commit(100));
                                } catch (InterruptedException e) {
                                    Thread.currentThread().interrupt();
                                }
                            });
            waiting.await();
            assertThat(buffer.counters().waitsForDisk())
                    .contains("WS-1601")
                    .contains(directory.toString())
                    .contains("No space left on device");
            assertThat(held).isEmpty();
            full.set(false);
            pump.join();
            assertThat(buffer.counters().waitsForDisk()).isNull();
            assertThat(Collected.of(held.get(0)).records()).hasSize(RECORDS + 1);
            held.get(0).close();
        }
    }

    @Test
    void anotherFailureOfTheDiskStops() throws Exception {
        AtomicBoolean broken = new AtomicBoolean();
        SpillDirectory.Opener opener =
                path -> {
                    if (broken.get()) {
                        throw new IOException("Input/output error");
                    }
                    return SpillDirectory.openFile(path);
                };
        try (TransactionBuffer buffer = buffer(opener)) {
            broken.set(true);
            assertThatThrownBy(() -> write(buffer, 100))
                    .isInstanceOf(HaltException.class)
                    .hasMessageContaining("WS-1602")
                    .hasMessageContaining("Input/output error");
        }
    }

    @Test
    void theFrameIndexStaysBoundedAndNeverMissesAFrame() {
        FrameIndex index = new FrameIndex(8);
        int frames = 1000;
        for (int i = 0; i < frames; i++) {
            ToastRange range = new ToastRange();
            range.add(1, 10 * i);
            range.add(1, 10 * i + 9);
            index.add(64L * i, range);
        }
        assertThat(index.entries()).isLessThanOrEqualTo(8);
        for (int i = 0; i < frames; i++) {
            assertThat(found(index, 64L * i, 10 * i + 5)).as("frame " + i).isTrue();
        }
        for (int i = frames; i > 100; i--) {
            index.removeLast();
        }
        assertThat(index.offset(index.entries() - 1)).isLessThan(6400);
        for (int i = 0; i < 100; i++) {
            assertThat(found(index, 64L * i, 10 * i + 5)).as("frame " + i).isTrue();
        }
    }

    private static boolean found(FrameIndex index, long frame, int valueId) {
        for (int entry = 0; entry < index.entries(); entry++) {
            long end = entry + 1 < index.entries() ? index.offset(entry + 1) : Long.MAX_VALUE;
            if (index.offset(entry) <= frame && frame < end) {
                return index.range(entry).mayHold(1, valueId);
            }
        }
        return false;
    }
}
