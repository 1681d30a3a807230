package dev.walshadow.pipeline.encode;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads a one-dimensional array as array_out prints it: <code>{a,"b \"c\"",NULL}</code>. */
final class ArrayLiteral {
    private final String text;
    private int at = 1;

    private ArrayLiteral(String text) {
        this.text = text;
    }

    /** The elements; null for NULL. */
    static List<@Nullable String> parse(String text) {
        if (!text.startsWith("{") || !text.endsWith("}")) {
            throw new IllegalArgumentException("no one-dimensional array: " + text);
        }
        return new ArrayLiteral(text).elements();
    }

    private List<@Nullable String> elements() {
        List<@Nullable String> elements = new ArrayList<>();
        if (text.length() == 2) {
            return elements;
        }
        do {
            elements.add(text.charAt(at) == '"' ? quoted() : plain());
        } while (text.charAt(at++) == ',');
        if (at != text.length()) {
            throw new IllegalArgumentException("no one-dimensional array: " + text);
        }
        return elements;
    }

    private @Nullable String plain() {
        int start = at;
        while (text.charAt(at) != ',' && text.charAt(at) != '}') {
            if (text.charAt(at) == '{') {
                throw new IllegalArgumentException("more than one dimension: " + text);
            }
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
}
