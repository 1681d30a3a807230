package dev.walshadow.pipeline;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the views of current rows are called: {@code {database}.{table}_current} or {@code
 * {database}_current.{table}}; both words must occur, so that views of different tables differ.
 *
 * @param pattern empty: there are none
 */
public record ViewNames(String pattern) {
    public static final ViewNames NONE = new ViewNames("");

    /** What it must look like, for messages. */
    public static final String EXPECTED =
            "a name with {database} and {table}, other than {database}.{table}; or empty";

    private static final Pattern WORD = Pattern.compile("\\{(\\w*)}");
    private static final String DATABASE = "{database}";
    private static final String TABLE = "{table}";

    /**
     * @throws IllegalArgumentException if it is no pattern
     */
    public ViewNames {
        if (!pattern.isEmpty()) {
            check(pattern);
        }
    }

    private static void check(String pattern) {
        Matcher word = WORD.matcher(pattern);
        while (word.find()) {
            if (!word.group().equals(DATABASE) && !word.group().equals(TABLE)) {
                throw new IllegalArgumentException("what is " + word.group() + "?");
            }
        }
        int dot = pattern.indexOf('.');
        if (dot <= 0 || dot != pattern.lastIndexOf('.') || dot == pattern.length() - 1) {
            throw new IllegalArgumentException("one dot between database and name is expected");
        }
        if (!pattern.contains(DATABASE) || !pattern.contains(TABLE)) {
            throw new IllegalArgumentException("views of different tables would have one name");
        }
        if (pattern.equals(DATABASE + "." + TABLE)) {
            throw new IllegalArgumentException("that is the table's own name");
        }
    }

    boolean isNone() {
        return pattern.isEmpty();
    }

    /** The name of a table's view. */
    TargetName of(TargetName table) {
        int dot = pattern.indexOf('.');
        return new TargetName(
                filled(pattern.substring(0, dot), table),
                filled(pattern.substring(dot + 1), table));
    }

    /** One pass: a name may itself have such a word in it. */
    private static String filled(String part, TargetName table) {
        return WORD.matcher(part)
                .replaceAll(word ->
                        Matcher.quoteReplacement(
                                word.group().equals(DATABASE) ? table.database() : table.table()));
    }
}
