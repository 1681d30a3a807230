package dev.walshadow.postgres.value;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/** What {@code enum_out} prints: a value is its label's OID. Immutable. */
public final class EnumText implements ValueCodec {
    private final int[] oids;
    private final byte[][] labels;

    /**
     * @param oids pg_enum.oid of each label
     * @param labels in the database's encoding
     */
    public EnumText(int[] oids, byte[][] labels) {
        Invariant.check(oids.length == labels.length, "one label per OID");
        int[] order =
                IntStream.range(0, oids.length)
                        .boxed()
                        .sorted(Comparator.comparingInt(i -> oids[i]))
                        .mapToInt(Integer::intValue)
                        .toArray();
        this.oids = Arrays.stream(order).map(i -> oids[i]).toArray();
        this.labels = Arrays.stream(order).mapToObj(i -> labels[i]).toArray(byte[][]::new);
    }

    @Override
    public void appendText(byte[] bytes, int offset, int length, ByteBuilder out) {
        Malformed.requireLength("enum", Integer.BYTES, bytes, offset, length);
        int oid = LittleEndian.getInt(bytes, offset);
        int at = Arrays.binarySearch(oids, oid);
        if (at < 0) {
            throw Malformed.value(
                    "enum", "the OID of one of its labels", Integer.toUnsignedString(oid), offset);
        }
        out.putBytes(labels[at]);
    }
}
