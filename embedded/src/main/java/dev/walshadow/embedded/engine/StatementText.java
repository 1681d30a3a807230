package dev.walshadow.embedded.engine;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the front must know of a statement before the engine sees it: whether rows follow an INSERT
 * in the same text, where they begin and in which format; and the FORMAT clause of anything else.
 * It finds words outside of literals, quoted names, comments and parentheses; it is no parser.
 *
 * @param kind what kind of statement
 * @param format the FORMAT clause, {@code Values} for VALUES; null if there is none
 * @param headLength for an INSERT with data: length of the text before FORMAT or VALUES
 * @param dataOffset for an INSERT with data: where its data begins
 */
record StatementText(Kind kind, @Nullable String format, int headLength, int dataOffset) {
    enum Kind {
        /** Rows follow, in this text or behind it. */
        INSERT_DATA,
        /** A query that can be streamed. */
        SELECT,
        OTHER
    }

    private static final Set<String> SELECT_WORDS = Set.of("SELECT", "WITH", "FROM");

    static StatementText of(byte[] text, int length) {
        Scanner scanner = new Scanner(text, length);
        String first = scanner.next();
        if (first == null) {
            return new StatementText(Kind.OTHER, null, length, length);
        }
        return first.equals("INSERT")
                ? insert(scanner, length)
                : other(scanner, SELECT_WORDS.contains(first), length);
    }

    private static StatementText insert(Scanner scanner, int length) {
        for (String word = scanner.next(); word != null; word = scanner.next()) {
            int start = scanner.wordStart;
            if (word.equals("SELECT") || word.equals("WITH") || word.equals("INFILE")) {
                return other(scanner, false, length);
            }
            if (word.equals("VALUES")) {
                return new StatementText(Kind.INSERT_DATA, "Values", start, scanner.at);
            }
            if (word.equals("FORMAT")) {
                String format = scanner.nextName();
                if (format != null) {
                    int data = scanner.afterLineEnd();
                    return new StatementText(Kind.INSERT_DATA, format, start, data);
                }
            }
        }
        return scanner.selectInParentheses
                ? new StatementText(Kind.OTHER, null, length, length)
                : new StatementText(Kind.INSERT_DATA, null, length, length);
    }

    private static StatementText other(Scanner scanner, boolean select, int length) {
        String format = null;
        for (String word = scanner.next(); word != null; word = scanner.next()) {
            if (word.equals("FORMAT")) {
                String name = scanner.nextName();
                format = name == null ? format : name;
            }
        }
        return new StatementText(select ? Kind.SELECT : Kind.OTHER, format, length, length);
    }

    /** Words at parenthesis depth 0, in upper case. */
    private static final class Scanner {
        private final byte[] text;
        private final int length;
        private int at;
        private int wordStart;
        private int depth;
        private boolean selectInParentheses;

        Scanner(byte[] text, int length) {
            this.text = text;
            this.length = length;
        }

        @Nullable String next() {
            String name = nextName();
            return name == null ? null : name.toUpperCase(Locale.ROOT);
        }

        @Nullable String nextName() {
            while (at < length) {
                int c = text[at];
                if (isWord(c)) {
                    wordStart = at;
                    while (at < length && isWord(text[at])) {
                        at++;
                    }
                    String word =
                            new String(text, wordStart, at - wordStart, StandardCharsets.US_ASCII);
                    if (depth == 0) {
                        return word;
                    }
                    selectInParentheses |= depth == 1 && word.equalsIgnoreCase("SELECT");
                } else {
                    skipOther(c);
                }
            }
            return null;
        }

        /** Blanks and one line end may separate a format's name from the data. */
        int afterLineEnd() {
            int data = at;
            while (data < length && (text[data] == ' ' || text[data] == '\t')) {
                data++;
            }
            if (data < length && text[data] == '\r') {
                data++;
            }
            return data < length && text[data] == '\n' ? data + 1 : data;
        }

        private void skipOther(int c) {
            if (c == '\'' || c == '"' || c == '`') {
                skipQuoted(c);
            } else if (c == '-' && at + 1 < length && text[at + 1] == '-') {
                skipPast('\n');
            } else if (c == '/' && at + 1 < length && text[at + 1] == '*') {
                at += 2;
                while (at + 1 < length && !(text[at] == '*' && text[at + 1] == '/')) {
                    at++;
                }
                at = Math.min(length, at + 2);
            } else {
                depth += c == '(' ? 1 : c == ')' ? -1 : 0;
                at++;
            }
        }

        private void skipQuoted(int quote) {
            at++;
            while (at < length && text[at] != quote) {
                at += text[at] == '\\' ? 2 : 1;
            }
            at = Math.min(length, at + 1);
        }

        private void skipPast(int end) {
            while (at < length && text[at] != end) {
                at++;
            }
            at = Math.min(length, at + 1);
        }

        private static boolean isWord(int c) {
            return (c >= 'a' && c <= 'z')
                    || (c >= 'A' && c <= 'Z')
                    || (c >= '0' && c <= '9')
                    || c == '_';
        }
    }
}
