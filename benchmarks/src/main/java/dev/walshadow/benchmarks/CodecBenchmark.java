package dev.walshadow.benchmarks;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.TableBlock;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.transaction.ToastValues;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One value from its tuple to its Native column, by type: rows of an int4 key and eight columns of
 * the type, as a real server stored them. An eighth of the row's own cost (walk, key, meta columns)
 * is in it. Target: nothing allocated for types of fixed length.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 2, time = 1)
@Fork(1)
public class CodecBenchmark {
    /** Where the server is that stores the values. */
    static final String SERVER = "walshadow.benchmark.postgres";

    /** Types whose values are the same numbers on both sides. */
    static final Set<String> FIXED =
            Set.of(
                    "bool",
                    "int2",
                    "int4",
                    "int8",
                    "oid",
                    "float4",
                    "float8",
                    "money",
                    "date",
                    "time",
                    "timestamp",
                    "timestamptz",
                    "uuid",
                    "mood");

    private static final int ROWS = 256;
    private static final int COLUMNS = 8;
    private static final ToastValues NO_TOAST = (relation, value, out) -> false;

    /** A type; behind the colon what is special about its values. */
    @Param({
        "bool",
        "int2",
        "int4",
        "int8",
        "oid",
        "float4",
        "float8",
        "money",
        "numeric(12,2)",
        "numeric(38,10)",
        "numeric",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timetz",
        "interval",
        "uuid",
        "text",
        "text:500",
        "text:compressed",
        "varchar(40)",
        "bpchar(40)",
        "name",
        "bytea",
        "json",
        "jsonb",
        "inet",
        "macaddr",
        "varbit",
        "mood",
        "pair",
        "int4range",
        "int4multirange",
        "int4[]",
        "text[]",
        "tsvector",
        "point",
        "hstore"
    })
    public String type = "int4";

    private final List<TupleView> tuples = new ArrayList<>();
    private final RowMeta meta = new RowMeta().transaction(0x1_0000_0000L, 1, 1);
    private @Nullable RowEncoder encoder;
    private @Nullable TableBlock block;

    /** The values' type and the expression that makes the {@code i}-th of them. */
    private static String[] values(String type) {
        String digest = "md5(i::text)";
        return switch (type) {
            case "bool" -> new String[] {type, "i % 2 = 0"};
            case "int2", "int4", "oid" -> new String[] {type, "i"};
            case "int8" -> new String[] {type, "i * 1000000007::int8"};
            case "float4", "float8" -> new String[] {type, "i * 1.1"};
            case "money", "numeric(12,2)" -> new String[] {type, "(i * 0.37)::numeric"};
            case "numeric(38,10)", "numeric" -> new String[] {type, "i * 12345.6789012345"};
            case "date" -> new String[] {type, "date '2001-01-01' + i"};
            case "time", "timetz" -> new String[] {type, "time '00:00' + i * interval '1.000001s'"};
            case "timestamp", "timestamptz" ->
                    new String[] {type, "timestamp '2001-01-01' + i * interval '1.000001h'"};
            case "interval" -> new String[] {type, "i * interval '1 mon 2 days 1.000001s'"};
            case "uuid" -> new String[] {type, digest + "::uuid"};
            case "text", "varchar(40)", "bpchar(40)", "name" -> new String[] {type, digest};
            case "text:500" -> new String[] {"text", "left(repeat(" + digest + ", 16), 500)"};
            case "text:compressed" -> new String[] {"text", "repeat(" + digest + ", 100)"};
            case "bytea" -> new String[] {type, "decode(" + digest + ", 'hex')"};
            case "json", "jsonb" ->
                    new String[] {type, type + "_build_object('id', i, 'name', " + digest + ")"};
            case "inet" -> new String[] {type, "inet '10.0.0.0' + i"};
            case "macaddr" -> new String[] {type, "'08002b010203'::macaddr"};
            case "varbit" -> new String[] {type, "i::bit(32)"};
            case "mood" -> new String[] {type, "(ARRAY['sad', 'ok'])[1 + i % 2]::mood"};
            case "pair" -> new String[] {type, "ROW(i, " + digest + ")::pair"};
            case "int4range" -> new String[] {type, "int4range(i, i + 10)"};
            case "int4multirange" -> new String[] {type, "int4multirange(int4range(i, i + 10))"};
            case "int4[]" -> new String[] {type, "ARRAY[i, NULL, i + 1, i + 2]"};
            case "text[]" -> new String[] {type, "ARRAY[" + digest + ", NULL, 'short']"};
            case "tsvector" -> new String[] {type, "to_tsvector('simple', 'the word ' || i)"};
            case "point" -> new String[] {type, "point(i, i * 0.1)"};
            case "hstore" -> new String[] {type, "hstore('a', i::text)"};
            default -> throw new IllegalArgumentException(type);
        };
    }

