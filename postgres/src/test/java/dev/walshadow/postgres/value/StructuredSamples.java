package dev.walshadow.postgres.value;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Awkward and random input texts of types that are not numbers, times or plain text. */
final class StructuredSamples {
    private static final String[] WEIGHTS = {"", "A", "B", "C", "AB", "*", "*AC"};
    private static final String[] OPERATORS = {" & ", " | ", " <-> ", " <3> ", " <0> "};
    private static final String[] COMPARISONS = {"==", "!=", "<", ">", "<=", ">=", "starts with"};
    private static final String[] METHODS = {
        "type", "size", "abs", "floor", "ceiling", "double", "keyvalue"
    };
    private static final String[] NEW_METHODS = {
        "bigint",
        "boolean",
        "date",
        "decimal",
        "integer",
        "number",
        "string",
        "time",
        "time_tz",
        "timestamp",
        "timestamp_tz",
        "decimal(5)",
        "decimal(5,-2)",
        "time(3)",
        "timestamp_tz(0)"
    };

    private StructuredSamples() {}

    static List<TypeSamples> all(int major) {
        List<TypeSamples> all = new ArrayList<>(geometric());
        all.addAll(identifiers());
        all.addAll(textSearch());
        all.add(jsonpath(major));
        all.addAll(extensions());
        return all;
    }

    private static List<TypeSamples> geometric() {
        return List.of(
                TypeSamples.of(
                                "point",
                                "(0,0)",
                                "(-0,NaN)",
                                "(Infinity,-Infinity)",
                                "(1e300,5e-324)")
                        .random(StructuredSamples::point),
                TypeSamples.of("lseg", "[(0,0),(1,1)]").random(r -> "[" + points(r, 2) + "]"),
                TypeSamples.of("box", "(1,1),(0,0)").random(r -> points(r, 2)),
                TypeSamples.of("line", "{1,-1,0}", "{0,1.5,NaN}")
                        .random(r -> "{1," + TypeSamples.float8(r) + ",2}"),
                TypeSamples.of("path", "((0,0))", "[(0,0)]")
                        .random(r -> {
                            String inside = points(r, 1 + r.nextInt(40));
                            return r.nextBoolean() ? "(" + inside + ")" : "[" + inside + "]";
                        }),
                TypeSamples.of("polygon", "((0,0))")
                        .random(r -> "(" + points(r, 1 + r.nextInt(40)) + ")"),
                TypeSamples.of("circle", "<(0,0),0>", "<(1.5,-2),1e10>")
                        .random(r -> "<" + point(r) + "," + r.nextInt(1 << 30) + ">"));
    }

    private static String point(Random random) {
        return "(" + random.nextInt() + "," + TypeSamples.float8(random) + ")";
    }

