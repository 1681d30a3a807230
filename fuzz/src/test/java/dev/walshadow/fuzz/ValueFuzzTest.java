package dev.walshadow.fuzz;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.value.ArrayText;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.JsonbText;
import dev.walshadow.postgres.value.NumericScaler;
import dev.walshadow.postgres.value.NumericText;
import dev.walshadow.postgres.value.Pglz;
import dev.walshadow.postgres.value.SendForm;
import dev.walshadow.postgres.value.SendForms;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.TypeOid;
import dev.walshadow.postgres.value.ValueCodec;
import dev.walshadow.postgres.value.Varlena;
import java.util.Objects;

/** Values of any bytes: their text, or the typed failure. */
final class ValueFuzzTest {
    private static final int[] SCALARS = {
        TypeOid.BOOL, TypeOid.INT2, TypeOid.INT4, TypeOid.INT8, TypeOid.OID, TypeOid.XID8,
        TypeOid.FLOAT4, TypeOid.FLOAT8, TypeOid.MONEY, TypeOid.TEXT, TypeOid.NAME, TypeOid.CHAR,
        TypeOid.XML, TypeOid.BYTEA, TypeOid.UUID, TypeOid.BIT, TypeOid.VARBIT, TypeOid.MACADDR,
        TypeOid.MACADDR8, TypeOid.INET, TypeOid.CIDR, TypeOid.DATE, TypeOid.TIME, TypeOid.TIMETZ,
        TypeOid.TIMESTAMP, TypeOid.TIMESTAMPTZ, TypeOid.INTERVAL, TypeOid.PG_LSN
    };
    private static final NumericScaler[] SCALERS = {
        new NumericScaler(9, 2, 4), new NumericScaler(18, 5, 8),
        new NumericScaler(38, 10, 16), new NumericScaler(76, 76, 32)
    };

    private static void print(ValueCodec codec, byte[] bytes, int offset, int length) {
        ByteBuilder out = new ByteBuilder(64);
        out.putByte('!');
        try {
            codec.appendText(bytes, offset, length, out);
        } catch (QuarantineException e) {
            return;
        }
        Invariant.check(out.array()[0] == '!', "what was appended before stays");
    }

    private static ValueCodec codec(int typeOid) {
        return Objects.requireNonNull(Codecs.builtin(typeOid), "a codec of a built-in type");
    }

    @FuzzTest(maxDuration = "1m")
    void scalar(byte[] bytes) {
        if (bytes.length > 0) {
            int type = SCALARS[(bytes[0] & 0xFF) % SCALARS.length];
            print(codec(type), bytes, 1, bytes.length - 1);
        }
    }

    @FuzzTest(maxDuration = "1m")
    void numeric(byte[] bytes) {
        print(NumericText::append, bytes, 0, bytes.length);
        for (NumericScaler scaler : SCALERS) {
            ByteBuilder out = new ByteBuilder(64);
            try {
                int answer = scaler.append(bytes, 0, bytes.length, out);
                boolean written = answer == NumericScaler.OK || answer == NumericScaler.ROUNDED;
                Invariant.check(
                        out.length() == (written ? scaler.width() : 0),
                        "a scaled numeric has its column's width");
            } catch (QuarantineException e) {
                Invariant.check(out.length() == 0, "nothing is appended for a broken numeric");
            }
        }
    }

    @FuzzTest(maxDuration = "1m")
    void jsonb(byte[] bytes) {
        print(new JsonbText(), bytes, 0, bytes.length);
    }

    @FuzzTest(maxDuration = "1m")
    void array(byte[] bytes) {
        print(new ArrayText(4, 'i', ',', codec(TypeOid.INT4)), bytes, 0, bytes.length);
        print(new ArrayText(1, 'c', ';', codec(TypeOid.BOOL)), bytes, 0, bytes.length);
        print(new ArrayText(8, 'd', ',', codec(TypeOid.TIMESTAMPTZ)), bytes, 0, bytes.length);
        print(new ArrayText(-1, 'i', ',', codec(TypeOid.TEXT)), bytes, 0, bytes.length);
        print(new ArrayText(-1, 'i', ',', codec(TypeOid.NUMERIC)), bytes, 0, bytes.length);
        print(new ArrayText(-2, 'c', ',', codec(TypeOid.CSTRING)), bytes, 0, bytes.length);
    }

    /** What COPY sends; first byte: the type. */
    @FuzzTest(maxDuration = "1m")
    void sent(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        SendForm numeric = Objects.requireNonNull(SendForms.builtin(TypeOid.NUMERIC));
        SendForm int2 = Objects.requireNonNull(SendForms.builtin(TypeOid.INT2));
        SendForm scalar = SendForms.builtin(SCALARS[(bytes[0] & 0xFF) % SCALARS.length]);
        store(scalar == null ? SendForms.jsonbAsText() : scalar, bytes);
        store(numeric, bytes);
        store(SendForms.array(numeric, -1, 'i'), bytes);
        store(SendForms.array(int2, 2, 's'), bytes);
    }

    private static void store(SendForm form, byte[] bytes) {
        ByteBuilder out = new ByteBuilder(64);
        out.putByte('!');
        try {
            form.append(bytes, 1, bytes.length - 1, out);
        } catch (QuarantineException e) {
            return;
        }
        Invariant.check(out.array()[0] == '!', "what was appended before stays");
    }

    /** First two bytes: the raw size. */
    @FuzzTest(maxDuration = "1m")
    void pglz(byte[] bytes) {
        if (bytes.length < 2) {
            return;
        }
        int rawSize = (bytes[0] & 0xFF) | (bytes[1] & 0xFF) << 8;
        ByteBuilder out = new ByteBuilder(64);
        out.putLong(42);
        try {
            Pglz.decompress(bytes, 2, bytes.length - 2, rawSize, out);
            Invariant.check(out.length() == 8 + rawSize, "the raw size is met exactly");
        } catch (QuarantineException e) {
            Invariant.check(out.length() == 8, "nothing is appended for broken bytes");
        }
    }

    /** First byte: how many of the following ones are the datum, the rest are its chunks. */
    @FuzzTest(maxDuration = "1m")
    void varlena(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        int limit = Math.min(bytes.length, 1 + (bytes[0] & 0xFF));
        ByteBuilder out = new ByteBuilder(64);
        try {
            int total = Varlena.totalLength(bytes, 1, limit);
            Invariant.check(total > 0 && 1 + total <= limit, "a varlena ends inside its tuple");
            if (Varlena.isExternal(bytes, 1)) {
                ToastPointer pointer = new ToastPointer().wrap(bytes, 1);
                Detoaster.appendExternal(pointer, bytes, limit, bytes.length - limit, out);
            } else {
                Detoaster.appendInline(bytes, 1, total, out);
            }
        } catch (QuarantineException e) {
            Invariant.check(out.length() == 0, "nothing is appended for a broken datum");
        }
    }
}
