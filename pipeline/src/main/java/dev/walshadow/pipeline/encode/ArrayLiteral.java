package dev.walshadow.pipeline.encode;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads an array as array_out prints it: <code>{a,"b \"c\"",NULL}</code>, bounds in front (<code>
 * [0:1]=</code>) left out. Of an array of more dimensions the elements are its parts, each again in
 * braces.
 */
final class ArrayLiteral {
    private final String text;
    private final char delimiter;
    private int at;

    private ArrayLiteral(String text, char delimiter) {
        this.text = text;
        this.delimiter = delimiter;
    }

    /** The elements of an array of one dimension with commas; null for NULL. */
    static List<@Nullable String> parse(String text) {
        return parse(text, ',');
    }

    /** The elements, or the parts in braces; null for NULL. */
    static List<@Nullable String> parse(String text, char delimiter) {
        ArrayLiteral literal = new ArrayLiteral(text, delimiter);
        if (text.startsWith("[")) {
            literal.at = text.indexOf('=') + 1;
        }
        if (!text.startsWith("{", literal.at) || !text.endsWith("}")) {
            throw literal.bad();
        }
        literal.at++;
        return literal.elements();
    }

    private List<@Nullable String> elements() {
        List<@Nullable String> elements = new ArrayList<>();
        if (text.charAt(at) == '}') {
            return elements;
        }
        do {
            elements.add(
                    switch (text.charAt(at)) {
                        case '"' -> quoted();
                        case '{' -> part();
                        default -> plain();
                    });
        } while (text.charAt(at++) == delimiter);
        if (at != text.length()) {
            throw bad();
        }
        return elements;
    }

    /** Up to the matching brace; braces in quotes do not count. */
    private String part() {
        int start = at;
        int depth = 0;
        do {
            char c = text.charAt(at);
            if (c == '"') {
                quoted();
                continue;
            }
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
            at++;
        } while (depth > 0);
        return text.substring(start, at);
    }

    private @Nullable String plain() {
        int start = at;
        while (text.charAt(at) != delimiter && text.charAt(at) != '}') {
            at++;
        }
        String element = text.substring(start, at);
        return element.equalsIgnoreCase("NULL") ? null : element;
    }

    private String quoted() {
        StringBuilder element = new StringBuilder();
        at++;
        while (text.charAt(at) != '"') {
            if (text.charAt(at) == '\\') {
                at++;
            }
            element.append(text.charAt(at++));
        }
        at++;
        return element.toString();
    }

    private IllegalArgumentException bad() {
        return new IllegalArgumentException("no array as PostgreSQL prints it: " + text);
    }
}
