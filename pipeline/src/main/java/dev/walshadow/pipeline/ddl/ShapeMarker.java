package dev.walshadow.pipeline.ddl;

import dev.walshadow.pipeline.mapping.ShapeDigest;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A comment on the version column that says to which shape the table was last altered, and how far:
 * {@code walshadow shape 0123456789abcdef 1/2}, by {@link ShapeDigest}. Of a statement that also
 * changes the table's parts, the number of the newest mutation before it follows: {@code walshadow
 * shape 0123456789abcdef 1/2 after 17}.
 */
record ShapeMarker(String digest) {
    private static final Pattern TEXT =
            Pattern.compile("walshadow shape ([0-9a-f]{16}) (\\d+)/(\\d+)(?: after (\\d+))?");

    static ShapeMarker of(TableMapping mapping) {
        return new ShapeMarker(ShapeDigest.of(mapping));
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

    /** Whether a table with this comment has this shape, and is not on its way to another. */
    boolean isComplete(String comment) {
        Matcher matcher = TEXT.matcher(comment);
        return matcher.matches()
                && matcher.group(1).equals(digest)
                && matcher.group(2).equals(matcher.group(3));
    }

    /**
     * How many statements towards this shape a comment tells of; Integer.MAX_VALUE: all of them; 0
     * if it is of another shape.
     */
    int finished(String comment) {
        if (isComplete(comment)) {
            return Integer.MAX_VALUE;
        }
        Matcher matcher = TEXT.matcher(comment);
        return matcher.matches() && matcher.group(1).equals(digest)
                ? Integer.parseInt(matcher.group(2))
                : 0;
    }

    /** Of how many statements a comment tells; 0 if of none. */
    static int count(String comment) {
        Matcher matcher = TEXT.matcher(comment);
        return matcher.matches() ? Integer.parseInt(matcher.group(3)) : 0;
    }
}
