package dev.walshadow.daemon.verify;

import dev.walshadow.clickhouse.ClickHouseType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Arrays and maps of both sides in one form: elements in quotes, the keys of maps sorted. Reads one
 * text from its beginning to its end. One use.
 */
final class NestedText {
    private final String text;
    private int at;

    /** Whether the element that was read last stood in quotes. */
    private boolean quoted;

    private NestedText(String text) {
        this.text = text;
    }

    /** An array as PostgreSQL prints it, of any dimensions; or a vector: {@code [1,2]}. */
    static String arrayOfSource(
            String text, ClickHouseType element, char delimiter, boolean nulls) {
        int equals = text.startsWith("[") ? text.indexOf('=') : -1;
        NestedText reader = new NestedText(text.substring(equals + 1));
        List<@Nullable String> elements = new ArrayList<>();
        while (reader.next(delimiter)) {
            String value = reader.element(delimiter, '"');
            boolean isNull = !reader.quoted && value.equalsIgnoreCase("NULL");
            elements.add(CanonicalText.ofSource(isNull ? null : value, element, delimiter, nulls));
        }
        return joined(elements);
    }

    /** ClickHouse: {@code [1,NULL,'a\\'b',[2]]}. */
    static String arrayOfTarget(String text, ClickHouseType element) {
        NestedText reader = new NestedText(text);
        List<@Nullable String> elements = new ArrayList<>();
        while (reader.next(',')) {
            String value = reader.element(',', '\'');
            boolean isNull = !reader.quoted && value.equals("NULL");
            elements.add(CanonicalText.ofTarget(isNull ? null : value, element));
        }
        return joined(elements);
    }

    private static String joined(List<@Nullable String> elements) {
        return "[" + String.join(",", elements.stream().map(NestedText::quote).toList()) + "]";
    }

    /** An hstore: {@code "a"=>"1", "b"=>NULL}. */
    static String mapOfSource(String text) {
        NestedText reader = new NestedText(text);
        Map<String, @Nullable String> pairs = new TreeMap<>();
        while (reader.at < text.length()) {
            String key = reader.quotedText('"');
            reader.at += "=>".length();
            if (text.startsWith("NULL", reader.at)) {
                reader.at += "NULL".length();
                pairs.put(key, null);
            } else {
                pairs.put(key, reader.quotedText('"'));
            }
            reader.at += ", ".length();
        }
        return joined(pairs);
    }

    /** ClickHouse: {@code {'a':'1','b':NULL}}. */
    static String mapOfTarget(String text) {
        NestedText reader = new NestedText(text);
        Map<String, @Nullable String> pairs = new TreeMap<>();
        reader.at = 1;
        while (reader.at < text.length() - 1) {
            String key = reader.quotedText('\'');
            reader.at++;
            if (text.startsWith("NULL", reader.at)) {
                reader.at += "NULL".length();
                pairs.put(key, null);
            } else {
                pairs.put(key, reader.quotedText('\''));
            }
            reader.at++;
        }
        return joined(pairs);
    }

    private static String joined(Map<String, @Nullable String> pairs) {
        List<String> texts = new ArrayList<>();
        pairs.forEach((key, value) -> texts.add(quote(key) + ":" + quote(value)));
        return "{" + String.join(",", texts) + "}";
    }

    /** Moves to the next element of the brackets that the text consists of. */
    private boolean next(char delimiter) {
        if (at > 0 && text.charAt(at) == delimiter) {
            at++;
            return true;
        }
        if (at > 0) {
            return false;
        }
        at = 1;
        return text.length() > 2;
    }

    /**
     * An element without its quotes, or a nested one with its brackets. PostgreSQL nests by braces
     * and puts text with braces in quotes, not text with brackets; ClickHouse nests by brackets and
     * puts all text in quotes.
     */
    private String element(char delimiter, char quote) {
        char first = text.charAt(at);
        char open = quote == '"' ? '{' : '[';
        char close = quote == '"' ? '}' : ']';
        quoted = first == quote;
        if (quoted) {
            return quotedText(quote);
        }
        int start = at;
        if (first == open) {
            int depth = 0;
            do {
                char c = text.charAt(at);
                if (c == quote) {
                    quotedText(quote);
                    continue;
                }
                depth += c == open ? 1 : c == close ? -1 : 0;
                at++;
            } while (depth > 0);
        } else {
            while (at < text.length() - 1 && text.charAt(at) != delimiter) {
                at++;
            }
        }
        return text.substring(start, at);
    }

    /** PostgreSQL's backslash keeps the next character; ClickHouse's also names control ones. */
    private String quotedText(char quote) {
        StringBuilder into = new StringBuilder();
        at++;
        while (text.charAt(at) != quote) {
            char c = text.charAt(at++);
            if (c == '\\') {
                c = text.charAt(at++);
                c = quote == '\'' ? unescape(c) : c;
            }
            into.append(c);
        }
        at++;
        return into.toString();
    }

    private static char unescape(char c) {
        return switch (c) {
            case 'n' -> '\n';
            case 't' -> '\t';
            case 'r' -> '\r';
            case 'b' -> '\b';
            case 'f' -> '\f';
            case '0' -> '\0';
            default -> c;
        };
    }

    private static String quote(@Nullable String value) {
        return value == null ? "NULL" : "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
