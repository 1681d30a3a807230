package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ToastStoreTest {
    private static final int RELATION = 16400;
    private static final int HIGH_ID = 0x9000_0001;

    @TempDir Path folder;

    private static byte[] chunk(int valueId, int sequence) {
        byte[] bytes = new byte[1 + (sequence % 7) * 280];
        new Random(valueId * 31L + sequence).nextBytes(bytes);
        return bytes;
    }

    private static void add(ToastStore store, int valueId, int sequence) {
        byte[] data = chunk(valueId, sequence);
        ByteBuilder out = new ByteBuilder(64);
        out.putShort(3);
        out.putShort(HeapTupleLayout.HEAP_HASVARWIDTH);
        out.putByte(24);
        out.putByte(0);
        out.putInt(valueId);
        out.putInt(sequence);
        if (data.length < 127) {
            out.putByte((data.length + 1) << 1 | 1);
        } else {
            out.putInt((data.length + 4) << 2);
        }
        out.putBytes(data);
        TupleView tuple = new TupleView();
        tuple.wrapWal(out.array(), 0, out.length());
        store.add(RELATION, tuple);
    }

    private static byte[] whole(int valueId, int chunks) {
        ByteBuilder out = new ByteBuilder(64);
        for (int i = 0; i < chunks; i++) {
            out.putBytes(chunk(valueId, i));
        }
        return out.toByteArray();
    }

    @Test
    void valuesAreFoundWhateverTheOrderOfTheirChunks() {
        List<int[]> chunks = new ArrayList<>();
        for (int value = 1; value <= 40; value++) {
            for (int sequence = 0; sequence < value * 5; sequence++) {
                chunks.add(new int[] {value % 2 == 0 ? value : HIGH_ID + value, sequence});
            }
        }
        Collections.shuffle(chunks, new Random(7));
        try (ToastStore store = new ToastStore(folder, List.of())) {
            chunks.forEach(each -> add(store, each[0], each[1]));
            store.seal();
            for (int value = 1; value <= 40; value++) {
                int id = value % 2 == 0 ? value : HIGH_ID + value;
                ByteBuilder out = new ByteBuilder(1);
                out.putByte(42);
                assertThat(store.values().append(RELATION, id, out)).isTrue();
                assertThat(out.length()).isEqualTo(1 + whole(id, value * 5).length);
                assertThat(out.toByteArray()).endsWith(whole(id, value * 5)).startsWith(42);
            }
        }
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void ofValuesWithoutAllTheirChunksNothingIsGivenBehindTheGap() throws Exception {
        Files.createDirectories(folder);
        try (ToastStore store = new ToastStore(folder, List.of())) {
            add(store, 1, 0);
            add(store, 1, 2);
            add(store, 2, 1);
            add(store, 3, 0);
            store.seal();
            ByteBuilder out = new ByteBuilder(1);
            assertThat(store.values().append(RELATION, 1, out)).isTrue();
            assertThat(store.values().append(RELATION, 2, out)).isTrue();
            assertThat(store.values().append(RELATION, 4, out)).isFalse();
            assertThat(store.values().append(RELATION + 1, 3, out)).isFalse();
            assertThat(out.length()).isZero();
            assertThat(store.values().append(RELATION, 3, out)).isTrue();
            assertThat(out.toByteArray()).isEqualTo(chunk(3, 0));
            assertThat(store.holds(RELATION, 3, chunk(3, 0).length)).isTrue();
            assertThat(store.holds(RELATION, 3, chunk(3, 0).length + 1)).isFalse();
            assertThat(store.holds(RELATION, 1, chunk(1, 0).length)).isTrue();
            assertThat(store.holds(RELATION, 2, chunk(2, 1).length)).isFalse();
        }
    }
}
