package dev.walshadow.pipeline.encode;

import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.encode.ValueLimit.Oversized;
import java.util.Map;

/**
 * The limit of every table's values.
 *
 * @param bytes as {@link ValueLimit#bytes}
 * @param oversized for tables that are not in {@code tables}
 * @param tables by source name, without a database where only one is followed
 */
public record ValueLimits(int bytes, Oversized oversized, Map<RelationName, Oversized> tables) {
    public static final ValueLimits NONE =
            new ValueLimits(ValueLimit.NONE.bytes(), ValueLimit.NONE.oversized(), Map.of());

    public ValueLimits {
        tables = Map.copyOf(tables);
    }

    public ValueLimit of(RelationName table) {
        Oversized own = tables.get(table);
        return new ValueLimit(
                bytes, own != null ? own : tables.getOrDefault(table.in(""), oversized));
    }
}
