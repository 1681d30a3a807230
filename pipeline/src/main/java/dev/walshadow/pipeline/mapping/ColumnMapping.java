package dev.walshadow.pipeline.mapping;

import dev.walshadow.clickhouse.ClickHouseType;

/**
 * One source column and its target.
 *
 * @param attributeNumber attnum in the source, from 1
 * @param sourceName the column's name in the source
 * @param name the column's name in ClickHouse
 * @param type the ClickHouse type, Nullable and Array included
 * @param conversion of the value, or of an array's elements
 * @param dimensions 0 for a scalar, 1 for an array in the source
 * @param typeOid the source type that {@code conversion} was chosen for, domains resolved; of an
 *     array: its element's
 * @param typeModifier its atttypmod, -1 if none
 */
public record ColumnMapping(
        int attributeNumber,
        String sourceName,
        String name,
        ClickHouseType type,
        Conversion conversion,
        int dimensions,
        int typeOid,
        int typeModifier) {
    /** The same column where it has another place in the source's table. */
    ColumnMapping at(int number) {
        return new ColumnMapping(
                number, sourceName, name, type, conversion, dimensions, typeOid, typeModifier);
    }
}
