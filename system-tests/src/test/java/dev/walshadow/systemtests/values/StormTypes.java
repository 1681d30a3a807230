package dev.walshadow.systemtests.values;

import dev.walshadow.postgres.value.TypeSamples;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/** The types of a storm: the samples that the codecs are tested with, and more of the awkward. */
final class StormTypes {
    /** What must be there before the tables. */
    static final List<String> SCHEMA =
            List.of(
                    "CREATE EXTENSION citext",
                    "CREATE EXTENSION hstore",
                    "CREATE EXTENSION ltree",
                    "CREATE EXTENSION cube",
                    "CREATE SCHEMA stage",
                    "CREATE SCHEMA storm",
                    "CREATE TYPE storm.mood AS ENUM ('', 'sad', 'it''s \"ok\"', 'ü, {}', 'NULL')",
                    "CREATE DOMAIN storm.amount AS numeric(9,2) CHECK (VALUE < 1000000)",
                    "CREATE DOMAIN storm.large AS storm.amount CHECK (VALUE > 1000)",
                    "CREATE FUNCTION storm.some() RETURNS int LANGUAGE sql AS 'SELECT 1'");

    private StormTypes() {}

    static List<TypeSamples> all(int major) {
        List<TypeSamples> all = new ArrayList<>(TypeSamples.all(major));
        all.addAll(numbers());
        all.addAll(times());
        all.addAll(identifiers());
        all.add(TypeSamples.of("storm.mood", "", "sad", "it's \"ok\"", "ü, {}", "NULL"));
        all.add(TypeSamples.of("storm.amount", "0", "-5.555", "999999.99"));
        all.add(TypeSamples.of("storm.large", "1000.01", "5000"));
        all.add(json());
        return all;
    }

    private static List<TypeSamples> numbers() {
        return List.of(
                TypeSamples.of("numeric(9,2)", "NaN", "0", "-9999999.99", "9999999.99", "0.005")
                        .random(r -> decimal(r, 7, 2)),
                TypeSamples.of("numeric(18,0)", "999999999999999999", "-999999999999999999", "NaN")
                        .random(r -> decimal(r, 18, 0)),
                TypeSamples.of("numeric(38,10)", "-0.0000000001", "1e27", "NaN")
                        .random(r -> decimal(r, 28, 10)),
                TypeSamples.of("numeric(76,38)", "-1e-38", "1e37", "NaN", "9".repeat(38))
                        .random(r -> decimal(r, 38, 38)),
                TypeSamples.of("numeric(76,76)", "-1e-76", "0." + "9".repeat(76))
                        .random(r -> "0." + digits(r, 76)),
                TypeSamples.of("numeric(77,2)", "1e74", "NaN").random(r -> decimal(r, 75, 2)),
                TypeSamples.of("numeric(5,-2)", "1234567", "-50", "49", "NaN")
                        .random(r -> decimal(r, 7, 0)),
                TypeSamples.of("numeric(3,5)", "0.00999", "-0.000005", "0"),
                TypeSamples.of("numeric(1000,500)", "1e499", "-1e-500")
                        .random(r -> decimal(r, 400, 400)));
    }

    private static String decimal(Random random, int whole, int fraction) {
        String text = (random.nextBoolean() ? "-" : "") + digits(random, 1 + random.nextInt(whole));
        return fraction == 0 ? text : text + "." + digits(random, 1 + random.nextInt(fraction));
    }

