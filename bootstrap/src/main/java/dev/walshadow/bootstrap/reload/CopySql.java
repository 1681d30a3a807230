package dev.walshadow.bootstrap.reload;

import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationName;
import java.util.Locale;

/** The statements that name a table. Pure. */
final class CopySql {
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
     * Asks for ctid and the shape's columns.
     *
     * @param now the table as it is named now
     * @param encoding the database's and now the session's
     */
    static String copy(RelationDescriptor now, LoadShape shape, String encoding) {
        StringBuilder sql = new StringBuilder("COPY (SELECT ctid");
        for (LoadShape.Column column : shape.columns()) {
            AttributeDescriptor attribute = now.attributes().get(column.number() - 1);
            sql.append(", ").append(asked(column.asked(), identifier(attribute.name(), encoding)));
        }
        return sql.append(" FROM ONLY ")
                .append(identifier(now.name().schema(), encoding))
                .append('.')
                .append(identifier(now.name().name(), encoding))
                .append(") TO STDOUT (FORMAT binary)")
                .toString();
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
