package dev.walshadow.pipeline.encode;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.pipeline.mapping.EnumNumber;
import dev.walshadow.pipeline.mapping.MappingCodes;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** An enum's label OID into the number that its label was given. */
final class EnumReader extends ValueReader {
    private final int[] oids;
    private final short[] numbers;

    EnumReader(List<EnumNumber> labels) {
        List<EnumNumber> sorted =
                labels.stream().sorted(Comparator.comparingInt(EnumNumber::labelOid)).toList();
        this.oids = sorted.stream().mapToInt(EnumNumber::labelOid).toArray();
        this.numbers = new short[oids.length];
        for (int i = 0; i < oids.length; i++) {
            numbers[i] = (short) sorted.get(i).number();
        }
    }

    @Override
    boolean append(byte[] bytes, int offset, int length, ColumnBuffer out) {
        int oid = LittleEndian.getInt(bytes, offset);
        int at = Arrays.binarySearch(oids, oid);
        if (at < 0) {
            throw new QuarantineException(
                    MappingCodes.VALUE,
                    "expected one of the "
                            + oids.length
                            + " labels that the enum has in the captured catalog, found the label"
                            + " OID "
                            + Integer.toUnsignedString(oid));
        }
        ((FixedColumn) out).appendShort(numbers[at]);
        return true;
    }
}
