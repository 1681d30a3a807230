package dev.walshadow.pipeline.encode;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.catalog.TypeDescriptor;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.TypeOid;
import dev.walshadow.transaction.ToastValues;
import java.util.List;

/**
 * Values of any bytes into the columns that ClickHouse takes them in: a whole row, or the typed
 * failure and nothing of it.
 */
final class ColumnFuzzTest {
    private static final ToastValues NO_TOAST = (relation, value, out) -> false;
    private static final int NUMERIC_12_2 = (12 << 16 | 2) + 4;
    private static final int ARRAY = 90_000;

    private final RowEncoder[] encoders = {
        encoder(scalar(TypeOid.NUMERIC, "numeric", -1, 'i'), NUMERIC_12_2, 0),
        encoder(scalar(TypeOid.TIMESTAMPTZ, "timestamptz", 8, 'd'), -1, 0),
        encoder(scalar(TypeOid.DATE, "date", 4, 'i'), -1, 0),
        encoder(scalar(TypeOid.TIME, "time", 8, 'd'), -1, 0),
        encoder(scalar(TypeOid.UUID, "uuid", 16, 'c'), -1, 0),
        encoder(scalar(TypeOid.TEXT, "text", -1, 'i'), -1, 0),
        encoder(scalar(TypeOid.JSONB, "jsonb", -1, 'i'), -1, 0),
        encoder(scalar(70_001, "hstore", -1, 'i'), -1, 0),
        encoder(scalar(70_002, "vector", -1, 'i'), -1, 0),
        encoder(scalar(70_003, "halfvec", -1, 'i'), -1, 0),
        encoder(scalar(TypeOid.INT4, "int4", 4, 'i'), -1, 1),
        encoder(scalar(TypeOid.TEXT, "text", -1, 'i'), -1, 2),
        encoder(scalar(TypeOid.NUMERIC, "numeric", -1, 'i'), NUMERIC_12_2, 1),
    };

    private static TypeDescriptor scalar(int oid, String name, int length, char alignment) {
        return new TypeDescriptor(
                oid,
                "public",
                name,
                'b',
                'X',
                0,
                0,
                -1,
                length,
                length == 4 || length == 8,
                alignment);
    }

    /** Of a table with a key and a column of the type, or of arrays of it. */
    private static RowEncoder encoder(TypeDescriptor type, int modifier, int dimensions) {
        TypeDescriptor array =
                new TypeDescriptor(
                        ARRAY,
                        "public",
                        "_" + type.name(),
                        'b',
                        'A',
                        type.oid(),
                        0,
                        -1,
                        -1,
                        false,
                        type.alignment() == 'd' ? 'd' : 'i');
        TypeDescriptor column = dimensions > 0 ? array : type;
        TypeDescriptor key = scalar(TypeOid.INT8, "int8", 8, 'd');
        RelationDescriptor shape =
                new RelationDescriptor(
                        16_500,
                        5,
                        new RelationName("public", "fuzzed"),
                        'r',
                        'p',
                        null,
                        0,
                        0,
                        'd',
                        "heap",
                        0,
                        List.of(
                                attribute(1, key, -1, 0),
                                attribute(2, column, modifier, dimensions)),
                        List.of(1),
                        List.of(),
                        List.of(key, type, array));
        if (TableMapping.derive(shape, MappingRules.defaults())
                instanceof Derivation.Mapped(TableMapping mapping, var _)) {
            return RowEncoder.compile(shape, mapping, SourceEncoding.UTF8);
        }
        throw new IllegalStateException("the table has a mapping");
    }

    private static AttributeDescriptor attribute(
            int number, TypeDescriptor type, int modifier, int dimensions) {
        return new AttributeDescriptor(
                number,
                "c" + number,
                type.oid(),
                modifier,
                type.length(),
                type.byValue(),
                type.alignment(),
                'x',
                false,
                false,
                '\0',
                null,
                dimensions);
    }

    /** First byte: which type; the rest: the attribute. */
    @FuzzTest(maxDuration = "1m")
    void value(byte[] bytes) {
        if (bytes.length < 2) {
            return;
        }
        RowEncoder encoder = encoders[(bytes[0] & 0xFF) % encoders.length];
        ByteBuilder row = new ByteBuilder(64);
        // xl_heap_header: two attributes, a variable one among them, data at byte 24
        row.putShort(2);
        row.putShort(2);
        row.putByte(24);
        row.putByte(0);
        row.putLong(1);
        row.putBytes(bytes, 1, bytes.length - 1);
        TupleView tuple = new TupleView();
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(1, 1, 1).record(8, 1);
        int appended = 0;
        try {
            tuple.wrapWal(row.array(), 0, row.length());
            appended = encoder.appendRow(block, tuple, meta, NO_TOAST) == RowEncoder.OK ? 1 : 0;
        } catch (QuarantineException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
        for (int i = 0; i < block.nativeBlock().columnCount(); i++) {
            Invariant.check(
                    block.nativeBlock().column(i).rows() == appended,
                    "a row is whole or not there");
            if (appended == 1) {
                block.nativeBlock().column(i).rowBinary(0, new ByteBuilder(64));
            }
        }
    }
}
