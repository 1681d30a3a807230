package dev.walshadow.postgres.heap;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.ValueCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole tuples of random tables on real pages against what COPY prints of them. */
final class TupleOracleTest {
    private static final int TABLES = Boolean.getBoolean("walshadow.soak") ? 200 : 12;
    private static final int ROWS = 120;

    /** Type and an expression of a value; every alignment, length and varlena form occurs. */
    private static final List<String[]> TYPES =
            List.of(
                    new String[] {"bool", "random() < 0.5"},
                    new String[] {"int2", "(random() * 1000)::int2"},
                    new String[] {"int4", "(random() * 100000)::int4"},
                    new String[] {"int8", "(random() * 1e15)::int8"},
                    new String[] {"float8", "round((random() * 1000)::numeric, 2)"},
                    new String[] {"\"char\"", "chr(65 + (random() * 20)::int)"},
                    new String[] {"name", "'n' || (random() * 1000)::int"},
                    new String[] {"text", "repeat('abc', (random() * 70)::int)"},
                    new String[] {"text", "repeat('walshadow', (random() * 1000)::int)"},
                    new String[] {"varchar(9)", "'v' || (random() * 1000)::int"},
                    new String[] {
                        "numeric", "round((random() * 1e9)::numeric, (random() * 5)::int)"
                    },
                    new String[] {"uuid", "gen_random_uuid()"},
                    new String[] {"macaddr", "'08:00:2b:01:02:03'"},
                    new String[] {"timetz", "'12:34:56.7+05'"},
                    new String[] {"date", "current_date"},
                    new String[] {"jsonb", "jsonb_build_object('a', random(), 'b', array[1,2])"},
                    new String[] {
                        "text",
                        "(select string_agg(md5(random()::text), '') from generate_series(1, 100) h"
                                + " where g > 0)"
                    });

    @TempDir Path folder;