    private static String points(Random random, int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : ",").append(point(random));
        }
        return text.toString();
    }

    private static List<TypeSamples> identifiers() {
        return List.of(
                TypeSamples.of("tid", "(0,0)", "(4294967295,65535)", "(65536,1)"),
                TypeSamples.of("pg_snapshot", "10:20:", "10:20:10,14,15", "1:9223372036854775807:"),
                TypeSamples.of("txid_snapshot", "10:20:10,14,15"),
                TypeSamples.of("int2vector", "", "1", "1 -2 3"),
                TypeSamples.of("oidvector", "", "1", "1 4294967295 3"),
                TypeSamples.of("refcursor", "", "a \"cursor\""));
    }

    private static List<TypeSamples> textSearch() {
        return List.of(
                TypeSamples.of(
                                "tsvector",
                                "",
                                "a",
                                "a:1",
                                "'it''s':1A,2B,3C,4D 'back\\\\slash' 'é €':16383",
                                "a b:2 ab:3 abc:4 abcd:5",
                                "'a b':1,2,3")
                        .random(StructuredSamples::tsvector),
                TypeSamples.of(
                                "tsquery",
                                "",
                                "a",
                                "!a",
                                "!!a",
                                "a & b | c",
                                "a & (b | c)",
                                "!(a & b)",
                                "(a <-> b) <-> c",
                                "a <-> (b <-> c)",
                                "a <-> (b & c)",
                                "a <16384> b",
                                "'it''s':*A & 'back\\\\slash':BCD",
                                "a & b & c & d | e & f <-> !g")
                        .random(r -> tsquery(r, 6)));
    }

    private static String quoted(Random random) {
        return "'"
                + TypeSamples.text(random, 2 + random.nextInt(20))
                        .replace("\\", "\\\\")
                        .replace("'", "''")
                + "x'";
    }

    private static String tsvector(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(30); i > 0; i--) {
            text.append(' ').append(quoted(random));
            for (int j = random.nextInt(4); j > 0; j--) {
                text.append(text.charAt(text.length() - 1) == '\'' ? ':' : ',');
                text.append(1 + random.nextInt(1 << (1 + random.nextInt(13))));
                text.append("ABCD".charAt(random.nextInt(4)));
            }
        }
        return text.toString();
    }

    private static String tsquery(Random random, int depth) {
        if (depth == 0 || random.nextInt(4) == 0) {
            String weight = WEIGHTS[random.nextInt(WEIGHTS.length)];
            return quoted(random) + (weight.isEmpty() ? "" : ":" + weight);
        }
        if (random.nextInt(5) == 0) {
            return "!" + "(" + tsquery(random, depth - 1) + ")";
        }
        return "("
                + tsquery(random, depth - 1)
                + OPERATORS[random.nextInt(OPERATORS.length)]
                + tsquery(random, depth - 1)
                + ")";
    }

    private static TypeSamples jsonpath(int major) {
        List<String> values =
                new ArrayList<>(
                        List.of(
                                "$",
                                "strict $",
                                "lax $.a",
                                "$.a.b[*].c",
                                "$.\"a b\".*",
                                "$[0]",
                                "$[0, 2 to last, $.n]",
                                "$.**",
                                "$.**{2}",
                                "$.**{2 to 5}",
                                "$.**{2 to last}",
                                "$.**{last}",
                                "$.a ? (@.b > 1 && @.c == \"x\\\"y\")",
                                "$.a ? (exists (@.b ? (@ > 1)))",
                                "$ ? (!(@.a == 1))",
                                "$ ? ((@.a == 1) is unknown)",
                                "$ ? (@ like_regex \"^a.*\" flag \"ims\")",
                                "$ ? (@ like_regex \"a\" flag \"q\")",
                                "$ ? (@ starts with \"ab\")",
                                "$ ? (@ starts with $v)",
                                "-$.a + 2 * (3 - $.b) / 4 % 5",
                                "+(1 + 2)",
                                "(1).type()",
                                "(-1.50).abs()",
                                "\"a\".size()",
                                "null",
                                "true",
                                "$.a.datetime()",
                                "$.a.datetime(\"HH24:MI\")",
                                "$.\"\\u0001é\\n\"",
                                "1 + 2 + 3",
                                "1 - (2 - 3)",
                                "($.a < 1 || $.b >= 2) && $.c != null"));
        if (major >= 17) {
            for (String method : NEW_METHODS) {
                values.add("$." + method + (method.endsWith(")") ? "" : "()"));
            }
        }
        return new TypeSamples("jsonpath", values, r -> path(r, 4));
    }

    private static String path(Random random, int depth) {
        StringBuilder text = new StringBuilder(random.nextInt(4) == 0 ? "strict $" : "$");
        for (int i = random.nextInt(5); i > 0; i--) {
            text.append(step(random, depth));
        }
        return text.toString();
    }

    private static String step(Random random, int depth) {
        return switch (random.nextInt(depth > 0 ? 7 : 5)) {
            case 0 -> ".k" + random.nextInt(100);
            case 1 -> ".*";
            case 2 -> "[*]";
            case 3 -> "[" + random.nextInt(9) + " to last]";
            case 4 -> "." + METHODS[random.nextInt(METHODS.length)] + "()";
            case 5 -> "[" + arithmetic(random, depth - 1) + "]";
            default -> " ? (" + predicate(random, depth - 1) + ")";
        };
    }

    private static String predicate(Random random, int depth) {
        if (depth <= 0 || random.nextInt(3) == 0) {
            int comparison = random.nextInt(COMPARISONS.length);
            return "@.a "
                    + COMPARISONS[comparison]
                    + " "
                    + (comparison == 6 ? "\"x\"" : arithmetic(random, depth));
        }
        String left = "(" + predicate(random, depth - 1) + ")";
        return switch (random.nextInt(4)) {
            case 0 -> "!" + left;
            case 1 -> left + " && (" + predicate(random, depth - 1) + ")";
            case 2 -> left + " is unknown";
            default -> left + " || (" + predicate(random, depth - 1) + ")";
        };
    }

    private static String arithmetic(Random random, int depth) {
        if (depth <= 0 || random.nextInt(3) == 0) {
            return random.nextBoolean() ? "" + random.nextInt(1000) : "$.v" + random.nextInt(9);
        }
        return "("
                + arithmetic(random, depth - 1)
                + " "
                + "+-*/%".charAt(random.nextInt(5))
                + " "
                + arithmetic(random, depth - 1)
                + ")";
    }

    private static List<TypeSamples> extensions() {
        return List.of(
                TypeSamples.of(
                                "hstore",
                                "",
                                "a=>1",
                                "a=>NULL, \"b\"=>\"NULL\"",
                                "\"\"=>\"\"",
                                "\"q\\\"\"=>\"b\\\\\", \"é\"=>\"€\"")
                        .random(StructuredSamples::hstore),
                TypeSamples.of("ltree", "", "a", "Top.Science.Astronomy", "a_b.c1.Ü")
                        .random(StructuredSamples::ltree),
                TypeSamples.of(
                                "cube",
                                "(1)",
                                "(1,2,3)",
                                "(1,2),(3,4)",
                                "(1,2),(1,2)",
                                "(1,NaN),(1,Infinity)",
                                "()")
                        .random(r ->
                                "("
                                        + TypeSamples.float8(r)
                                        + ",1),("
                                        + TypeSamples.float8(r)
                                        + ",2)"));
    }

    private static String ltree(Random random) {
        StringBuilder text = new StringBuilder("a");
        for (int i = random.nextInt(30); i > 0; i--) {
            text.append('.').append(Integer.toString(random.nextInt(1 << random.nextInt(31)), 36));
        }
        return text.toString();
    }

    private static String hstore(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(20); i > 0; i--) {
            text.append(text.isEmpty() ? "" : ",");
            text.append(hstoreText(random)).append("=>");
            text.append(random.nextInt(4) == 0 ? "NULL" : hstoreText(random));
        }
        return text.toString();
    }

    private static String hstoreText(Random random) {
        return '"'
                + TypeSamples.text(random, 1 + random.nextInt(30))
                        .replace("\\", "\\\\")
                        .replace("\"", "\\\"")
                + '"';
    }
}
