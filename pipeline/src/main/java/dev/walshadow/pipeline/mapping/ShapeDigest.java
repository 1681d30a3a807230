package dev.walshadow.pipeline.mapping;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Tells shapes of a target table apart: over attnums, names, types and key, so that a column that
 * was dropped and added again under its name gives another one. Where every version is kept, over
 * all that its rows depend on.
 */
public final class ShapeDigest {
    private ShapeDigest() {}

    /** Sixteen hexadecimal digits. */
    public static String of(TableMapping mapping) {
        StringBuilder shape = new StringBuilder();
        for (ColumnMapping column : mapping.columns()) {
            shape.append(column.attributeNumber()).append('\0');
            shape.append(column.name()).append('\0');
            shape.append(column.type().print()).append('\0');
        }
        shape.append(mapping.key()).append(mapping.blockNames());
        shape.append(mapping.meta().commitLsn()).append('\0').append(mapping.meta().lsn());
        if (mapping.append()) {
            rows(mapping, shape);
        }
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256")
                            .digest(shape.toString().getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    private static void rows(TableMapping mapping, StringBuilder shape) {
        shape.append("append");
        for (ColumnMapping column : mapping.columns()) {
            Transform transform = column.transform();
            shape.append('\0').append(column.conversion());
            shape.append('\0').append(transform == null ? "" : transform.print());
            shape.append('\0').append(column.outOfRange());
        }
        RowFilter filter = mapping.filter();
        shape.append('\0').append(filter == null ? "" : filter.print());
    }

    /** The comment of the version column of a table that is made in this shape. */
    static String comment(TableMapping mapping) {
        return "walshadow shape " + of(mapping) + " 0/0";
    }
}
