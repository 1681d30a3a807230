package dev.walshadow.clickhouse;

import dev.walshadow.clickhouse.ClickHouseType.EnumValue;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.clickhouse.ClickHouseType.TupleElement;
import java.util.ArrayList;
import java.util.List;

/** Recursive descent over ClickHouse's type language. One use. */
final class TypeParser {
    private final String text;
    private int at;

    TypeParser(String text) {
        this.text = text;
    }

    ClickHouseType parseAll() {
        ClickHouseType type = type();
        skipSpaces();
        if (at != text.length()) {
            throw bad("the end");
        }
        return type;
    }

    private ClickHouseType type() {
        skipSpaces();
        int start = at;
        String name = word();
        Scalar scalar = Scalar.named(name);
        if (scalar != null && !peek('(')) {
            return scalar;
        }
        return switch (name) {
            case "Nullable" -> new ClickHouseType.Nullable(only());
            case "LowCardinality" -> new ClickHouseType.LowCardinality(only());
            case "Array" -> new ClickHouseType.Array(only());
            case "Map" -> map();
            case "Tuple" -> tuple();
            case "FixedString" -> new ClickHouseType.FixedString(numbers(1)[0]);
            case "Decimal" -> {
                int[] both = numbers(2);
                yield new ClickHouseType.Decimal(both[0], both[1]);
            }
            case "Time64" -> new ClickHouseType.Time64(numbers(1)[0]);
            case "DateTime" -> new ClickHouseType.DateTime(peek('(') ? onlyString() : "");
            case "DateTime64" -> dateTime64();
            case "Enum8" -> enumeration(8);
            case "Enum16" -> enumeration(16);
            default -> other(start);
        };
    }

    private ClickHouseType only() {
        expect('(');
        ClickHouseType inner = type();
        expect(')');
        return inner;
    }

    private ClickHouseType map() {
        expect('(');
        ClickHouseType key = type();
        expect(',');
        ClickHouseType value = type();
        expect(')');
        return new ClickHouseType.Map(key, value);
    }

    private ClickHouseType tuple() {
        List<TupleElement> elements = new ArrayList<>();
        expect('(');
        do {
            skipSpaces();
            elements.add(tupleElement());
        } while (accept(','));
        expect(')');
        return new ClickHouseType.Tuple(elements);
    }

    /** {@code name Type} or {@code Type}: a name is quoted, or a word with another word behind. */
    private TupleElement tupleElement() {
        if (peek('`')) {
            String name = quoted('`');
            return new TupleElement(name, type());
        }
        int start = at;
        String name = word();
        int afterName = at;
        skipSpaces();
        boolean named = at > afterName && at < text.length() && isWord(text.charAt(at));
        if (!named) {
            at = start;
            return new TupleElement("", type());
        }
        return new TupleElement(name, type());
    }

    private ClickHouseType dateTime64() {
        expect('(');
        int precision = number();
        String zone = "";
        if (accept(',')) {
            skipSpaces();
            zone = quoted('\'');
        }
        expect(')');
        return new ClickHouseType.DateTime64(precision, zone);
    }

    private ClickHouseType enumeration(int bits) {
        List<EnumValue> values = new ArrayList<>();
        expect('(');
        do {
            skipSpaces();
            String label = quoted('\'');
            expect('=');
            values.add(new EnumValue(label, number()));
        } while (accept(','));
        expect(')');
        return new ClickHouseType.Enumeration(bits, values);
    }

    /** Whatever it is, up to the end of its balanced parentheses. */
    private ClickHouseType other(int start) {
        if (peek('(')) {
            int depth = 0;
            do {
                char c = current();
                if (c == '\'' || c == '`') {
                    quoted(c);
                    continue;
                }
                depth += c == '(' ? 1 : c == ')' ? -1 : 0;
                at++;
            } while (depth > 0);
        }
        return new ClickHouseType.Other(text.substring(start, at));
    }

    private int[] numbers(int count) {
        int[] numbers = new int[count];
        expect('(');
        for (int i = 0; i < count; i++) {
            if (i > 0) {
                expect(',');
            }
            numbers[i] = number();
        }
        expect(')');
        return numbers;
    }

    private int number() {
        skipSpaces();
        int start = at;
        if (current() == '-') {
            at++;
        }
        while (at < text.length() && Character.isDigit(text.charAt(at))) {
            at++;
        }
        try {
            return Integer.parseInt(text, start, at, 10);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(bad("a number").getMessage(), e);
        }
    }

    private String onlyString() {
        expect('(');
        skipSpaces();
        String value = quoted('\'');
        expect(')');
        return value;
    }

    private String quoted(char quote) {
        if (current() != quote) {
            throw bad("a quoted text");
        }
        StringBuilder out = new StringBuilder();
        at++;
        while (current() != quote || next() == quote) {
            char c = text.charAt(at++);
            if (c == '\\') {
                out.append(unescape(current()));
                at++;
            } else {
                out.append(c);
                at += c == quote ? 1 : 0;
            }
        }
        at++;
        return out.toString();
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

    private char next() {
        return at + 1 < text.length() ? text.charAt(at + 1) : ' ';
    }

    private String word() {
        int start = at;
        while (at < text.length() && isWord(text.charAt(at))) {
            at++;
        }
        if (start == at) {
            throw bad("a type name");
        }
        return text.substring(start, at);
    }

    private static boolean isWord(char c) {
        return Character.isLetterOrDigit(c) || c == '_';
    }

    private boolean peek(char c) {
        return at < text.length() && text.charAt(at) == c;
    }

    private boolean accept(char c) {
        skipSpaces();
        if (peek(c)) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char c) {
        if (!accept(c)) {
            throw bad("'" + c + "'");
        }
    }

    private char current() {
        if (at >= text.length()) {
            throw bad("more");
        }
        return text.charAt(at);
    }

    private void skipSpaces() {
        while (at < text.length() && text.charAt(at) == ' ') {
            at++;
        }
    }

    private IllegalArgumentException bad(String expected) {
        return new IllegalArgumentException(
                "not a ClickHouse type: expected "
                        + expected
                        + " at character "
                        + at
                        + " of \""
                        + text
                        + "\"");
    }
}
