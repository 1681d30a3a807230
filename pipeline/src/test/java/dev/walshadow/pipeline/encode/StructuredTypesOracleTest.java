package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.ForeignCodecs;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.MappingRules.ColumnRule;
import dev.walshadow.pipeline.mapping.MappingRules.TableRule;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TypeCodecs;
import dev.walshadow.postgres.value.DatumRenderer;
import dev.walshadow.postgres.value.ValueCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Types that are made of others: random values of random nesting, from the bytes of real heap
 * pages, against what PostgreSQL prints; then the same bytes damaged.
 */
final class StructuredTypesOracleTest {
    private static final boolean SOAK = Boolean.getBoolean("walshadow.soak");
    private static final int ROWS = SOAK ? 3_000 : 120;
    private static final int DAMAGES = SOAK ? 200 : 20;
    private static final int BATCH = 60;

    private static final String[] SETUP = {
        "create extension pageinspect",
        "create extension hstore",
        "create extension citext",
        "create extension ltree",
        "set datestyle to iso, ymd; set timezone to utc; set xmloption to content",
        "create type mood as enum ('sad', 'ok', 'it''s, \"ü\"')",
        "alter type mood add value 'early' before 'sad'",
        "alter type mood rename value 'ok' to 'fine (so)'",
        "create domain small as int check (value < 1000)",
        "create domain smaller as small",
        "create domain words as text[]",
        "create domain moody as mood",
        "create type flat as (a int2, b text, c float8, d bool, e numeric, f \"char\", g bytea)",
        "create type deep as (f flat, gone text, m mood, l flat[], h hstore, w words, n smaller)",
        "create type words_range as range (subtype = text, collation = \"C\")",
        "create type mood_range as range (subtype = mood)",
        "create type flat_range as range (subtype = flat)",
        "create type mixed as (r int4range, t words_range, m nummultirange, i interval, x jsonb)",
        "create table whole (id int, v deep, t text)",
    };

    @TempDir Path folder;

