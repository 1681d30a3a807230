package dev.walshadow.pipeline.encode;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.MappingCodes;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.ToastValues;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Keys as ClickHouse sees them. Of a table without a key only the literal is made here. */
final class KeyEncoder {
    private static final long FLOAT64_NAN = Double.doubleToLongBits(Double.NaN);
    private static final int FLOAT32_NAN = Float.floatToIntBits(Float.NaN);

    private final ColumnPlan[] plans;
    private final ClickHouseType[] types;
    private final Conversion[] conversions;
    private final ColumnBuffer[] scratch;
    private final AttributeWalker walker;
    private final AttributeWalker otherWalker;
    private final ExternalValues external;
    private final ByteBuilder payload = ByteBuilder.onDemand(256);
    private final ByteBuilder one = ByteBuilder.onDemand(256);
    private final ByteBuilder other = ByteBuilder.onDemand(256);

    /**
     * @param all plans by mapping column
     * @param external used for its chunk assembly
     */
    KeyEncoder(
            TableMapping mapping,
            ColumnPlan[] all,
            AttributeWalker walker,
            AttributeWalker otherWalker,
            ExternalValues external) {
        List<Integer> key = mapping.key();
        this.plans = new ColumnPlan[key.size()];
        this.types = mapping.keyTypes().toArray(ClickHouseType[]::new);
        this.conversions = new Conversion[plans.length];
        this.scratch = new ColumnBuffer[plans.length];
        for (int i = 0; i < plans.length; i++) {
            int index = mapping.columns().indexOf(mapping.column(key.get(i)));
            plans[i] = all[index];
            conversions[i] = mapping.columns().get(index).conversion();
            scratch[i] = ColumnBuffer.of(types[i]);
        }
        this.walker = walker;
        this.otherWalker = otherWalker;
        this.external = external;
    }

    boolean same(TupleView newTuple, TupleView oldKey, ToastValues toast) {
        walker.walk(newTuple);
        otherWalker.walk(oldKey);
        for (int i = 0; i < plans.length; i++) {
            if (!sameColumn(i, newTuple, oldKey, toast)) {
                return false;
            }
        }
        return true;
    }

    private boolean sameColumn(int i, TupleView newTuple, TupleView oldKey, ToastValues toast) {
        ColumnPlan plan = plans[i];
        int at = walker.offset(plan.attribute());
        int otherAt = otherWalker.offset(plan.attribute());
        if (at == AttributeWalker.NULL || otherAt == AttributeWalker.NULL) {
            throw keyNull(plan);
        }
        int length = walker.length(plan.attribute());
        int otherLength = otherWalker.length(plan.attribute());
        if (at >= 0
                && otherAt >= 0
                && length == otherLength
                && Arrays.equals(
                        newTuple.buffer(),
                        at,
                        at + length,
                        oldKey.buffer(),
                        otherAt,
                        otherAt + otherLength)) {
            return true;
        }
        one.clear();
        other.clear();
        if (!append(i, newTuple, at, length, toast, one)) {
            // toasted before this transaction: PostgreSQL kept the pointer, so the value too
            return true;
        }
        if (!append(i, oldKey, otherAt, otherLength, toast, other)) {
            throw keyNull(plan);
        }
        return Arrays.equals(one.array(), 0, one.length(), other.array(), 0, other.length());
    }

    /** The whole key; a column that is toasted elsewhere is taken from the old key. */
    void append(TupleView tuple, @Nullable TupleView oldKey, ToastValues toast, ByteBuilder out) {
        walker.walk(tuple);
        boolean oldWalked = false;
        for (int i = 0; i < plans.length; i++) {
            int attribute = plans[i].attribute();
            int at = walker.offset(attribute);
            if (at == AttributeWalker.NULL) {
                throw keyNull(plans[i]);
            }
            if (append(i, tuple, at, walker.length(attribute), toast, out)) {
                continue;
            }
            if (oldKey != null && !oldWalked) {
                otherWalker.walk(oldKey);
                oldWalked = true;
            }
            int oldAt = oldKey == null ? AttributeWalker.NULL : otherWalker.offset(attribute);
            if (oldKey == null
                    || oldAt == AttributeWalker.NULL
                    || !append(i, oldKey, oldAt, otherWalker.length(attribute), toast, out)) {
                throw keyNull(plans[i]);
            }
        }
    }

    /** One key value in RowBinary form, -0 and NaN made one; false if its chunks are not here. */
    private boolean append(
            int i, TupleView tuple, int at, int length, ToastValues toast, ByteBuilder out) {
        int start = out.length();
        if (at == AttributeWalker.MISSING) {
            out.putBytes(plans[i].missing());
            unify(conversions[i], out.array(), start);
            return true;
        }
        byte[] bytes = tuple.buffer();
        int offset = at;
        int count = length;
        if (plans[i].varlena()) {
            payload.clear();
            if (!Varlena.isExternal(bytes, at)) {
                Detoaster.appendInline(bytes, at, length, payload);
            } else if (!external.fromChunks(bytes, at, toast, payload)) {
                return false;
            }
            bytes = payload.array();
            offset = 0;
            count = payload.length();
        }
        ColumnBuffer buffer = scratch[i];
        buffer.clear();
        if (!plans[i].reader().append(bytes, offset, count, buffer)) {
            throw keyNull(plans[i]);
        }
        buffer.rowBinary(0, out);
        unify(conversions[i], out.array(), start);
        return true;
    }

    private static void unify(Conversion conversion, byte[] bytes, int at) {
        if (conversion == Conversion.FLOAT64) {
            double value = Double.longBitsToDouble(LittleEndian.getLong(bytes, at));
            if (value == 0) {
                LittleEndian.putLong(bytes, at, 0);
            } else if (Double.isNaN(value)) {
                LittleEndian.putLong(bytes, at, FLOAT64_NAN);
            }
        } else if (conversion == Conversion.FLOAT32) {
            float value = Float.intBitsToFloat(LittleEndian.getInt(bytes, at));
            if (value == 0) {
                LittleEndian.putInt(bytes, at, 0);
            } else if (Float.isNaN(value)) {
                LittleEndian.putInt(bytes, at, FLOAT32_NAN);
            }
        }
    }

    /** The key as a SQL tuple of literals. */
    void appendLiteral(byte[] key, int offset, ByteBuilder out) {
        out.putByte('(');
        int at = offset;
        for (int i = 0; i < types.length; i++) {
            if (i > 0) {
                out.putByte(',');
            }
            at = KeyLiteral.append(types[i], key, at, out);
        }
        out.putByte(')');
    }

    static QuarantineException keyNull(ColumnPlan plan) {
        return new QuarantineException(
                MappingCodes.ROW,
                "key column "
                        + plan.name()
                        + " has no value that can be a key in this tuple; reload the table");
    }
}
