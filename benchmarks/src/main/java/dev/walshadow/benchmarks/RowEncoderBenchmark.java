package dev.walshadow.benchmarks;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.TypeOid;
import dev.walshadow.transaction.ToastValues;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Tuple bytes of WAL to Native columns: int8 key, int4, text, numeric(12,2), timestamptz, bool, and
 * the four meta columns. Per operation: one row. Targets: at least 2 million rows a second on one
 * core, at most 1 byte allocated per row.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class RowEncoderBenchmark {
    private static final int ROWS = 65_536;
    private static final int NUMERIC_12_2 = (12 << 16 | 2) + 4;
    private static final ToastValues NO_TOAST = (relation, value, out) -> false;

    private final ByteBuilder tuples = new ByteBuilder(1 << 20);
    private final int[] ends = new int[ROWS];
    private final RowEncoder encoder;
    private final TableBlock block;
    private final TupleView tuple = new TupleView();
    private final RowMeta meta = new RowMeta().transaction(0x1_0000_0000L, 1, 1);

    public RowEncoderBenchmark() {
        RelationDescriptor shape = shape();
        TableMapping mapping =
                switch (TableMapping.derive(shape, MappingRules.defaults())) {
                    case Derivation.Mapped mapped -> mapped.mapping();
                    case Derivation.HeldBack held ->
                            throw new IllegalStateException(held.reasons().toString());
                };
        encoder = RowEncoder.compile(shape, mapping, SourceEncoding.UTF8);
        block = encoder.newBlock();
        Random random = new Random(7);
        for (int i = 0; i < ROWS; i++) {
            appendTuple(i, random);
            ends[i] = tuples.length();
        }
    }

    @Benchmark
    @OperationsPerInvocation(ROWS)
    public int rows() {
        block.clear();
        byte[] bytes = tuples.array();
        int start = 0;
        for (int i = 0; i < ROWS; i++) {
            tuple.wrapWal(bytes, start, ends[i] - start);
            encoder.appendRow(block, tuple, meta.record(i * 8L, 0), NO_TOAST);
            start = ends[i];
        }
        return block.rows();
    }

    /** xl_heap_header, then the data of six attributes without NULLs, or a bitmap for one. */
    private void appendTuple(int id, Random random) {
        boolean nullText = random.nextInt(10) == 0;
        tuples.putShort(6);
        tuples.putShort(nullText ? 3 : 2);
        tuples.putByte(24);
        tuples.putByte(nullText ? 0b111011 : 0);
        int data = tuples.length();
        tuples.putLong(id);
        tuples.putInt(random.nextInt());
        if (!nullText) {
            byte[] text =
                    ("customer number " + random.nextInt(1_000_000))
                            .getBytes(java.nio.charset.StandardCharsets.US_ASCII);
            tuples.putByte((text.length + 1) << 1 | 1);
            tuples.putBytes(text);
        }
        // numeric in short form: header 0x8000 | dscale << 7 | weight, base-10000 digits
        tuples.putByte((1 + 2 + 4) << 1 | 1);
        tuples.putShort(0x8000 | 2 << 7);
        tuples.putShort(1 + random.nextInt(9999));
        tuples.putShort(random.nextInt(100) * 100);
        while ((tuples.length() - data & 7) != 0) {
            tuples.putByte(0);
        }
        tuples.putLong(random.nextLong(800_000_000_000_000L));
        tuples.putByte(random.nextInt(2));
    }

    private static RelationDescriptor shape() {
        return new RelationDescriptor(
                16_384,
                5,
                new RelationName("public", "orders"),
                'r',
                'p',
                null,
                0,
                0,
                'd',
                "heap",
                0,
                List.of(
                        attribute(1, "id", TypeOid.INT8, -1, 8, 'd'),
                        attribute(2, "quantity", TypeOid.INT4, -1, 4, 'i'),
                        attribute(3, "customer", TypeOid.TEXT, -1, -1, 'i'),
                        attribute(4, "price", TypeOid.NUMERIC, NUMERIC_12_2, -1, 'i'),
                        attribute(5, "at", TypeOid.TIMESTAMPTZ, -1, 8, 'd'),
                        attribute(6, "paid", TypeOid.BOOL, -1, 1, 'c')),
                List.of(1),
                List.of(),
                List.of(
                        type(TypeOid.INT8, "int8", 8, 'd'),
                        type(TypeOid.INT4, "int4", 4, 'i'),
                        type(TypeOid.TEXT, "text", -1, 'i'),
                        type(TypeOid.NUMERIC, "numeric", -1, 'i'),
                        type(TypeOid.TIMESTAMPTZ, "timestamptz", 8, 'd'),
                        type(TypeOid.BOOL, "bool", 1, 'c')));
    }

    private static AttributeDescriptor attribute(
            int number, String name, int type, int modifier, int length, char alignment) {
        return new AttributeDescriptor(
                number,
                name,
                type,
                modifier,
                length,
                length > 0,
                alignment,
                'p',
                false,
                false,
                '\0',
                null);
    }

    private static TypeDescriptor type(int oid, String name, int length, char alignment) {
        return new TypeDescriptor(
                oid, "pg_catalog", name, 'b', 'X', 0, 0, -1, length, length > 0, alignment);
    }
}
