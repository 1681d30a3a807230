package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.transaction.BaselineRecords;
import dev.walshadow.transaction.ToastValues;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DeferredRowsTest {
    private static final long IDENTIFIER = 99;
    private static final int INSERTER = 1001;
    private static final int DELETER = 1002;
    private static final BackupSnapshot SNAPSHOT =
            new BackupSnapshot(0x1000, 1100, 1000, false, new int[] {INSERTER, DELETER, 1003});

    @TempDir Path folder;

    private static int record(ByteBuilder out, int id, String value) {
        int start = BaselineRecords.begin(out, new RelationLocator(1663, 5, 16384), 0, 1, 0);
        byte[] text = value.getBytes(StandardCharsets.UTF_8);
        out.putShort(2);
        out.putShort(HeapTupleLayout.HEAP_HASVARWIDTH);
        out.putByte(24);
        out.putByte(0);
        out.putInt(id);
        out.putByte((text.length + 1) << 1 | 1);
        out.putBytes(text);
        BaselineRecords.end(out, start);
        return out.length() - start;
    }

    private static void entry(DeferredFile.Writer writer, int inserter, int deleter, int id) {
        ByteBuilder stored = new ByteBuilder(64);
        int length = record(stored, id, "deferred");
        ByteBuilder payload = new ByteBuilder(64);
        payload.putInt(inserter);
        payload.putInt(deleter);
        payload.putInt(length);
        payload.putBytes(stored.toByteArray());
        writer.add(payload);
    }

    private void write(int... insertersAndDeleters) {
        DeferredFile file = new DeferredFile(folder, IDENTIFIER);
        try (DeferredFile.Writer writer = file.new Writer(SNAPSHOT, 5)) {
            for (int i = 0; i < insertersAndDeleters.length; i += 2) {
                entry(writer, insertersAndDeleters[i], insertersAndDeleters[i + 1], i / 2);
            }
            writer.finish();
        }
    }

    private DeferredRows open(CollectedRows target) throws InterruptedException {
        return DeferredRows.open(folder, IDENTIFIER, 5, target);
    }

    /** c10 = committed at 10 (start) and so on, c0 = before the backup, a = rolled back. */
    private static TransactionEnd end(int xid, String what) {
        long position = what.startsWith("c") ? Long.parseLong(what.substring(1)) * 0x1000 : 0x9000;
        return new TransactionEnd(xid, what.startsWith("c"), position, position, 7);
    }

    @ParameterizedTest
    @CsvSource({
        // inserter, deleter ("-": none, or settled), the row is there at the end
        "-, c3, false",
        "-, c0, false",
        "-, a, true",
        "c2, -, true",
        "c0, -, true",
        "a, -, false",
        "c2, a, true",
        "c2, c3, false",
        "c2, c2, false",
        "c0, c3, false",
        "c0, a, true",
        "a, c3, false",
        "a, a, false",
    })
    void outcomesDecide(String inserter, String deleter, boolean there) throws Exception {
        List<TransactionEnd> ends = new ArrayList<>();
        if (!inserter.equals("-")) {
            ends.add(end(INSERTER, inserter));
        }
        if (!deleter.equals("-")) {
            ends.add(end(DELETER, deleter));
        }
        boolean atOnce = ends.size() == 2 && ends.get(0).position() == ends.get(1).position();
        int first = inserter.equals("-") ? 0 : INSERTER;
        int second = deleter.equals("-") ? 0 : DELETER;
        for (List<TransactionEnd> order : List.of(ends, ends.reversed())) {
            CollectedRows target = new CollectedRows();
            if (first == 0) {
                target.submit(atStart());
            }
            write(first, second);
            if (atOnce) {
                open(target).resolve(order);
            } else {
                for (TransactionEnd end : order) {
                    // each by a process of its own
                    open(target).resolve(List.of(end));
                }
            }
            assertThat(target.rows().containsKey(0)).isEqualTo(there);
            assertThat(folder).isEmptyDirectory();
        }
    }

    /** What the walker sends of a row with a settled inserter. */
    private static BaselineChunk atStart() {
        ByteBuilder out = new ByteBuilder(64);
        int length = record(out, 0, "deferred");
        return new BaselineChunk(
                new BaselineChunk.Origin(0, 5, 0x1000, 0x1000, 5),
                out.toByteArray(),
                length,
                1,
                () -> (_, _, _) -> false,
                () -> {});
    }

    @Test
    void rowsAreThereWhileTheirDeleterIsOpen() throws Exception {
        write(INSERTER, DELETER);
        CollectedRows target = new CollectedRows();
        DeferredRows rows = open(target);
        rows.resolve(List.of(end(INSERTER, "c2")));
        assertThat(target.rows()).isEqualTo(Map.of(0, "deferred"));
        assertThat(open(target).waitsFor()).containsExactly(DELETER);
        assertThat(rows.snapshot().nextXid()).isEqualTo(1100);
    }

    @Test
    void theirValuesAreFoundUntilAllAreDelivered() throws Exception {
        Map<Integer, byte[]> expected = new HashMap<>();
        Random random = new Random(7);
        DeferredFile file = new DeferredFile(folder, IDENTIFIER);
        try (DeferredFile.Writer writer = file.new Writer(SNAPSHOT, 5)) {
            for (int i = 0; i < 300; i++) {
                ByteBuilder payload = new ByteBuilder(64);
                payload.putInt(INSERTER);
                payload.putInt(0);
                ByteBuilder stored = new ByteBuilder(64);
                payload.putInt(record(stored, i, "deferred"));
                payload.putBytes(stored.toByteArray());
                for (int j = random.nextInt(3); j > 0; j--) {
                    int id = random.nextInt(100) - 50;
                    byte[] bytes = expected.computeIfAbsent(id, _ -> new byte[] {(byte) id, 1, 2});
                    payload.putInt(16390);
                    payload.putInt(id);
                    payload.putInt(bytes.length);
                    payload.putBytes(bytes);
                }
                writer.add(payload);
            }
            writer.finish();
        }
        DeferredRows rows = open(new CollectedRows());
        ToastValues values = rows.values();
        for (int id = -60; id < 60; id++) {
            ByteBuilder out = new ByteBuilder(1);
            out.putByte(9);
            byte[] bytes = expected.get(id);
            assertThat(values.append(16390, id, out)).isEqualTo(bytes != null);
            assertThat(values.append(16391, id, out)).isFalse();
            assertThat(out.length()).isEqualTo(bytes == null ? 1 : 4);
            if (bytes != null) {
                assertThat(out.toByteArray()).endsWith(bytes);
            }
        }
        rows.resolve(List.of(end(INSERTER, "c2")));
        assertThat(values.append(16390, expected.keySet().iterator().next(), new ByteBuilder(1)))
                .isFalse();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void nothingToTakeUp() throws Exception {
        assertThat(open(new CollectedRows()).isEmpty()).isTrue();
    }

    @Test
    void leftOversOfAFinishedDeliveryAreRemoved() throws Exception {
        write(0, DELETER);
        DurableFiles.replace(
                folder.resolve("outcomes"),
                (DELETER + " true 1 2 3\nend\n").getBytes(StandardCharsets.UTF_8));
        assertThat(open(new CollectedRows()).isEmpty()).isTrue();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void everyTornOrChangedFileIsNamed() throws Exception {
        write(INSERTER, 0, 0, DELETER);
        Path file = folder.resolve("rows");
        byte[] sound = Files.readAllBytes(file);
        for (int length = 0; length < sound.length; length++) {
            Files.write(file, java.util.Arrays.copyOf(sound, length));
            assertDamaged();
        }
        for (int at = 0; at < sound.length; at++) {
            byte[] changed = sound.clone();
            changed[at] = (byte) (changed[at] ^ 0x10);
            Files.write(file, changed);
            assertDamaged();
        }
        Files.write(file, java.util.Arrays.copyOf(sound, sound.length + 1));
        assertDamaged();
    }

    private void assertDamaged() {
        assertThatThrownBy(() -> open(new CollectedRows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(folder.resolve("rows").toString());
    }

    @Test
    void filesOfAnotherSourceAreRefused() {
        write(INSERTER, 0);
        assertThatThrownBy(() -> DeferredRows.open(folder, 7, 5, new CollectedRows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("another source cluster");
    }

    @ParameterizedTest
    @CsvSource({"''", "'1002 true 1 2 3'", "'1002 true 1 2\nend'", "'x true 1 2 3\nend'"})
    void damagedOutcomesAreNamed(String content) throws Exception {
        write(0, DELETER);
        Files.writeString(folder.resolve("outcomes"), content);
        assertThatThrownBy(() -> open(new CollectedRows()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("outcomes");
    }
}