    /** Has the server store the rows and reads its pages. */
    @Setup
    public void load() throws SQLException {
        String server = Objects.requireNonNull(System.getProperty(SERVER), SERVER);
        try (Connection session = DriverManager.getConnection(server)) {
            store(session);
            read(session);
            RelationDescriptor shape =
                    new CatalogReader()
                            .readAll(session).stream()
                                    .filter(relation -> relation.name().name().equals("codec"))
                                    .findFirst()
                                    .orElseThrow();
            TableMapping mapping =
                    switch (TableMapping.derive(shape, MappingRules.defaults())) {
                        case Derivation.Mapped mapped -> mapped.mapping();
                        case Derivation.HeldBack held ->
                                throw new IllegalStateException(held.reasons().toString());
                    };
            RowEncoder compiled = RowEncoder.compile(shape, mapping, SourceEncoding.UTF8);
            encoder = compiled;
            block = compiled.newBlock();
        }
    }

    private void store(Connection session) throws SQLException {
        String[] values = values(type);
        StringBuilder columns = new StringBuilder();
        StringBuilder row = new StringBuilder();
        StringBuilder storage = new StringBuilder("ALTER TABLE codec");
        for (int i = 0; i < COLUMNS; i++) {
            columns.append(", c").append(i).append(' ').append(values[0]);
            row.append(", ").append(values[1]);
            storage.append(i == 0 ? "" : ",");
            storage.append(" ALTER c").append(i).append(" SET STORAGE ");
            storage.append(type.endsWith(":compressed") ? "MAIN" : "PLAIN");
        }
        try (Statement statement = session.createStatement()) {
            statement.execute(
                    "DROP TABLE IF EXISTS codec; DROP TYPE IF EXISTS pair, mood; CREATE TYPE mood"
                            + " AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (a int, b text); CREATE"
                            + " EXTENSION IF NOT EXISTS pageinspect; CREATE EXTENSION IF NOT EXISTS"
                            + " hstore");
            statement.execute("CREATE TABLE codec (id int PRIMARY KEY" + columns + ")");
            statement.execute(storage.toString());
            statement.execute(
                    "INSERT INTO codec SELECT i%s FROM generate_series(1, %d) i"
                            .formatted(row, ROWS));
        }
    }

    private void read(Connection session) throws SQLException {
        HeapPage page = new HeapPage();
        try (PreparedStatement blocks =
                        session.prepareStatement(
                                "SELECT get_raw_page('codec', n) FROM generate_series(0,"
                                    + " pg_relation_size('codec')::int / 8192 - 1) n ORDER BY n");
                ResultSet block0 = blocks.executeQuery()) {
            while (block0.next()) {
                if (page.wrap(block0.getBytes(1), 0)) {
                    for (int at = page.nextNormal(0); at != 0; at = page.nextNormal(at)) {
                        TupleView tuple = new TupleView();
                        page.tuple(at, tuple);
                        tuples.add(tuple);
                    }
                }
            }
        }
        if (tuples.size() != ROWS) {
            throw new IllegalStateException(tuples.size() + " rows of " + ROWS);
        }
    }

    /** All rows; the time is that of one value. */
    @Benchmark
    @OperationsPerInvocation(ROWS * COLUMNS)
    public int values() {
        RowEncoder compiled = Objects.requireNonNull(encoder);
        TableBlock rows = Objects.requireNonNull(block);
        rows.clear();
        for (int i = 0; i < ROWS; i++) {
            compiled.appendRow(rows, tuples.get(i), meta.record(i * 8L, 0), NO_TOAST);
        }
        return rows.rows();
    }
}
