package dev.walshadow.pipeline.ddl;

import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A comment on the version column that says to which shape the table was last altered, and how far:
 * {@code walshadow shape 0123456789abcdef 1/2}. The digest is over attnums, names, types and key,
 * so a column that was dropped and added again under its name gives another one. Of a statement
 * that also changes the table's parts, the number of the newest mutation before it follows: {@code
 * walshadow shape 0123456789abcdef 1/2 after 17}.
 */
record ShapeMarker(String digest) {
    private static final Pattern TEXT =
            Pattern.compile("walshadow shape ([0-9a-f]{16}) (\\d+)/(\\d+)(?: after (\\d+))?");

    static ShapeMarker of(TableMapping mapping) {
        StringBuilder shape = new StringBuilder();
        for (ColumnMapping column : mapping.columns()) {
            shape.append(column.attributeNumber()).append('\0');
            shape.append(column.name()).append('\0');
            shape.append(column.type().print()).append('\0');
        }
        shape.append(mapping.key()).append(mapping.blockNames());
        shape.append(mapping.meta().commitLsn()).append('\0').append(mapping.meta().lsn());
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256")
                            .digest(shape.toString().getBytes(StandardCharsets.UTF_8));
            return new ShapeMarker(HexFormat.of().formatHex(digest, 0, 8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** The comment after statement {@code number} of {@code count}. */
    String text(int number, int count) {
        return "walshadow shape " + digest + " " + number + "/" + count;
    }

    /** The number of the newest mutation before the statement; -1 if the comment does not tell. */
    static long mutationBefore(String comment) {
        Matcher matcher = TEXT.matcher(comment);
        return matcher.matches() && matcher.group(4) != null
                ? Long.parseLong(matcher.group(4))
                : -1;
    }

    /** How many statements towards this shape a comment tells of; 0 if it is of another shape. */
    int finished(String comment) {
        Matcher matcher = TEXT.matcher(comment);
        return matcher.matches() && matcher.group(1).equals(digest)
                ? Integer.parseInt(matcher.group(2))
                : 0;
    }
}
