package dev.walshadow.postgres.value;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Awkward and random input texts per type.
 *
 * @param random a further input text, null if the fixed ones say it all
 */
public record TypeSamples(
        String type, List<String> values, @Nullable Function<Random, String> random) {

    public static List<TypeSamples> all(int major) {
        List<TypeSamples> all = new ArrayList<>();
        all.addAll(numbers());
        all.addAll(texts());
        all.addAll(times(major));
        all.addAll(others());
        all.addAll(arrays());
        all.addAll(StructuredSamples.all(major));
        return all;
    }

    public static TypeSamples of(String type, String... values) {
        return new TypeSamples(type, List.of(values), null);
    }

    public TypeSamples random(Function<Random, String> generator) {
        return new TypeSamples(type, values, generator);
    }

    private static List<TypeSamples> numbers() {
        return List.of(
                of("bool", "t", "f"),
                of("int2", "0", "-1", "32767", "-32768").random(r -> "" + (short) r.nextInt()),
                of("int4", "0", "-1", "2147483647", "-2147483648").random(r -> "" + r.nextInt()),
                of("int8", "0", "9", "10", "-9223372036854775808", "9223372036854775807")
                        .random(r -> "" + (r.nextLong() >> r.nextInt(64))),
                of("oid", "0", "4294967295", "2147483648"),
                of("xid", "0", "4294967295", "3"),
                of("xid8", "0", "18446744073709551615", "9223372036854775808", "4294967296"),
                of(
                                "float4",
                                "0",
                                "-0",
                                "NaN",
                                "Infinity",
                                "-Infinity",
                                "1e-45",
                                "3.4028235e38",
                                "0.1",
                                "123456",
                                "1234567",
                                "1e6",
                                "100000",
                                "0.0001",
                                "0.00001",
                                "16777216",
                                "33554432",
                                "8388608.5",
                                "1e10",
                                "9.5367e-7",
                                "2e-45")
                        .random(TypeSamples::float4),
                of(
                                "float8",
                                "0",
                                "-0",
                                "NaN",
                                "Infinity",
                                "-Infinity",
                                "5e-324",
                                "1e-323",
                                "1.7976931348623157e308",
                                "0.1",
                                "1e23",
                                "9007199254740993",
                                "123456789012345",
                                "1234567890123456",
                                "1e15",
                                "1e14",
                                "0.0001",
                                "0.00001",
                                "2.2250738585072014e-308",
                                "1e22",
                                "1e21",
                                "5e-5",
                                "2e-323",
                                "4.35e-322",
                                "9.5e-323",
                                "9223372036854775808",
                                "18014398509481984",
                                "36028797018963968",
                                "0.3",
                                "2.5e-5")
                        .random(TypeSamples::float8),
                of(
                                "numeric",
                                "0",
                                "0.0",
                                "0.000",
                                "-0.5",
                                "NaN",
                                "Infinity",
                                "-Infinity",
                                "1",
                                "10000",
                                "9999",
                                "99999999",
                                "100000000",
                                "0.0001",
                                "0.00001",
                                "1e1000",
                                "-1e-1000",
                                "1e131071",
                                "1e-16383",
                                "123.4500",
                                "12345678901234567890.123456789",
                                "-0.00012345",
                                "1e64",
                                "1e66")
                        .random(TypeSamples::numeric),
                of("numeric(12,3)", "1.5", "-999999999.999", "0.0004")
                        .random(r -> "" + r.nextInt(999_999_999) + "." + r.nextInt(1000)),
                of(
                                "money",
                                "0",
                                "1.23",
                                "-1234.56",
                                "1234567.89",
                                "-92233720368547758.08",
                                "92233720368547758.07",
                                "0.05",
                                "999.99",
                                "1000")
                        .random(r -> (r.nextLong() >> 20) + ".5"));
    }

    private static String float4(Random random) {
        return switch (random.nextInt(4)) {
            case 0 -> Float.toString(Float.intBitsToFloat(random.nextInt()));
            case 1 -> Float.toString(random.nextInt() * 0x1p-3f);
            case 2 -> Float.toString(Float.intBitsToFloat(random.nextInt(60)));
            default -> Float.toString((float) Math.pow(2, random.nextInt(270) - 149));
        };
    }

    static String float8(Random random) {
        return switch (random.nextInt(6)) {
            case 0 -> Double.toString(Double.longBitsToDouble(random.nextLong()));
            case 1 -> Double.toString(random.nextInt(1_000_000) / 100.0);
            case 2 -> Double.toString(Double.longBitsToDouble(random.nextInt(200)));
            case 3 -> Double.toString(Math.pow(2, random.nextInt(2098) - 1074));
            case 4 -> random.nextInt(1000) + "e" + random.nextInt(40);
            default -> Double.toString((random.nextLong() >>> 8) * 0x1p4);
        };
    }

    private static String numeric(Random random) {
        StringBuilder text = new StringBuilder(random.nextBoolean() ? "-" : "");
        int whole = random.nextInt(1 << random.nextInt(9));
        for (int i = 0; i < whole; i++) {
            text.append(random.nextInt(3) == 0 ? 0 : random.nextInt(10));
        }
        text.append('0');
        int fraction = random.nextInt(1 << random.nextInt(9));
        if (fraction > 0) {
            text.append('.');
        }
        for (int i = 0; i < fraction; i++) {
            text.append(random.nextInt(3) == 0 ? 0 : random.nextInt(10));
        }
        return text.toString();
    }

    private static List<TypeSamples> texts() {
        String big = "walshadow ".repeat(2_000);
        return List.of(
                of(
                                "text",
                                "",
                                " ",
                                "a",
                                "é€😀",
                                "back\\slash\ttab\nline\r\f\b\u0001",
                                "x".repeat(126),
                                "x".repeat(127),
                                big,
                                big.repeat(20))
                        .random(r -> text(r, 1 << r.nextInt(15))),
                of("varchar(2000)", "", "a", "é".repeat(1_000)),
                of("bpchar", "", "a  ", "  a"),
                of("char(5)", "", "a", "éé"),
                of("name", "", "a", "x".repeat(63)),
                of("\"char\"", "a", "", "é"),
                of("citext", "Abc", ""),
                of(
                        "xml",
                        "",
                        "<a/>",
                        "\n<a/>",
                        "\n\n<a/>",
                        "text",
                        "<?xml version=\"1.0\"?><a/>",
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a/>",
                        "<?xml version='1.0' standalone='yes'?>\n<a>é</a>",
                        "<?xml version=\"1.0\" encoding='utf-8' standalone=\"no\" ?><a/>",
                        "<?xml version=\"1.1\"?><a/>",
                        "<?xml-stylesheet a=\"b\"?><a/>",
                        "<?xml  version = \"1.0\"  ?>\n\n<a/>"),
                of("json", "{ \"a\" :  1 }", "[]", "\" \\u0041 \""),
                of("bytea", "\\x", "\\x00ff10", "\\x" + "ab".repeat(5_000))
                        .random(r -> "\\x" + hex(r, r.nextInt(100))));
    }

    private static String hex(Random random, int bytes) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < bytes; i++) {
            text.append(String.format(Locale.ROOT, "%02x", random.nextInt(256)));
        }
        return text.toString();
    }

    static String text(Random random, int limit) {
        StringBuilder text = new StringBuilder();
        int length = random.nextInt(limit);
        boolean repetitive = random.nextBoolean();
        while (text.length() < length) {
            int kind = random.nextInt(20);
            if (repetitive && text.length() > 10) {
                int from = random.nextInt(text.length());
                text.append(text, from, Math.min(text.length(), from + 1 + random.nextInt(300)));
            }
            if (kind == 0) {
                text.appendCodePoint(0x1F600 + random.nextInt(50));
            } else if (kind == 1) {
                text.append((char) (1 + random.nextInt(31)));
            } else if (kind == 2) {
                text.append("\"\\{},'é".charAt(random.nextInt(7)));
            } else {
                text.append((char) (' ' + random.nextInt(95)));
            }
        }
        // a cut could split a surrogate pair
        return text.toString()
                .replaceAll("[\\ud800-\\udbff](?![\\udc00-\\udfff])", "")
                .replaceAll("(?<![\\ud800-\\udbff])[\\udc00-\\udfff]", "");
    }

    private static List<TypeSamples> times(int major) {
        List<String> intervals =
                new ArrayList<>(
                        List.of(
                                "0",
                                "1 year 2 mons 3 days 04:05:06.789",
                                "-1 day +02:03:04",
                                "1 mon -1 day",
                                "-1 year -2 mons",
                                "00:00:00.000001",
                                "-00:00:01",
                                "1 day -00:00:01",
                                "-1 mon +1 day -00:00:00.5",
                                "178000000 years",
                                "1 year",
                                "-1 year",
                                "1 mon 1 day",
                                "2562047788:00:54.775807",
                                "-2 days",
                                "24:00:00",
                                "100:00:00"));
        if (major >= 17) {
            intervals.addAll(List.of("infinity", "-infinity"));
        }
        return List.of(
                of(
                                "date",
                                "2000-01-01",
                                "1970-01-01",
                                "1999-12-31",
                                "4713-11-24 BC",
                                "0001-01-01",
                                "0001-12-31 BC",
                                "5874897-12-31",
                                "infinity",
                                "-infinity",
                                "2024-02-29",
                                "1900-02-28",
                                "1900-03-01",
                                "0001-02-29 BC")
                        .random(TypeSamples::date),
                of("time", "00:00", "24:00:00", "23:59:59.999999", "12:34:56.7", "00:00:00.000001")
                        .random(TypeSamples::time),
                of(
                                "timetz",
                                "00:00+00",
                                "24:00:00-15:59:59",
                                "12:34:56.7+05:30",
                                "01:02:03-08",
                                "12:00+00:00:01",
                                "12:00-00:30")
                        .random(r -> time(r) + "+" + r.nextInt(15) + ":" + r.nextInt(60)),
                of(
                                "timestamp",
                                "2000-01-01",
                                "1999-12-31 23:59:59.999999",
                                "4713-11-24 00:00 BC",
                                "294276-12-31 23:59:59.999999",
                                "infinity",
                                "-infinity",
                                "0001-01-01 00:00:00",
                                "0001-12-31 23:59:59.5 BC",
                                "1970-01-01")
                        .random(TypeSamples::timestamp),
                of(
                                "timestamptz",
                                "2000-01-01 00:00+00",
                                "1999-12-31 23:59:59.999999-01",
                                "4713-11-24 00:00+00 BC",
                                "infinity",
                                "-infinity",
                                "294276-12-31 23:59:59.999999+00")
                        .random(TypeSamples::timestamp),
                of("timestamp(3)", "2001-02-03 04:05:06.789123"),
                new TypeSamples("interval", intervals, TypeSamples::interval));
    }

    private static String date(Random random) {
        int year = 1 + random.nextInt(1 << (1 + random.nextInt(12)));
        return String.format(
                        Locale.ROOT,
                        "%04d-%02d-%02d",
                        year,
                        1 + random.nextInt(12),
                        1 + random.nextInt(28))
                + (random.nextInt(4) == 0 ? " BC" : "");
    }

    private static String time(Random random) {
        return String.format(
                Locale.ROOT,
                "%02d:%02d:%02d.%06d",
                random.nextInt(24),
                random.nextInt(60),
                random.nextInt(60),
                random.nextInt(4) * random.nextInt(250_000));
    }

    private static String timestamp(Random random) {
        String date = date(random);
        boolean beforeChrist = date.endsWith(" BC");
        return (beforeChrist ? date.substring(0, date.length() - 3) : date)
                + " "
                + time(random)
                + (beforeChrist ? " BC" : "");
    }

    private static String interval(Random random) {
        return (random.nextInt(50) - 25)
                + " mons "
                + (random.nextInt(5) - 2)
                + " days "
                + (random.nextBoolean() ? "-" : "")
                + time(random);
    }

    private static List<TypeSamples> others() {
        String deep = "[".repeat(1_000) + "]".repeat(1_000);
        return List.of(
                of(
                        "uuid",
                        "00000000-0000-0000-0000-000000000000",
                        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
                of(
                                "inet",
                                "1.2.3.4",
                                "1.2.3.4/24",
                                "0.0.0.0/0",
                                "::",
                                "::1",
                                "::1/64",
                                "fe80::1:0:0:1",
                                "::ffff:1.2.3.4",
                                "::1.2.3.4",
                                "::2",
                                "1::",
                                "1:0:0:2:0:0:0:3",
                                "1:2:3:4:5:6:7:8",
                                "::ffff:0:1",
                                "::1:2",
                                "0:0:0:0:0:1:2:3",
                                "1:0:2:0:3:0:4:0",
                                "::ffff:255.255.255.255/128")
                        .random(TypeSamples::inet),
                of("cidr", "10.0.0.0/8", "1.2.3.4/32", "::/0", "2001:db8::/32", "::1/128"),
                of("macaddr", "08:00:2b:01:02:03"),
                of("macaddr8", "08:00:2b:01:02:03:04:ff"),
                of("bit(5)", "10110", "00000"),
                of("varbit", "", "1", "101100111", "0".repeat(1_000)),
                of("pg_lsn", "0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF", "0/1", "10/10"),
                of(
                                "jsonb",
                                "{}",
                                "[]",
                                "1",
                                "\"a\"",
                                "null",
                                "true",
                                "false",
                                "[1, [2, {}], {\"b\": []}]",
                                "{\"a\": {\"b\": [null, true, 1.50, \"é\\n\\u0007\\\"\\\\\"]},"
                                        + " \"\": 0}",
                                "\"\"",
                                deep,
                                "[1e131000]",
                                "{\"x\": -0.10, \"xx\": 1e5}",
                                "[" + "\"abc\", ".repeat(5_000) + "1]")
                        .random(r -> json(r, 4)));
    }

    private static String inet(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8; i++) {
            int word = random.nextInt(3) > 0 ? 0 : random.nextInt(1 << (1 + random.nextInt(16)));
            text.append(i == 0 ? "" : ":").append(Integer.toHexString(word));
        }
        return text.toString();
    }

    static String json(Random random, int depth) {
        int kind = random.nextInt(depth > 0 ? 8 : 6);
        if (kind < 3) {
            return "\"" + jsonText(random) + "\"";
        }
        if (kind == 3) {
            return numeric(random).replaceFirst("^(-?)0+(?=\\d)", "$1");
        }
        if (kind < 6) {
            return List.of("true", "false", "null").get(random.nextInt(3));
        }
        int count = random.nextInt(1 << random.nextInt(7));
        StringBuilder text = new StringBuilder(kind == 6 ? "[" : "{");
        for (int i = 0; i < count; i++) {
            text.append(i > 0 ? "," : "");
            if (kind == 7) {
                text.append('"').append(jsonText(random)).append("\":");
            }
            text.append(json(random, depth - 1));
        }
        return text.append(kind == 6 ? "]" : "}").toString();
    }

    private static String jsonText(Random random) {
        StringBuilder escaped = new StringBuilder();
        for (char c : text(random, 1 + random.nextInt(20)).toCharArray()) {
            if (c < ' ' || c == '"' || c == '\\') {
                escaped.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
            } else {
                escaped.append(c);
            }
        }
        return escaped.toString();
    }

    private static List<TypeSamples> arrays() {
        return List.of(
                of(
                                "int4[]",
                                "{}",
                                "{1,2,3}",
                                "{NULL}",
                                "{1,NULL,3}",
                                "[0:2]={1,2,3}",
                                "{{1,2},{3,NULL}}",
                                "[-1:0][2:3]={{1,2},{3,4}}",
                                "{{{1}}}")
                        .random(r -> array(r, x -> "" + x.nextInt())),
                of("int2[]", "{1,2,3}", "{NULL,1,2}"),
                of("int8[]", "{1,2,3}", "{NULL,1,NULL,2}"),
                of("bool[]", "{t,f,NULL}"),
                of(
                                "text[]",
                                "{}",
                                "{\"\",a,\"null\",NULL,\"NuLL\",nul}",
                                "{\"a b\",\"a,b\",\"{}\",\"\\\"\\\\\",\"\t\",\"\u000b\"}",
                                "{é}")
                        .random(r -> array(r, TypeSamples::arrayText)),
                of("numeric[]", "{1.50,NaN,NULL,-0.001}")
                        .random(r -> array(r, TypeSamples::numeric)),
                of("timestamptz[]", "{\"2001-02-03 04:05:06+00\",infinity}"),
                of("date[]", "{2001-02-03,NULL}"),
                of("uuid[]", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"),
                of("jsonb[]", "{\"{\\\"a\\\": 1}\",NULL,\"[]\"}"),
                of("float8[]", "{0.1,NULL,1e23}"),
                of("bytea[]", "{\"\\\\x00ff\"}"),
                of("char(3)[]", "{a,NULL}"),
                of("varchar[]", "{" + "abc,".repeat(5_000) + "x}"),
                of("name[]", "{abc,\"\"}"),
                of("\"char\"[]", "{a,b}"),
                of("macaddr[]", "{08:00:2b:01:02:03,08:00:2b:01:02:04}"),
                of("timetz[]", "{12:00+01,13:00+02,NULL}"),
                of("interval[]", "{1 day,2 mons}"),
                of("inet[]", "{1.2.3.4,::1}"));
    }

    private static String array(Random random, Function<Random, String> element) {
        int count = random.nextInt(30);
        StringBuilder text = new StringBuilder("{");
        for (int i = 0; i < count; i++) {
            text.append(i > 0 ? "," : "");
            text.append(random.nextInt(5) == 0 ? "NULL" : element.apply(random));
        }
        return text.append("}").toString();
    }

    private static String arrayText(Random random) {
        return '"' + text(random, 20).replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
