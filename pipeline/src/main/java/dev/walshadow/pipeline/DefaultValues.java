package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ColumnBuffer;
import dev.walshadow.pipeline.encode.OldValues;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.List;

/** ClickHouse's default (NULL where it can be) for a value that nobody has. */
final class DefaultValues implements OldValues {
    private final List<ClickHouseType> types;

    DefaultValues(TableMapping mapping) {
        this.types = mapping.blockTypes();
    }

    @Override
    public boolean append(int column, ByteBuilder out) {
        ColumnBuffer one = ColumnBuffer.of(types.get(column));
        one.appendDefault();
        one.rowBinary(0, out);
        return true;
    }
}
