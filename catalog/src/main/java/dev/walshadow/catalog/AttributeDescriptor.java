package dev.walshadow.catalog;

import org.jspecify.annotations.Nullable;

/**
 * One column as {@code pg_attribute} has it. Dropped columns keep their place, since tuples do.
 *
 * @param number attnum, from 1
 * @param typeOid 0 when dropped; then only length, byValue and alignment are meaningful
 * @param typeModifier atttypmod, -1 if none
 * @param length attlen: above 0 fixed bytes, -1 varlena, -2 C string
 * @param alignment attalign: 'c', 's', 'i' or 'd'
 * @param storage attstorage: 'p', 'x', 'e' or 'm'
 * @param generated attgenerated: 's' stored, 'v' virtual (18), '\0' none
 * @param missingValue attmissingval's on-disk datum of a fast ADD COLUMN ... DEFAULT, as the type's
 *     output text; null if none
 * @param dimensions attndims: how many dimensions an array column was declared with; 0 says nothing
 */
public record AttributeDescriptor(
        int number,
        String name,
        int typeOid,
        int typeModifier,
        int length,
        boolean byValue,
        char alignment,
        char storage,
        boolean notNull,
        boolean dropped,
        char generated,
        @Nullable String missingValue,
        int dimensions) {

    /** An attribute that was declared without dimensions. */
    public AttributeDescriptor(
            int number,
            String name,
            int typeOid,
            int typeModifier,
            int length,
            boolean byValue,
            char alignment,
            char storage,
            boolean notNull,
            boolean dropped,
            char generated,
            @Nullable String missingValue) {
        this(
                number,
                name,
                typeOid,
                typeModifier,
                length,
                byValue,
                alignment,
                storage,
                notNull,
                dropped,
                generated,
                missingValue,
                0);
    }

    AttributeDescriptor withMissingValue(@Nullable String value) {
        return new AttributeDescriptor(
                number,
                name,
                typeOid,
                typeModifier,
                length,
                byValue,
                alignment,
                storage,
                notNull,
                dropped,
                generated,
                value,
                dimensions);
    }
}