    private final long seed = Long.getLong("walshadow.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private int filled;

    /** Whether the attributes were changed already. */
    private boolean laterExists;

    static IntStream majors() {
        return SOAK ? IntStream.of(15, 16, 17, 18) : IntStream.of(15, 18);
    }

    @ParameterizedTest
    @MethodSource("majors")
    void printsWhatPostgresPrints(int major) throws Exception {
        try (EmbeddedPostgres postgres =
                        EmbeddedPostgres.at(folder)
                                .version(major)
                                .setting("fsync", "off")
                                .setting("autovacuum", "off")
                                .setting("lc_monetary", "C")
                                .start();
                Connection connection = SourceTable.connect(postgres, "postgres")) {
            SourceTable.execute(connection, SETUP);
            String[] types = types();
            for (int i = 0; i < types.length; i++) {
                SourceTable.execute(
                        connection,
                        "create table t%d (id int8 primary key, v %s)".formatted(i, types[i]));
                fill(connection, "t" + i, types[i]);
            }
            // values of before and after lie side by side
            SourceTable.execute(
                    connection,
                    "alter type deep drop attribute gone",
                    "alter type flat add attribute later mood");
            laterExists = true;
            for (int i = 0; i < types.length; i++) {
                fill(connection, "t" + i, types[i]);
            }
            List<String> differences = new ArrayList<>();
            for (int i = 0; i < types.length; i++) {
                compare(connection, "t" + i, types[i], differences);
            }
            assertThat(differences).as("seed %d, PostgreSQL %d", seed, major).isEmpty();
        }
    }

    private static String[] types() {
        return new String[] {
            "mood",
            "moody[]",
            "smaller",
            "words",
            "words[]",
            "flat",
            "flat[]",
            "deep",
            "deep[]",
            "mixed",
            "whole",
            "int4range",
            "int8range[]",
            "numrange",
            "daterange",
            "tsrange",
            "tstzrange",
            "words_range",
            "mood_range",
            "flat_range",
            "int4multirange",
            "nummultirange",
            "datemultirange[]",
            "words_multirange",
            "flat_multirange",
            "hstore[]",
            "box[]",
            "point[]",
            "polygon[][]",
            "jsonb[]",
            "mood[][]",
            "tsvector[]",
            "ltree[]",
            "bit(3)[]",
            "inet[]"
        };
    }

    private void fill(Connection connection, String table, String type) throws Exception {
        for (int i = 0; i < ROWS / 2; i += BATCH) {
            StringBuilder sql = new StringBuilder("insert into " + table + " values ");
            for (int j = 0; j < BATCH; j++) {
                sql.append(j == 0 ? "" : ", ").append('(').append(filled++).append(", ");
                sql.append(j == 0 ? "null" : value(type, 0)).append("::").append(type).append(')');
            }
            SourceTable.execute(connection, sql.toString());
        }
    }

    /** A SQL expression of a random value. */
    private String value(String type, int depth) {
        return depth > 0 && random.nextInt(6) == 0 ? "null" : "(" + present(type, depth) + ")";
    }

    private String present(String type, int depth) {
        if (type.equals("words")) {
            return array("text", 1, depth) + "::words";
        }
        if (type.endsWith("[]")) {
            int dimensions = (type.length() - type.replace("[]", "").length()) / 2;
            String element = type.replace("[]", "");
            return array(element, random.nextInt(8) == 0 ? 2 : dimensions, depth);
        }
        if (type.endsWith("multirange")) {
            return multirange(type, depth);
        }
        if (type.endsWith("range")) {
            return range(type);
        }
        return switch (type) {
            case "flat" ->
                    "row("
                            + parts(
                                    depth,
                                    "int2",
                                    "text",
                                    "float8",
                                    "bool",
                                    "numeric",
                                    "\"char\"",
                                    "bytea")
                            + (laterExists ? ", " + value("mood", depth + 1) + "::mood" : "")
                            + ")";
            case "deep" ->
                    "row("
                            + parts(depth, "flat")
                            + (laterExists ? "" : ", 'x'")
                            + ", "
                            + parts(depth, "mood", "flat[]", "hstore", "words", "smaller")
                            + ")";
            case "mixed" ->
                    "row("
                            + parts(
                                    depth,
                                    "int4range",
                                    "words_range",
                                    "nummultirange",
                                    "interval",
                                    "jsonb")
                            + ")";
            case "whole" -> "row(" + parts(depth, "int4", "deep", "text") + ")";
            default -> scalar(type);
        };
    }

    private String parts(int depth, String... types) {
        List<String> parts = new ArrayList<>();
        for (String type : types) {
            parts.add(value(type, depth + 1) + "::" + type);
        }
        return String.join(", ", parts);
    }

    private String array(String element, int dimensions, int depth) {
        int count = random.nextInt(depth > 1 ? 3 : 6);
        List<String> elements = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            elements.add(value(element, depth + 1) + "::" + element);
        }
        if (element.equals("words")) {
            // ARRAY[] of a domain over an array would concatenate
            return random.nextBoolean() ? "'{}'" : "'{\"{a,NULL}\",NULL,\"{\\\"b c\\\"}\"}'";
        }
        String one = "array[" + String.join(", ", elements) + "]::" + element + "[]";
        if (dimensions > 1) {
            return "array[" + one + ", " + one + "]";
        }
        return count > 0 && random.nextInt(6) == 0
                ? "array_fill("
                        + elements.getFirst()
                        + ", array[2], array["
                        + random.nextInt(9)
                        + "])"
                : one;
    }

