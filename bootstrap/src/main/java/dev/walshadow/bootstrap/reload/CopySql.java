package dev.walshadow.bootstrap.reload;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.postgres.value.TypeOid;
import java.util.Locale;

/** The statements that name a table. Pure. */
final class CopySql {
    private static final int VARLENA = -1;

    /** lz4 makes values at most so many times smaller. */
    private static final int MOST_COMPRESSED = 256;

    private CopySql() {}

    /** For a session whose encoding is UTF8. */
    static String lock(RelationName name) {
        return "LOCK TABLE ONLY " + plain(name) + " IN ACCESS SHARE MODE";
    }

    /** The qualified name, for statements that are not COPY. */
    static String plain(RelationName name) {
        return plain(name.schema()) + "." + plain(name.name());
    }

    private static String plain(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }

    /**
     * The driver sends UTF-8 whatever the session's encoding is, so what is not ASCII is escaped;
     * but where the server knows no encoding, it takes no escapes and passes bytes as they are.
     */
    private static String identifier(String name, String encoding) {
        if (encoding.equals("SQL_ASCII") || name.chars().allMatch(c -> c < 0x80)) {
            return plain(name);
        }
        StringBuilder escaped = new StringBuilder("U&\"");
        name.codePoints()
                .forEach(c -> {
                    switch (c) {
                        case '"' -> escaped.append("\"\"");
                        case '\\' -> escaped.append("\\\\");
                        default -> {
                            if (c < 0x80) {
                                escaped.append((char) c);
                            } else {
                                escaped.append(String.format(Locale.ROOT, "\\+%06x", c));
                            }
                        }
                    }
                });
        return escaped.append('"').toString();
    }

    /**
     * Asks for ctid, the shape's columns, and the number of the first column whose value is beyond
     * the limit, else 0. Such a value is not sent.
     *
     * @param now the table as it is named now
     * @param encoding the database's and now the session's
     */
    static String copy(
            RelationDescriptor now,
            LoadShape shape,
            String encoding,
            ValueLimit limit,
            BlockRanges.Range range) {
        StringBuilder sql = new StringBuilder("COPY (SELECT ctid");
        StringBuilder oversized = new StringBuilder();
        for (LoadShape.Column column : shape.columns()) {
            AttributeDescriptor attribute = now.attributes().get(column.number() - 1);
            String name = identifier(attribute.name(), encoding);
            String asked = asked(column.asked(), name);
            if (attribute.length() == VARLENA) {
                String beyond = beyond(shape.isPlain(column), name, limit.bytes());
                oversized.append(" WHEN ").append(beyond).append(" THEN ").append(column.number());
                if (!shape.isKey(column)) {
                    asked =
                            "CASE WHEN "
                                    + beyond
                                    + " THEN "
                                    + instead(shape, column, name, limit)
                                    + " ELSE "
                                    + asked
                                    + " END";
                }
            }
            sql.append(", ").append(asked);
        }
        sql.append(oversized.isEmpty() ? ", 0" : ", CASE" + oversized + " ELSE 0 END");
        return sql.append(" FROM ONLY ")
                .append(identifier(now.name().schema(), encoding))
                .append('.')
                .append(identifier(now.name().name(), encoding))
                .append(range.condition())
                .append(") TO STDOUT (FORMAT binary)")
                .toString();
    }

    /**
     * Whether a value is larger than so many bytes. PostgreSQL tells the length of text and bytea
     * without reading them; of other types it is asked only where what is stored could be so large.
     */
    private static String beyond(boolean plain, String name, int bytes) {
        return plain
                ? "pg_catalog.octet_length(" + name + ") > " + bytes
                : "pg_catalog.pg_column_size("
                        + name
                        + ") > "
                        + bytes / MOST_COMPRESSED
                        + " AND pg_catalog.octet_length(pg_catalog.format('%s', "
                        + name
                        + ")) > "
                        + bytes;
    }

    /** What is sent of a value that is beyond the limit. */
    private static String instead(
            LoadShape shape, LoadShape.Column column, String name, ValueLimit limit) {
        if (limit.oversized() != ValueLimit.Oversized.TRUNCATE || !shape.canCut(column)) {
            return "NULL";
        }
        String left = "pg_catalog.left(" + name + ", " + limit.characters() + ")";
        return switch (shape.typeOid(column)) {
            case TypeOid.BYTEA -> "pg_catalog.substr(" + name + ", 1, " + limit.bytes() + ")";
            case TypeOid.BPCHAR -> left + "::pg_catalog.bpchar";
            default -> left;
        };
    }

    /** {@code IS NOT NULL} would ask each field of a composite; this asks the value itself. */
    private static String asked(LoadShape.Asked asked, String name) {
        return switch (asked) {
            case VALUE -> name;
            case OUTPUT ->
                    "CASE WHEN "
                            + name
                            + " IS DISTINCT FROM NULL THEN pg_catalog.format('%s', "
                            + name
                            + ") END";
            case CAST -> name + "::pg_catalog.text";
            case ARRAY_CAST, ARRAY_OUTPUT -> name + "::pg_catalog.text[]";
        };
    }
}