    private static String digits(Random random, int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append((char) ('0' + random.nextInt(10)));
        }
        return text.toString();
    }

    private static List<TypeSamples> times() {
        List<TypeSamples> all = new ArrayList<>();
        for (int precision = 0; precision <= 6; precision++) {
            String of = "(" + precision + ")";
            all.add(
                    TypeSamples.of(
                                    "timestamp" + of,
                                    "1899-12-31 23:59:59.999999",
                                    "1900-01-01",
                                    "2299-12-31 23:59:59.999999",
                                    "2300-01-01",
                                    "1969-12-31 23:59:59.999999",
                                    "1800-01-01",
                                    "infinity",
                                    "-infinity")
                            .random(StormTypes::moment));
            all.add(
                    TypeSamples.of(
                                    "timestamptz" + of,
                                    "1899-12-31 23:59:59.999999+00",
                                    "2299-12-31 23:59:59.999999-00",
                                    "294276-12-31 23:59:59+00",
                                    "4713-11-24 00:00+00 BC")
                            .random(StormTypes::moment));
        }
        all.add(
                TypeSamples.of("date", "1899-12-31", "1900-01-01", "2299-12-31", "2300-01-01")
                        .random(r -> moment(r).substring(0, 10)));
        all.add(
                TypeSamples.of("time(3)", "24:00:00", "23:59:59.9999", "00:00:00.0004")
                        .random(r -> moment(r).substring(11)));
        all.add(TypeSamples.of("timetz(2)", "24:00:00+15", "23:59:59.999-08"));
        all.add(TypeSamples.of("interval(3)", "1 mon 00:00:00.0006", "-5 days"));
        all.add(TypeSamples.of("interval year to month", "1 year 3 mons", "-7 mons"));
        return all;
    }

    /** Between 1850 and 2350. */
    private static String moment(Random random) {
        return String.format(
                Locale.ROOT,
                "%04d-%02d-%02d %02d:%02d:%02d.%06d",
                1850 + random.nextInt(500),
                1 + random.nextInt(12),
                1 + random.nextInt(28),
                random.nextInt(24),
                random.nextInt(60),
                random.nextInt(60),
                random.nextInt(1_000_000));
    }

    private static List<TypeSamples> identifiers() {
        return List.of(
                TypeSamples.of("cid", "0", "4294967295"),
                TypeSamples.of("regclass", "pg_class", "stage.s_0", "4294967295", "-"),
                TypeSamples.of("regtype", "int4", "storm.mood", "-"),
                TypeSamples.of("regproc", "pg_backend_pid", "storm.some", "-"),
                TypeSamples.of("regprocedure", "abs(int4)", "storm.some()", "-"),
                TypeSamples.of("regoper", "pg_catalog.||/", "0"),
                TypeSamples.of("regoperator", "+(int4,int4)", "0"),
                TypeSamples.of("regnamespace", "pg_catalog", "storm", "-"),
                TypeSamples.of("regrole", "pg_monitor", "-"),
                TypeSamples.of("regconfig", "simple", "english"),
                TypeSamples.of("regdictionary", "simple"),
                TypeSamples.of("regcollation", "\"C\"", "-"));
    }

    private static TypeSamples json() {
        return TypeSamples.of(
                        "jsonb",
                        "9007199254740993",
                        "1e400",
                        "-1e-400",
                        "\"\\u00e9\\ud83d\\ude00\\u007f\"",
                        "{\"b\": 1, \"a\": 2, \"aa\": {\"\": null}}")
                .random(r -> json(r, 5));
    }

    private static String json(Random random, int depth) {
        return switch (random.nextInt(depth == 0 ? 4 : 6)) {
            case 0 -> decimal(random, 20, 20).replaceFirst("^(-?)0+(?=\\d)", "$1");
            case 1 -> random.nextBoolean() ? "true" : "null";
            case 2 -> random.nextInt() + "e" + random.nextInt(300);
            case 3 -> "\"" + "\\n\\\"é".repeat(random.nextInt(5)) + random.nextInt() + "\"";
            case 4 -> {
                List<String> items = new ArrayList<>();
                for (int i = random.nextInt(6); i > 0; i--) {
                    items.add(json(random, depth - 1));
                }
                yield "[" + String.join(",", items) + "]";
            }
            default -> {
                List<String> items = new ArrayList<>();
                for (int i = random.nextInt(6); i > 0; i--) {
                    items.add("\"k" + random.nextInt(1000) + "\":" + json(random, depth - 1));
                }
                yield "{" + String.join(", ", items) + "}";
            }
        };
    }
}
