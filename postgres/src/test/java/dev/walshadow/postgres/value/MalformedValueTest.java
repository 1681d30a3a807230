package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Values that no PostgreSQL writes. */
final class MalformedValueTest {
    private static final int ARRAY_OF_ONE = 0x4000_0001;
    private static final int EMPTY_ARRAY = 0x4000_0000;
    private static final int CONTAINER = 0x5000_0000;

    @Test
    void printsJsonbNestedDeeperThanAnyThreadStack() {
        int levels = 1_000_000;
        // each level: header, one entry; the innermost has a header only
        byte[] bytes = new byte[8 * levels + 4];
        for (int i = 0; i < levels; i++) {
            LittleEndian.putInt(bytes, 8 * i, ARRAY_OF_ONE);
            LittleEndian.putInt(bytes, 8 * i + 4, CONTAINER | (bytes.length - 8 * i - 8));
        }
        LittleEndian.putInt(bytes, 8 * levels, EMPTY_ARRAY);
        ByteBuilder out = new ByteBuilder(16);
        new JsonbText().appendText(bytes, 0, bytes.length, out);
        assertThat(out.length()).isEqualTo(2 * levels + 2);
        assertThat(out.array()[levels]).isEqualTo((byte) '[');
        assertThat(out.array()[levels + 1]).isEqualTo((byte) ']');
    }

    @Test
    void refusesJsonbWhoseChildrenOverlap() {
        // two children that both claim the same bytes would double the work per level
        byte[] bytes = new byte[24];
        LittleEndian.putInt(bytes, 0, 0x4000_0002);
        LittleEndian.putInt(bytes, 4, CONTAINER | 0x8000_0000 | 8);
        LittleEndian.putInt(bytes, 8, CONTAINER | 0x8000_0000 | 4);
        LittleEndian.putInt(bytes, 12, EMPTY_ARRAY);
        LittleEndian.putInt(bytes, 16, EMPTY_ARRAY);
        assertThatThrownBy(() ->
                        new JsonbText().appendText(bytes, 0, bytes.length, new ByteBuilder(16)))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("inside its container");
    }

    @Test
    void refusesScalarsOfAnotherLength() {
        byte[] bytes = new byte[40];
        for (int oid :
                new int[] {
                    TypeOid.BOOL,
                    TypeOid.INT2,
                    TypeOid.INT4,
                    TypeOid.INT8,
                    TypeOid.OID,
                    TypeOid.FLOAT4,
                    TypeOid.FLOAT8,
                    TypeOid.DATE,
                    TypeOid.TIME,
                    TypeOid.TIMETZ,
                    TypeOid.TIMESTAMP,
                    TypeOid.INTERVAL,
                    TypeOid.UUID,
                    TypeOid.MONEY,
                    TypeOid.PG_LSN,
                    TypeOid.MACADDR,
                    TypeOid.CHAR,
                    TypeOid.XID8
                }) {
            ValueCodec codec = Objects.requireNonNull(Codecs.builtin(oid));
            for (int length : new int[] {0, 3, 40}) {
                assertThatThrownBy(() -> codec.appendText(bytes, 0, length, new ByteBuilder(16)))
                        .as("type %d of %d bytes", oid, length)
                        .isInstanceOf(QuarantineException.class);
            }
        }
    }

    @Test
    void refusesArraysThatPromiseMoreThanTheyHold() {
        byte[] bytes = new byte[28];
        LittleEndian.putInt(bytes, 0, 1);
        LittleEndian.putInt(bytes, 8, TypeOid.INT4);
        LittleEndian.putInt(bytes, 12, 1 << 28);
        LittleEndian.putInt(bytes, 16, 1);
        ArrayView view = new ArrayView();
        assertThatThrownBy(() -> view.wrap(bytes, 0, bytes.length))
                .isInstanceOf(QuarantineException.class);
        LittleEndian.putInt(bytes, 12, 3);
        view.wrap(bytes, 0, bytes.length);
        view.start(4, 'i');
        assertThat(view.next()).isTrue();
        assertThat(view.next()).isTrue();
        assertThatThrownBy(view::next).isInstanceOf(QuarantineException.class);
    }

    @Test
    void answersRandomBytesWithAValueOrATypedFailure() {
        Random random = new Random(17);
        ByteBuilder out = new ByteBuilder(1 << 16);
        ValueCodec[] codecs = {
            new JsonbText(),
            NumericText::append,
            new ArrayText(4, 'i', ',', IntegerText::int4),
            new ArrayText(-1, 'i', ',', TextValues::text),
            NetworkText::inet,
            TextValues::bits
        };
        int[] answers = new int[2];
        for (int round = 0; round < 60_000; round++) {
            byte[] bytes = new byte[random.nextInt(64)];
            random.nextBytes(bytes);
            for (int at = 0; at + 4 <= bytes.length; at += 4) {
                if (random.nextBoolean()) {
                    LittleEndian.putInt(bytes, at, random.nextInt(4) << 28 | random.nextInt(9));
                }
            }
            out.clear();
            try {
                codecs[round % codecs.length].appendText(bytes, 0, bytes.length, out);
                answers[0]++;
            } catch (QuarantineException e) {
                answers[1]++;
            }
        }
        assertThat(answers[0]).isGreaterThan(1_000);
        assertThat(answers[1]).isGreaterThan(1_000);
    }

