package dev.walshadow.daemon.verify;

import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import java.util.Set;

/**
 * Text and bytea whose bytes are the same on both sides: of values of more than 1 MB, each side
 * shows the SHA-256. PostgreSQL cannot print a bytea of more than 512 MB, nor a row of more than 1
 * GB, and neither would be held here.
 */
final class LargeValues {
    private static final long LEAST_BYTES = (1 << 20) + 1;

    private static final Set<String> TEXT = Set.of("text", "varchar");

    private LargeValues() {}

    /**
     * @param type PostgreSQL's, as {@link ComparedTable.Column#sourceType}
     * @param utf8 the source's encoding
     */
    static boolean has(ColumnMapping column, boolean key, String type, boolean utf8) {
        return !key
                && column.transform() == null
                && column.type().bare() == Scalar.STRING
                && (column.conversion() == Conversion.BYTES || (utf8 && TEXT.contains(type)));
    }

    /** What PostgreSQL shows of a column. */
    static String source(ComparedTable.Column column, String name) {
        String bytes =
                TEXT.contains(column.sourceType()) ? "convert_to(" + name + ", 'UTF8')" : name;
        return "CASE WHEN octet_length(%s) < %d THEN %s::text ELSE encode(sha256(%s), 'hex') END"
                .formatted(name, LEAST_BYTES, name, bytes);
    }

    /**
     * What ClickHouse shows of it.
     *
     * @param shown of a value that is not large
     */
    static String target(String name, String shown) {
        return "if(length(%s) < %d, %s, lower(hex(SHA256(%s))))"
                .formatted(name, LEAST_BYTES, shown, name);
    }
}
