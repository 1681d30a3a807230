package dev.walshadow.pipeline.mapping;

import dev.walshadow.pipeline.mapping.RowFilter.All;
import dev.walshadow.pipeline.mapping.RowFilter.Any;
import dev.walshadow.pipeline.mapping.RowFilter.Comparison;
import dev.walshadow.pipeline.mapping.RowFilter.Condition;
import dev.walshadow.pipeline.mapping.RowFilter.In;
import dev.walshadow.pipeline.mapping.RowFilter.IsNull;
import dev.walshadow.pipeline.mapping.RowFilter.Literal;
import dev.walshadow.pipeline.mapping.RowFilter.Not;
import dev.walshadow.pipeline.mapping.RowFilter.Operator;
import dev.walshadow.pipeline.mapping.RowFilter.Truth;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads a condition:
 *
 * <pre>
 * any        = all { OR all }
 * all        = not { AND not }
 * not        = [ NOT ] ( "(" any ")" | comparison )
 * comparison = column [ operator literal | [ NOT ] IN "(" literal { "," literal } ")"
 *                     | IS [ NOT ] NULL ] | literal operator column
 * operator   = "=" | "&lt;&gt;" | "!=" | "&lt;" | "&lt;=" | "&gt;" | "&gt;="
 * literal    = number | 'text' | true | false
 * column     = name, folded to lower case, or "Name", or $number
 * </pre>
 */
final class RowFilterParser {
    private static final Pattern TOKEN =
            Pattern.compile(
                    "\\s*(?:('(?:[^']|'')*')|(\"(?:[^\"]|\"\")+\")|(\\$\\d+)"
                            + "|([+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?)"
                            + "|([\\p{L}_][\\p{L}\\p{N}_$]*)|(<>|!=|<=|>=|[=<>(),]))");
    private static final int TEXT = 1;
    private static final int QUOTED = 2;
    private static final int NUMBERED = 3;
    private static final int NUMBER = 4;
    private static final int WORD = 5;

    private static final Set<String> KEYWORDS =
            Set.of("and", "or", "not", "in", "is", "null", "true", "false");

    /** As deep as anybody writes; the parser calls itself. */
    private static final int DEPTH_LIMIT = 200;

    private final String text;
    private final Matcher matcher;
    private int depth;

    /** The token that was not taken yet: its kind (group), its text, where it starts. */
    private int kind;

    private String token = "";
    private int start;

    RowFilterParser(String text) {
        this.text = text;
        this.matcher = TOKEN.matcher(text);
        next(0);
    }

    Condition parse() {
        Condition condition = any();
        if (kind != 0) {
            throw expected("AND, OR or the end");
        }
        return condition;
    }

    private void next(int from) {
        if (text.substring(from).isBlank()) {
            kind = 0;
            token = "the end";
            start = text.length();
            return;
        }
        matcher.region(from, text.length());
        if (!matcher.lookingAt()) {
            start =
                    from
                            + text.substring(from).length()
                            - text.substring(from).stripLeading().length();
            token = text.substring(start);
            throw expected("a column, a literal or an operator");
        }
        kind = 1;
        while (matcher.group(kind) == null) {
            kind++;
        }
        token = matcher.group(kind);
        start = matcher.start(kind);
    }

    private String take() {
        String taken = token;
        next(start + token.length());
        return taken;
    }

    private boolean takes(String wanted) {
        boolean is = kind > NUMBER && token.toLowerCase(Locale.ROOT).equals(wanted);
        if (is) {
            take();
        }
        return is;
    }

    private void require(String wanted) {
        if (!takes(wanted)) {
            throw expected(wanted.toUpperCase(Locale.ROOT));
        }
    }

    private IllegalArgumentException expected(String what) {
        return new IllegalArgumentException(
                "expected %s at character %d, found %s"
                        .formatted(what, start + 1, kind == 0 ? token : "\"" + token + "\""));
    }

    private Condition any() {
        List<Condition> parts = new ArrayList<>(List.of(all()));
        while (takes("or")) {
            parts.add(all());
        }
        return parts.size() == 1 ? parts.getFirst() : new Any(parts);
    }

    private Condition all() {
        List<Condition> parts = new ArrayList<>(List.of(not()));
        while (takes("and")) {
            parts.add(not());
        }
        return parts.size() == 1 ? parts.getFirst() : new All(parts);
    }

    private Condition not() {
        if (++depth > DEPTH_LIMIT) {
            throw expected("fewer than " + DEPTH_LIMIT + " parts inside of each other");
        }
        Condition condition;
        if (takes("not")) {
            condition = new Not(not());
        } else if (takes("(")) {
            condition = any();
            require(")");
        } else {
            condition = comparison();
        }
        depth--;
        return condition;
    }

    private Condition comparison() {
        if (isLiteral()) {
            Literal literal = literal();
            Operator operator = operator();
            return new Comparison(column(), operator.mirrored(), literal);
        }
        String column = column();
        if (takes("is")) {
            boolean negated = takes("not");
            require("null");
            return negated ? new Not(new IsNull(column)) : new IsNull(column);
        }
        if (takes("not")) {
            require("in");
            return new Not(in(column));
        }
        if (takes("in")) {
            return in(column);
        }
        if ("= <> != < <= > >=".contains(token) && kind > WORD && !token.equals(",")) {
            return new Comparison(column, operator(), literal());
        }
        return new Truth(column);
    }

    private In in(String column) {
        require("(");
        List<Literal> literals = new ArrayList<>(List.of(literal()));
        while (takes(",")) {
            literals.add(literal());
        }
        require(")");
        return new In(column, literals);
    }

    private Operator operator() {
        for (Operator operator : Operator.values()) {
            if (token.equals(operator.sign()) && kind > WORD) {
                take();
                return operator;
            }
        }
        if (token.equals("!=")) {
            take();
            return Operator.NOT_EQUAL;
        }
        throw expected("an operator (= <> < <= > >=)");
    }

    private boolean isLiteral() {
        String word = token.toLowerCase(Locale.ROOT);
        return kind == TEXT
                || kind == NUMBER
                || (kind == WORD && (word.equals("true") || word.equals("false")));
    }

    private Literal literal() {
        if (!isLiteral()) {
            throw expected("a number, a text in single quotes, true or false");
        }
        int what = kind;
        String taken = take();
        return switch (what) {
            case TEXT ->
                    new Literal(
                            Literal.Kind.TEXT,
                            taken.substring(1, taken.length() - 1).replace("''", "'"));
            case NUMBER -> new Literal(Literal.Kind.NUMBER, taken);
            default -> new Literal(Literal.Kind.BOOLEAN, taken.toLowerCase(Locale.ROOT));
        };
    }

    private String column() {
        if (kind == QUOTED) {
            if (token.startsWith("\"$")) {
                throw expected("a column whose name does not begin with $");
            }
            String taken = take();
            return taken.substring(1, taken.length() - 1).replace("\"\"", "\"");
        }
        if (kind == NUMBERED) {
            return take();
        }
        String name = token.toLowerCase(Locale.ROOT);
        if (kind != WORD || KEYWORDS.contains(name)) {
            throw expected("a column");
        }
        take();
        return name;
    }
}