    @Test
    void refusesSentValuesThatAreCut() {
        SendForm numeric = Objects.requireNonNull(SendForms.builtin(TypeOid.NUMERIC));
        SendForm text = Objects.requireNonNull(SendForms.builtin(TypeOid.TEXT));
        SendForm inet = Objects.requireNonNull(SendForms.builtin(TypeOid.INET));
        SendForm bits = Objects.requireNonNull(SendForms.builtin(TypeOid.VARBIT));
        SendForm uuid = Objects.requireNonNull(SendForms.builtin(TypeOid.UUID));
        cut(numeric, "0002 0001 4000 0002 0001 0bb8");
        cut(inet, "02 20 00 04 01020304");
        cut(bits, "00000009 ff80");
        cut(uuid, "00112233445566778899aabbccddeeff");
        cut(
                SendForms.array(text, -1, 'i'),
                "00000001 00000001 00000019 00000002 00000001 ffffffff 00000003 616263");
    }

    private static void cut(SendForm form, String hex) {
        byte[] bytes = HexFormat.of().parseHex(hex.replace(" ", ""));
        form.append(bytes, 0, bytes.length, new ByteBuilder(16));
        for (int length = 0; length < bytes.length; length++) {
            int shorter = length;
            assertThatThrownBy(() -> form.append(bytes, 0, shorter, new ByteBuilder(16)))
                    .as("%s cut at %d", hex, length)
                    .isInstanceOf(QuarantineException.class);
        }
    }

    private static CompositeText pair() {
        return new CompositeText(
                new CompositeText.Field(4, 'i', IntegerText::int4, null),
                new CompositeText.Field(-1, 'i', TextValues::text, null));
    }

    @Test
    void answersRandomBytesOfEveryStructureWithAValueOrATypedFailure() {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        ValueCodec[] codecs = {
            codec(TypeOid.JSONPATH),
            codec(TypeOid.TSVECTOR),
            codec(TypeOid.TSQUERY),
            codec(TypeOid.PATH),
            codec(TypeOid.POLYGON),
            codec(TypeOid.PG_SNAPSHOT),
            codec(TypeOid.OIDVECTOR),
            pair(),
            new ArrayText(-1, 'd', ',', pair()),
            new RangeText(-1, 'i', TextValues::text),
            new RangeText(8, 'd', IntegerText::int8),
            new MultirangeText(new RangeText(4, 'i', IntegerText::int4)),
            new MultirangeText(new RangeText(-1, 'd', pair())),
            new EnumText(new int[] {1, 2, 3}, new byte[][] {{'a'}, {'b'}, {'c'}}),
            named("hstore"),
            named("ltree"),
            named("cube"),
            named("vector"),
            named("halfvec"),
            named("sparsevec")
        };
        ByteBuilder out = new ByteBuilder(1 << 16);
        int[] printed = new int[codecs.length];
        for (int round = 0; round < 100_000; round++) {
            byte[] bytes = new byte[random.nextInt(72)];
            random.nextBytes(bytes);
            for (int at = 0; at + 4 <= bytes.length; at += 4) {
                if (random.nextInt(3) > 0) {
                    LittleEndian.putInt(bytes, at, random.nextInt(4) << 28 | random.nextInt(9));
                }
            }
            out.clear();
            int which = round % codecs.length;
            try {
                codecs[which].appendText(bytes, 0, bytes.length, out);
                printed[which]++;
            } catch (QuarantineException e) {
                assertThat(e.code()).as("seed %d", seed).isNotNull();
            }
            assertThat(out.length()).as("seed %d", seed).isLessThan(1 << 20);
        }
        assertThat(printed[9]).as("ranges of text, seed %d", seed).isPositive();
    }

    private static ValueCodec codec(int typeOid) {
        return Objects.requireNonNull(Codecs.builtin(typeOid));
    }

    private static ValueCodec named(String name) {
        return Objects.requireNonNull(Codecs.byName(name));
    }

    @Test
    void printsVectorsAsTheirExtensionDoes() {
        byte[] vector = new byte[16];
        vector[0] = 3;
        LittleEndian.putInt(vector, 4, Float.floatToRawIntBits(1.5f));
        LittleEndian.putInt(vector, 8, Float.floatToRawIntBits(-0.1f));
        LittleEndian.putInt(vector, 12, Float.floatToRawIntBits(1e10f));
        assertThat(print(named("vector"), vector)).isEqualTo("[1.5,-0.1,1e+10]");
        byte[] half = {2, 0, 0, 0, 0, 0x3C, 0, (byte) 0xC1};
        assertThat(print(named("halfvec"), half)).isEqualTo("[1,-2.5]");
        byte[] sparse = new byte[28];
        sparse[0] = 5;
        sparse[4] = 2;
        LittleEndian.putInt(sparse, 16, 2);
        LittleEndian.putInt(sparse, 20, Float.floatToRawIntBits(1.5f));
        LittleEndian.putInt(sparse, 24, Float.floatToRawIntBits(2f));
        assertThat(print(named("sparsevec"), sparse)).isEqualTo("{1:1.5,3:2}/5");
    }

    private static String print(ValueCodec codec, byte[] bytes) {
        ByteBuilder out = new ByteBuilder(64);
        codec.appendText(bytes, 0, bytes.length, out);
        return out.toString();
    }

    @Test
    void refusesTreesThatGoInCircles() {
        // an "and" whose left operand is itself
        byte[] query = new byte[28];
        LittleEndian.putInt(query, 0, 2);
        query[4] = 2;
        query[5] = 2;
        LittleEndian.putInt(query, 8, 0);
        assertThatThrownBy(() -> print(codec(TypeOid.TSQUERY), query))
                .isInstanceOf(QuarantineException.class);
        // a path whose next item is itself, or before it
        byte[] path = new byte[16];
        LittleEndian.putInt(path, 0, 0x8000_0001);
        path[4] = 27;
        LittleEndian.putInt(path, 8, -4);
        assertThatThrownBy(() -> print(codec(TypeOid.JSONPATH), path))
                .isInstanceOf(QuarantineException.class);
    }
}