    private final long seed = Long.getLong("walshadow.seed", System.nanoTime());

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void findsEveryAttributeOfRandomTables(int major) throws Exception {
        Random random = new Random(seed);
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder)
                        .version(major)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .initdbOption("--data-checksums")
                        .start()) {
            try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
                execute(connection, "create extension pageinspect");
                execute(connection, "set extra_float_digits to 1; set datestyle to iso, ymd");
                execute(connection, "select setseed(" + random.nextDouble() + ")");
                for (int i = 0; i < TABLES; i++) {
                    execute(connection, "drop table if exists t");
                    makeTable(connection, random);
                    check(new RealTable(connection, "t"));
                }
                execute(connection, "checkpoint");
            }
            checkChecksums(server.dataDirectory());
        }
    }

    private static void makeTable(Connection connection, Random random) throws SQLException {
        int columns = 1 + random.nextInt(16);
        StringBuilder definition = new StringBuilder("create table t (id int");
        StringBuilder values = new StringBuilder("insert into t select g");
        for (int i = 0; i < columns; i++) {
            String[] type = TYPES.get(random.nextInt(TYPES.size()));
            definition.append(", c").append(i).append(' ').append(type[0]);
            String nulls = random.nextInt(3) == 0 ? "0.5" : "0";
            values.append(", case when random() < ").append(nulls);
            values.append(" then null else (").append(type[1]).append(")::");
            values.append(type[0]).append(" end");
        }
        definition.append(")");
        values.append(" from generate_series(1, ").append(ROWS / 2).append(") g");
        execute(connection, definition.toString());
        for (int i = 0; i < columns; i++) {
            String type = TYPES.get(7)[0];
            if (random.nextInt(4) == 0 && isText(connection, "c" + i, type)) {
                String storage = List.of("external", "main").get(random.nextInt(2));
                execute(connection, "alter table t alter c" + i + " set storage " + storage);
            }
        }
        execute(connection, values.toString());
        // later columns are missing in the tuples above; a dropped one keeps its place
        execute(connection, "alter table t add added int default 7, add late text");
        execute(connection, "alter table t drop c" + random.nextInt(columns));
        execute(
                connection,
                "insert into t (id, added, late) select g, g, 'late' || g from generate_series("
                        + (ROWS / 2 + 1)
                        + ", "
                        + ROWS
                        + ") g");
    }

    private static boolean isText(Connection connection, String column, String type)
            throws SQLException {
        try (Statement statement = connection.createStatement();
                var rows =
                        statement.executeQuery(
                                "select 1 from pg_attribute where attrelid = 't'::regclass"
                                        + " and attname = '"
                                        + column
                                        + "' and atttypid = '"
                                        + type
                                        + "'::regtype")) {
            return rows.next();
        }
    }

    @SuppressWarnings("ReferenceEquality") // MISSING is an identity
    private void check(RealTable table) throws SQLException, IOException {
        List<RealTable.Column> columns = table.columns();
        List<byte[] @Nullable []> payloads = table.payloads();
        List<@Nullable String[]> texts = table.texts();
        assertThat(payloads).hasSize(ROWS).hasSameSizeAs(texts);
        ByteBuilder out = new ByteBuilder(64);
        for (int row = 0; row < ROWS; row++) {
            List<@Nullable String> found = new ArrayList<>();
            for (int i = 0; i < columns.size(); i++) {
                RealTable.Column column = columns.get(i);
                byte @Nullable [] payload = payloads.get(row)[i];
                if (column.dropped()) {
                    continue;
                }
                if (payload == RealTable.MISSING) {
                    found.add(column.name().equals("added") ? "7" : null);
                } else if (payload == null) {
                    found.add(null);
                } else {
                    ValueCodec codec = Objects.requireNonNull(Codecs.builtin(column.typeOid()));
                    out.clear();
                    codec.appendText(payload, 0, payload.length, out);
                    found.add(out.toString());
                }
            }
            assertThat(found)
                    .as("row %d of %s, seed %d", row, columns, seed)
                    .containsExactly(texts.get(row));
        }
        checkShapes(table, columns);
    }

    /** The WAL shapes of a tuple give the same attributes as its page shape. */
    private static void checkShapes(RealTable table, List<RealTable.Column> columns)
            throws SQLException {
        TupleLayout layout = RealTable.layout(columns);
        AttributeWalker onPage = new AttributeWalker(layout);
        AttributeWalker inWal = new AttributeWalker(layout);
        HeapPage page = new HeapPage();
        TupleView tuple = new TupleView();
        TupleView logged = new TupleView();
        for (byte[] bytes : table.pages()) {
            assertThat(page.wrap(bytes, 0)).isTrue();
            ByteBuilder multi = new ByteBuilder(HeapPage.SIZE);
            multi.putAscii("odd");
            ByteBuilder body = new ByteBuilder(HeapPage.SIZE);
            List<Integer> numbers = new ArrayList<>();
            for (int at = page.nextNormal(0); at != 0; at = page.nextNormal(at)) {
                page.tuple(at, tuple);
                onPage.walk(tuple);
                byte[] wal = RealTable.walShape(tuple);
                logged.wrapWal(wal, 0, wal.length);
                inWal.walk(logged);
                checkSame(onPage, tuple, inWal, logged);
                RealTable.appendMultiShape(tuple, body);
                numbers.add(at);
            }
            multi.putBytes(body.array(), 0, body.length());
            int next = 3;
            for (int number : numbers) {
                page.tuple(number, tuple);
                onPage.walk(tuple);
                next = logged.wrapMulti(multi.array(), 3, next, multi.length());
                inWal.walk(logged);
                checkSame(onPage, tuple, inWal, logged);
            }
            assertThat(next).isEqualTo(multi.length());
        }
    }

    private static void checkSame(
            AttributeWalker a, TupleView ofA, AttributeWalker b, TupleView ofB) {
        assertThat(b.lengths()).isEqualTo(a.lengths());
        for (int i = 0; i < a.offsets().length; i++) {
            int offset = a.offset(i);
            assertThat(b.offset(i) - (offset < 0 ? 0 : ofB.dataOffset()))
                    .isEqualTo(offset - (offset < 0 ? 0 : ofA.dataOffset()));
            assertThat(ofB.isNull(i)).isEqualTo(offset == AttributeWalker.NULL);
        }
    }

    /** Every page of every relation of the cluster, catalogs and indexes included. */
    private static void checkChecksums(Path data) throws IOException {
        int checked = 0;
        List<Path> files;
        try (Stream<Path> walk = Files.walk(data.resolve("base"))) {
            files = walk.filter(file -> file.getFileName().toString().matches("\\d+")).toList();
        }
        for (Path file : files) {
            if (!Files.isRegularFile(file)) {
                continue;
            }
            byte[] bytes = Files.readAllBytes(file);
            for (int block = 0; block < bytes.length / HeapPage.SIZE; block++) {
                int at = block * HeapPage.SIZE;
                if (bytes[at + HeapPage.PD_UPPER] == 0 && bytes[at + HeapPage.PD_UPPER + 1] == 0) {
                    continue;
                }
                int stored =
                        (bytes[at + HeapPage.PD_CHECKSUM] & 0xFF)
                                | (bytes[at + HeapPage.PD_CHECKSUM + 1] & 0xFF) << 8;
                assertThat(PageChecksum.compute(bytes, at, block))
                        .as("%s block %d", file, block)
                        .isEqualTo(stored);
                checked++;
            }
        }
        assertThat(checked).isGreaterThan(500);
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
