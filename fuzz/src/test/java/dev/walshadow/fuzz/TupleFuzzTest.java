package dev.walshadow.fuzz;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import java.util.Arrays;

/** Tuples and pages of any bytes: attributes inside their tuple, or the typed failure. */
final class TupleFuzzTest {
    private static final int[] LENGTHS = {1, 2, 4, 8, 16, 64, -1, -1, -2};
    private static final char[] ALIGNMENTS = {'c', 's', 'i', 'd'};

    /** First byte: the shape; second: the number n of attributes; n bytes: their layout. */
    @FuzzTest(maxDuration = "1m")
    void tuple(byte[] bytes) {
        if (bytes.length < 2) {
            return;
        }
        int count = Math.min(bytes[1] & 0xFF, bytes.length - 2);
        int[] lengths = new int[count];
        char[] alignments = new char[count];
        for (int i = 0; i < count; i++) {
            int kind = bytes[2 + i] & 0xFF;
            lengths[i] = LENGTHS[kind % LENGTHS.length];
            alignments[i] = ALIGNMENTS[kind / LENGTHS.length % 4];
        }
        int start = 2 + count;
        TupleView tuple = new TupleView();
        try {
            switch (bytes[0] % 3) {
                case 0 -> tuple.wrapWal(bytes, start, bytes.length - start);
                case 1 -> tuple.wrapPage(bytes, start, bytes.length - start);
                default -> {
                    int next = tuple.wrapMulti(bytes, start, start, bytes.length);
                    Invariant.check(next > start && next <= bytes.length, "a tuple has an end");
                }
            }
            walk(tuple, new AttributeWalker(TupleLayout.of(lengths, alignments)), count);
        } catch (QuarantineException e) {
            return;
        }
    }

    private static void walk(TupleView tuple, AttributeWalker walker, int count) {
        walker.walk(tuple);
        int position = tuple.dataOffset();
        for (int i = 0; i < count; i++) {
            int offset = walker.offset(i);
            if (offset < 0) {
                Invariant.check(tuple.isNull(i) == (offset == AttributeWalker.NULL), "nulls agree");
                continue;
            }
            Invariant.check(
                    offset >= position && offset + walker.length(i) <= tuple.end(),
                    "an attribute lies behind the one before it, inside its tuple");
            position = offset + walker.length(i);
        }
    }

    @FuzzTest(maxDuration = "1m")
    void page(byte[] bytes) {
        byte[] page = Arrays.copyOf(bytes, HeapPage.SIZE);
        HeapPage view = new HeapPage();
        TupleView tuple = new TupleView();
        try {
            if (!view.wrap(page, 0)) {
                return;
            }
        } catch (QuarantineException e) {
            return;
        }
        boolean ignored = view.checksumMatches(1);
        AttributeWalker walker =
                new AttributeWalker(
                        TupleLayout.of(new int[] {4, -1, 8, -1}, new char[] {'i', 'i', 'd', 'i'}));
        for (int at = view.nextNormal(0); at != 0; at = view.nextNormal(at)) {
            try {
                view.tuple(at, tuple);
                walk(tuple, walker, 4);
            } catch (QuarantineException e) {
                Invariant.check(!ignored || e.getMessage() != null, "a failure has a message");
            }
        }
    }
}
