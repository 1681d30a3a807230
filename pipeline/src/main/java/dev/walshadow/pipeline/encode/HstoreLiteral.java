package dev.walshadow.pipeline.encode;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads an hstore as hstore_out prints it: {@code "a"=>"1", "b"=>NULL}. */
final class HstoreLiteral {
    private final String text;
    private int at;

    private HstoreLiteral(String text) {
        this.text = text;
    }

    /** The pairs in their order; a value may be null. */
    static Map<String, @Nullable String> parse(String text) {
        return new HstoreLiteral(text).pairs();
    }

    private Map<String, @Nullable String> pairs() {
        Map<String, @Nullable String> pairs = new LinkedHashMap<>();
        while (at < text.length()) {
            String key = quoted();
            expect("=>");
            if (text.startsWith("NULL", at)) {
                at += "NULL".length();
                pairs.put(key, null);
            } else {
                pairs.put(key, quoted());
            }
            if (at < text.length()) {
                expect(", ");
            }
        }
        return pairs;
    }

    private String quoted() {
        expect("\"");
        StringBuilder out = new StringBuilder();
        while (at < text.length() && text.charAt(at) != '"') {
            if (text.charAt(at) == '\\' && at + 1 < text.length()) {
                at++;
            }
            out.append(text.charAt(at++));
        }
        expect("\"");
        return out.toString();
    }

    private void expect(String word) {
        if (!text.startsWith(word, at)) {
            throw new IllegalArgumentException("no hstore as PostgreSQL prints it: " + text);
        }
        at += word.length();
    }
}
