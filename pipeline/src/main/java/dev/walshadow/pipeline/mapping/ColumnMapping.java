package dev.walshadow.pipeline.mapping;

import dev.walshadow.clickhouse.ClickHouseType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One source column and its target.
 *
 * @param attributeNumber attnum in the source, from 1
 * @param sourceName the column's name in the source
 * @param name the column's name in ClickHouse
 * @param type the ClickHouse type, Nullable and Array included
 * @param conversion of the value, or of an array's elements
 * @param dimensions 0 for a scalar, of an array as many as it was declared with, at least 1
 * @param typeOid the source type that {@code conversion} was chosen for, domains resolved; of an
 *     array: its element's
 * @param typeModifier its atttypmod, -1 if none
 * @param enumNumbers by number, of an enum that arrives as Enum16; else empty
 * @param transform what is sent instead of the values, whose text {@code conversion} gives; null:
 *     the values themselves
 * @param outOfRange what becomes of values that {@code type} cannot hold; null: the type's default
 */
public record ColumnMapping(
        int attributeNumber,
        String sourceName,
        String name,
        ClickHouseType type,
        Conversion conversion,
        int dimensions,
        int typeOid,
        int typeModifier,
        List<EnumNumber> enumNumbers,
        @Nullable Transform transform,
        @Nullable OutOfRange outOfRange) {
    public ColumnMapping {
        enumNumbers = List.copyOf(enumNumbers);
    }

    /** A column that is no enum, and arrives as it is. */
    public ColumnMapping(
            int attributeNumber,
            String sourceName,
            String name,
            ClickHouseType type,
            Conversion conversion,
            int dimensions,
            int typeOid,
            int typeModifier) {
        this(
                attributeNumber,
                sourceName,
                name,
                type,
                conversion,
                dimensions,
                typeOid,
                typeModifier,
                List.of(),
                null,
                null);
    }

    /** The same column, its values replaced. */
    public ColumnMapping withTransform(@Nullable Transform other) {
        return new ColumnMapping(
                attributeNumber,
                sourceName,
                name,
                type,
                conversion,
                dimensions,
                typeOid,
                typeModifier,
                enumNumbers,
                other,
                outOfRange);
    }

    /** The same column, with another policy for what its type cannot hold. */
    public ColumnMapping withOutOfRange(@Nullable OutOfRange other) {
        return new ColumnMapping(
                attributeNumber,
                sourceName,
                name,
                type,
                conversion,
                dimensions,
                typeOid,
                typeModifier,
                enumNumbers,
                transform,
                other);
    }

    /** The same column where it has another place in the source's table. */
    ColumnMapping at(int number) {
        return new ColumnMapping(
                number,
                sourceName,
                name,
                type,
                conversion,
                dimensions,
                typeOid,
                typeModifier,
                enumNumbers,
                transform,
                outOfRange);
    }
}
