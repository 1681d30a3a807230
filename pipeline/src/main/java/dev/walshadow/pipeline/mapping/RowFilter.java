package dev.walshadow.pipeline.mapping;

import java.util.List;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Which rows of a table replicate: those that the condition is true for; as in SQL, neither those
 * that it is false for nor those that it is NULL for. Written as SQL over the table's columns and
 * literals; a mapping has it over attribute numbers, {@code $3 = 'x'}, so that new names of columns
 * do not matter.
 */
public record RowFilter(Condition condition) {
    /** A part of a condition. */
    public sealed interface Condition {}

    public record All(List<Condition> parts) implements Condition {
        public All {
            parts = List.copyOf(parts);
        }
    }

    public record Any(List<Condition> parts) implements Condition {
        public Any {
            parts = List.copyOf(parts);
        }
    }

    public record Not(Condition part) implements Condition {}

    /** {@code column operator literal}. */
    public record Comparison(String column, Operator operator, Literal literal)
            implements Condition {}

    /** {@code column IN (literals)}. */
    public record In(String column, List<Literal> literals) implements Condition {
        public In {
            literals = List.copyOf(literals);
        }
    }

    public record IsNull(String column) implements Condition {}

    /** A column of type bool. */
    public record Truth(String column) implements Condition {}

    /** How two values compare. */
    public enum Operator {
        EQUAL("="),
        NOT_EQUAL("<>"),
        LESS("<"),
        LESS_OR_EQUAL("<="),
        GREATER(">"),
        GREATER_OR_EQUAL(">=");

        private final String sign;

        Operator(String sign) {
            this.sign = sign;
        }

        public String sign() {
            return sign;
        }

        /** With its sides exchanged. */
        Operator mirrored() {
            return switch (this) {
                case EQUAL, NOT_EQUAL -> this;
                case LESS -> GREATER;
                case LESS_OR_EQUAL -> GREATER_OR_EQUAL;
                case GREATER -> LESS;
                case GREATER_OR_EQUAL -> LESS_OR_EQUAL;
            };
        }

        /**
         * @param order below zero, zero or above it, as the left side is to the right one
         */
        public boolean holds(int order) {
            return switch (this) {
                case EQUAL -> order == 0;
                case NOT_EQUAL -> order != 0;
                case LESS -> order < 0;
                case LESS_OR_EQUAL -> order <= 0;
                case GREATER -> order > 0;
                case GREATER_OR_EQUAL -> order >= 0;
            };
        }
    }

    /**
     * @param kind how it is written
     * @param text without quotes
     */
    public record Literal(Kind kind, String text) {
        /** How a literal is written. */
        public enum Kind {
            NUMBER,
            TEXT,
            BOOLEAN
        }

        String print() {
            return kind == Kind.TEXT ? "'" + text.replace("'", "''") + "'" : text;
        }
    }

    /**
     * @throws IllegalArgumentException says what is wrong and where
     */
    public static RowFilter parse(String text) {
        return new RowFilter(new RowFilterParser(text).parse());
    }

    /** Its columns, by the name that it gives them, each once. */
    public List<String> columns() {
        TreeSet<String> names = new TreeSet<>();
        collect(condition, names);
        return List.copyOf(names);
    }

    private static void collect(Condition condition, TreeSet<String> names) {
        switch (condition) {
            case All(List<Condition> parts) -> parts.forEach(part -> collect(part, names));
            case Any(List<Condition> parts) -> parts.forEach(part -> collect(part, names));
            case Not(Condition part) -> collect(part, names);
            case Comparison comparison -> names.add(comparison.column());
            case In in -> names.add(in.column());
            case IsNull(String column) -> names.add(column);
            case Truth(String column) -> names.add(column);
        }
    }

    /** The same over other names. */
    public RowFilter renamed(Function<String, String> names) {
        return new RowFilter(renamed(condition, names));
    }

    private static Condition renamed(Condition condition, Function<String, String> names) {
        return switch (condition) {
            case All(List<Condition> parts) ->
                    new All(parts.stream().map(part -> renamed(part, names)).toList());
            case Any(List<Condition> parts) ->
                    new Any(parts.stream().map(part -> renamed(part, names)).toList());
            case Not(Condition part) -> new Not(renamed(part, names));
            case Comparison(String column, Operator operator, Literal literal) ->
                    new Comparison(names.apply(column), operator, literal);
            case In(String column, List<Literal> literals) -> new In(names.apply(column), literals);
            case IsNull(String column) -> new IsNull(names.apply(column));
            case Truth(String column) -> new Truth(names.apply(column));
        };
    }

    /** Over attribute numbers: {@code $3}. */
    public static String ofNumber(int attributeNumber) {
        return "$" + attributeNumber;
    }

    /** The attribute number behind {@link #ofNumber}. */
    public static int number(String column) {
        return Integer.parseInt(column.substring(1));
    }

    /**
     * As SQL, which {@link #parse} reads back.
     *
     * @param names prints a column's name
     */
    public String print(Function<String, String> names) {
        return print(condition, names);
    }

    /** As it is pinned, over attribute numbers. */
    public String print() {
        return print(Function.identity());
    }

    private static String print(Condition condition, Function<String, String> names) {
        return switch (condition) {
            case All(List<Condition> parts) -> joined(parts, " AND ", names);
            case Any(List<Condition> parts) -> joined(parts, " OR ", names);
            case Not(Condition part) -> "NOT (" + print(part, names) + ")";
            case Comparison(String column, Operator operator, Literal literal) ->
                    names.apply(column) + " " + operator.sign() + " " + literal.print();
            case In(String column, List<Literal> literals) ->
                    literals.stream()
                            .map(Literal::print)
                            .collect(Collectors.joining(", ", names.apply(column) + " IN (", ")"));
            case IsNull(String column) -> names.apply(column) + " IS NULL";
            case Truth(String column) -> names.apply(column);
        };
    }

    private static String joined(
            List<Condition> parts, String between, Function<String, String> names) {
        return parts.stream()
                .map(part -> print(part, names))
                .collect(Collectors.joining(between, "(", ")"));
    }
}
