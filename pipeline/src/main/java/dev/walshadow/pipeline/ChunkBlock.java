package dev.walshadow.pipeline;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.FixedColumn;
import dev.walshadow.clickhouse.NativeBlock;
import dev.walshadow.clickhouse.StringColumn;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastChunk;
import java.util.List;

/** Chunks of one table's TOAST relation on their way to {@link ChunkMirror}. Single-threaded. */
final class ChunkBlock {
    /** As the table's DDL has them. */
    private static final String COLUMNS =
            "value UInt32, chunk UInt32, data String, storage UInt32, place UInt64,"
                    + " version UInt128";

    private static final int BITS_OF_OFFSET = 16;

    private final NativeBlock block =
            new NativeBlock(
                    List.of("value", "chunk", "data", "storage", "place", "version"),
                    List.of(
                            Scalar.UINT32,
                            Scalar.UINT32,
                            Scalar.STRING,
                            Scalar.UINT32,
                            Scalar.UINT64,
                            Scalar.UINT128));

    private final FixedColumn value = block.fixed(0);
    private final FixedColumn number = block.fixed(1);
    private final StringColumn data = (StringColumn) block.column(2);
    private final FixedColumn storage = block.fixed(3);
    private final FixedColumn place = block.fixed(4);
    private final FixedColumn version = block.fixed(5);

    static String columns() {
        return COLUMNS;
    }

    /**
     * @param chunk of {@code record}
     */
    void append(ToastChunk chunk, RawRecord record, long commitPosition) {
        byte[] bytes = record.buffer();
        long offset = LittleEndian.getUnsignedShort(bytes, record.mainOffset());
        value.appendInt(chunk.valueId());
        number.appendInt(chunk.sequence());
        data.append(bytes, chunk.dataOffset(), chunk.dataLength());
        storage.appendInt(record.relationNumber());
        place.appendLong(Integer.toUnsignedLong(record.block0()) << BITS_OF_OFFSET | offset);
        version.appendInt128(record.lsn(), commitPosition);
    }

    int rows() {
        return block.rows();
    }

    NativeBlock nativeBlock() {
        return block;
    }
}