    private String range(String type) {
        if (random.nextInt(12) == 0) {
            return "'empty'";
        }
        String subtype =
                switch (type) {
                    case "int4range" -> "int4";
                    case "int8range" -> "int8";
                    case "numrange" -> "numeric";
                    case "daterange" -> "date";
                    case "tsrange" -> "timestamp";
                    case "tstzrange" -> "timestamptz";
                    case "words_range" -> "text";
                    case "mood_range" -> "mood";
                    default -> "flat";
                };
        String kind = List.of("[]", "[)", "(]", "()").get(random.nextInt(4));
        String collation = subtype.equals("text") ? " collate \"C\"" : "";
        return "(select %s(%s, %s, '%s') from (select %s::%s%s a, %s::%s%s b) x)"
                .formatted(
                        type,
                        random.nextInt(6) == 0 ? "null" : "least(a, b)",
                        random.nextInt(6) == 0 ? "null" : "greatest(a, b)",
                        kind,
                        bound(subtype),
                        subtype,
                        collation,
                        bound(subtype),
                        subtype,
                        collation);
    }

    private String bound(String subtype) {
        return switch (subtype) {
            case "text" -> quoted(text(20));
            case "flat" ->
                    "row(%d, %s, 1.5, true, 1.50, 'x', '\\x00'%s)"
                            .formatted(
                                    random.nextInt(100),
                                    quoted(text(9)),
                                    laterExists ? ", 'sad'" : "");
            default -> "(" + scalar(subtype) + ")";
        };
    }

    private String multirange(String type, int depth) {
        String range =
                switch (type) {
                    case "int4multirange" -> "int4range";
                    case "nummultirange" -> "numrange";
                    case "datemultirange" -> "daterange";
                    case "words_multirange" -> "words_range";
                    default -> "flat_range";
                };
        List<String> parts = new ArrayList<>();
        for (int i = random.nextInt(depth > 0 ? 4 : 14); i > 0; i--) {
            parts.add(range(range) + "::" + range);
        }
        return type + "(" + String.join(", ", parts) + ")";
    }

    private String scalar(String type) {
        return switch (type) {
            case "mood" ->
                    List.of("'sad'", "'fine (so)'", "'it''s, \"ü\"'", "'early'")
                            .get(random.nextInt(4));
            case "moody" -> scalar("mood");
            case "smaller" -> "" + random.nextInt(1000);
            case "int2" -> "'" + (random.nextInt(65_536) - 32_768) + "'";
            case "int4" -> "'" + random.nextInt(1 << 30) + "'";
            case "int8" -> "'" + random.nextLong(1L << 60) + "'";
            case "float8" -> "'" + random.nextGaussian() + "'";
            case "numeric" ->
                    random.nextInt(9) == 0
                            ? "'NaN'"
                            : "'" + random.nextLong() + "." + random.nextInt(99) + "'";
            case "bool" -> random.nextBoolean() ? "true" : "false";
            case "\"char\"" -> "'" + (char) ('A' + random.nextInt(26)) + "'";
            case "bytea" -> "'\\x" + "00ff".repeat(random.nextInt(40)) + "'";
            case "text" -> quoted(text(random.nextInt(20) == 0 ? 9_000 : 40));
            case "date" -> "'2000-01-01'::date + " + random.nextInt(10_000);
            case "timestamp" ->
                    "'2000-01-01'::timestamp + interval '" + random.nextInt(1 << 30) + " s'";
            case "timestamptz" ->
                    "'2000-01-01'::timestamptz + interval '" + random.nextInt(1 << 30) + " s'";
            case "interval" -> "interval '" + random.nextInt(1 << 30) + " s'";
            case "hstore" ->
                    "hstore(array["
                            + quoted(text(9))
                            + ", 'b'], array["
                            + quoted(text(30))
                            + ", null])";
            case "jsonb" -> "jsonb_build_object('a', " + quoted(text(30)) + "::text, 'b', 1.50)";
            case "box" ->
                    "box(point(%d,1), point(2,%d))".formatted(random.nextInt(), random.nextInt());
            case "point" -> "point(%d,%s)".formatted(random.nextInt(), random.nextGaussian());
            case "polygon" -> "polygon(4, circle(point(%d,0), 3))".formatted(random.nextInt(99));
            case "tsvector" -> "to_tsvector('simple', " + quoted(text(60)) + ")";
            case "ltree" -> "'a.b" + random.nextInt(99) + ".c'::ltree";
            case "bit(3)" -> "'101'";
            case "inet" -> "'10.0.0." + random.nextInt(256) + "/24'";
            default -> throw new IllegalArgumentException(type);
        };
    }

