package dev.walshadow.fuzz;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.value.ArrayText;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.CompositeText;
import dev.walshadow.postgres.value.EnumText;
import dev.walshadow.postgres.value.HstoreView;
import dev.walshadow.postgres.value.MultirangeText;
import dev.walshadow.postgres.value.RangeText;
import dev.walshadow.postgres.value.TypeOid;
import dev.walshadow.postgres.value.ValueCodec;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Values with an inner structure, of any bytes: their text, or the typed failure. */
final class StructuredValueFuzzTest {
    private static final int[] BUILTINS = {
        TypeOid.JSONPATH,
        TypeOid.TSVECTOR,
        TypeOid.TSQUERY,
        TypeOid.POINT,
        TypeOid.LSEG,
        TypeOid.BOX,
        TypeOid.LINE,
        TypeOid.CIRCLE,
        TypeOid.PATH,
        TypeOid.POLYGON,
        TypeOid.TID,
        TypeOid.PG_SNAPSHOT,
        TypeOid.INT2VECTOR,
        TypeOid.OIDVECTOR,
        TypeOid.REGCLASS
    };
    private static final String[] EXTENSIONS = {
        "hstore", "ltree", "cube", "vector", "halfvec", "sparsevec", "geometry"
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

    private static ValueCodec known(@Nullable ValueCodec codec) {
        return Objects.requireNonNull(codec, "a codec");
    }

    @FuzzTest(maxDuration = "1m")
    void jsonpath(byte[] bytes) {
        print(known(Codecs.builtin(TypeOid.JSONPATH)), bytes, 0, bytes.length);
    }

    @FuzzTest(maxDuration = "1m")
    void tsquery(byte[] bytes) {
        print(known(Codecs.builtin(TypeOid.TSQUERY)), bytes, 0, bytes.length);
    }

    /** First byte: which type. */
    @FuzzTest(maxDuration = "1m")
    void others(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        int which = (bytes[0] & 0xFF) % (BUILTINS.length + EXTENSIONS.length);
        ValueCodec codec =
                which < BUILTINS.length
                        ? Codecs.builtin(BUILTINS[which])
                        : Codecs.byName(EXTENSIONS[which - BUILTINS.length]);
        print(known(codec), bytes, 1, bytes.length - 1);
    }

    private static CompositeText composite(ValueCodec second) {
        return new CompositeText(
                new CompositeText.Field(4, 'i', known(Codecs.builtin(TypeOid.INT4)), null),
                new CompositeText.Field(-1, 'd', null, null),
                new CompositeText.Field(-1, 'd', second, null),
                new CompositeText.Field(8, 'd', known(Codecs.builtin(TypeOid.FLOAT8)), null));
    }

    @FuzzTest(maxDuration = "1m")
    void composite(byte[] bytes) {
        ValueCodec text = known(Codecs.builtin(TypeOid.TEXT));
        CompositeText inner = composite(text);
        print(inner, bytes, 0, bytes.length);
        print(composite(inner), bytes, 0, bytes.length);
        print(new ArrayText(-1, 'd', ',', inner), bytes, 0, bytes.length);
        print(composite(new ArrayText(-1, 'i', ';', text)), bytes, 0, bytes.length);
    }

    @FuzzTest(maxDuration = "1m")
    void range(byte[] bytes) {
        RangeText numbers = new RangeText(4, 'i', known(Codecs.builtin(TypeOid.INT4)));
        RangeText texts = new RangeText(-1, 'i', known(Codecs.builtin(TypeOid.TEXT)));
        RangeText rows = new RangeText(-1, 'd', composite(known(Codecs.builtin(TypeOid.NUMERIC))));
        EnumText labels = new EnumText(new int[] {1, 2}, new byte[][] {{'a'}, {'b'}});
        for (RangeText range : new RangeText[] {numbers, texts, rows}) {
            print(range, bytes, 0, bytes.length);
            print(new MultirangeText(range), bytes, 0, bytes.length);
        }
        print(new MultirangeText(new RangeText(4, 'i', labels)), bytes, 0, bytes.length);
    }

    @FuzzTest(maxDuration = "1m")
    void hstore(byte[] bytes) {
        HstoreView view = new HstoreView();
        try {
            view.wrap(bytes, 0, bytes.length);
            while (view.next()) {
                Invariant.check(
                        view.keyOffset() + view.keyLength() == view.valueOffset()
                                && view.valueOffset() + view.valueLength() <= bytes.length,
                        "keys and values lie inside the value");
            }
        } catch (QuarantineException e) {
            return;
        }
        Invariant.check(view.count() >= 0, "a count is not negative");
    }
}
