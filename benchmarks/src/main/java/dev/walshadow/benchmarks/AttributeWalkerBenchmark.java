package dev.walshadow.benchmarks;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.HeapTupleLayout;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The walk over a tuple as an INSERT logs it: wrap and find all attributes of (int8, int4, text,
 * numeric, timestamptz, text). One operation is one tuple; {@code -prof gc} must show no
 * allocation.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class AttributeWalkerBenchmark {
    private static final int TUPLES = 512;

    /** Whether every other tuple has a NULL, so that the bitmap is walked. */
    @Param({"false", "true"})
    public boolean nulls;

    private final TupleView tuple = new TupleView();
    private final AttributeWalker walker =
            new AttributeWalker(
                    TupleLayout.of(
                            new int[] {8, 4, -1, -1, 8, -1},
                            new char[] {'d', 'i', 'i', 'i', 'd', 'i'}));
    private final int[] offsets = new int[TUPLES + 1];
    private byte[] bytes = new byte[0];
    private int next;

    @Setup
    public void fill() {
        ByteBuilder out = new ByteBuilder(1 << 16);
        for (int i = 0; i < TUPLES; i++) {
            offsets[i] = out.length();
            append(i, nulls && (i & 1) == 0, out);
        }
        offsets[TUPLES] = out.length();
        bytes = out.toByteArray();
    }

    private static void append(int i, boolean withNull, ByteBuilder out) {
        out.putShort(6);
        out.putShort(
                HeapTupleLayout.HEAP_HASVARWIDTH | (withNull ? HeapTupleLayout.HEAP_HASNULL : 0));
        out.putByte(24);
        out.putByte(withNull ? 0b0101_1111 : 0);
        int data = out.length();
        out.putLong(i);
        out.putInt(i * 7);
        putShortVarlena("customer number " + i % 100, out);
        putShortVarlena("12345678", out);
        out.putZeros(-(out.length() - data) & 7);
        out.putLong(i * 1_000_003L);
        if (!withNull) {
            byte[] text = "x".repeat(130 + i % 50).getBytes(StandardCharsets.US_ASCII);
            out.putZeros(-(out.length() - data) & 3);
            int at = out.length();
            out.putInt(0);
            out.putBytes(text);
            LittleEndian.putInt(out.array(), at, (text.length + 4) << 2);
        }
    }

    private static void putShortVarlena(String text, ByteBuilder out) {
        out.putByte(((text.length() + 1) << 1) | 1);
        out.putAscii(text);
    }

    @Benchmark
    public int walk() {
        int i = next;
        next = (i + 1) & (TUPLES - 1);
        tuple.wrapWal(bytes, offsets[i], offsets[i + 1] - offsets[i]);
        walker.walk(tuple);
        return walker.offset(4) + walker.length(5);
    }
}