    private static String quoted(String text) {
        return "'" + text.replace("'", "''") + "'";
    }

    private String text(int limit) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(limit); i > 0; i--) {
            text.append(ALPHABET[random.nextInt(ALPHABET.length)]);
        }
        return text.toString();
    }

    private static final String[] ALPHABET = {
        "a", "b", "c", " ", "\t", "\n", "\"", "\\", "(", ")", "{", "}", "[", "]", ",", "'", "é",
        "€", "😀", "NULL", ";", ":", "\f"
    };

    private void compare(Connection connection, String name, String type, List<String> differences)
            throws Exception {
        SourceTable table = new SourceTable(connection, name);
        MappingRules rules =
                MappingRules.defaults()
                        .withTables(
                                Map.of(
                                        table.shape().name(),
                                        new TableRule(
                                                null,
                                                null,
                                                Map.of(
                                                        "v",
                                                        new ColumnRule(
                                                                null,
                                                                ClickHouseType.Scalar.STRING)))));
        TableMapping mapping =
                ((Derivation.Mapped) TableMapping.derive(table.shape(), rules)).mapping();
        RowEncoder encoder = RowEncoder.compile(table.shape(), mapping, SourceEncoding.UTF8);
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(100, 0, 7);
        List<@Nullable String> found = new ArrayList<>();
        ByteBuilder out = new ByteBuilder(256);
        ColumnMapping column = mapping.columns().get(1);
        table.tuples(
                true,
                tuple -> {
                    block.clear();
                    encoder.appendRow(block, tuple, meta.record(8, 0), table.chunks());
                    out.clear();
                    block.nativeBlock().column(1).rowBinary(0, out);
                    found.add(string(out));
                });
        List<@Nullable String[]> expected = table.rows("select v from " + name + " order by ctid");
        assertThat(found).hasSameSizeAs(expected);
        for (int i = 0; i < found.size(); i++) {
            if (!Objects.equals(found.get(i), expected.get(i)[0])) {
                differences.add(
                        "%s: expected %s, found %s"
                                .formatted(type, expected.get(i)[0], found.get(i)));
            }
        }
        damage(table, column);
    }

    /** Nullable(String) in RowBinary. */
    private static @Nullable String string(ByteBuilder out) {
        if (out.array()[0] == 1) {
            return null;
        }
        int at = 1;
        while (out.array()[at++] < 0) {}
        return new String(out.array(), at, out.length() - at, StandardCharsets.UTF_8);
    }

    /** The codec of the column's own type, given damaged payloads. */
    private void damage(SourceTable table, ColumnMapping column) throws Exception {
        ValueCodec codec =
                Objects.requireNonNull(
                        new TypeCodecs(
                                        table.shape().types(),
                                        null,
                                        new ForeignCodecs(DatumRenderer.NONE))
                                .of(table.shape().attributes().get(1).typeOid()));
        ByteBuilder out = new ByteBuilder(256);
        for (byte[] payload : table.payloads(column.attributeNumber())) {
            for (int i = 0; i < DAMAGES; i++) {
                byte[] bytes = payload.clone();
                for (int j = 1 + random.nextInt(3); j > 0 && bytes.length > 0; j--) {
                    bytes[random.nextInt(bytes.length)] =
                            (byte) (random.nextBoolean() ? random.nextInt(256) : random.nextInt(4));
                }
                int length =
                        random.nextInt(4) == 0 ? random.nextInt(bytes.length + 1) : bytes.length;
                out.clear();
                try {
                    codec.appendText(bytes, 0, length, out);
                } catch (QuarantineException _) {
                    // the declared answer
                }
            }
        }
    }
}
