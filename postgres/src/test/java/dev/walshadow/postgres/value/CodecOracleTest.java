package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.heap.RealTable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every codec, from the bytes of real heap pages, against PostgreSQL's own COPY text. */
final class CodecOracleTest {
    private static final int RANDOM_VALUES = Boolean.getBoolean("walshadow.soak") ? 5_000 : 150;

    private static final int DAMAGES = Boolean.getBoolean("walshadow.soak") ? 50 : 5;
    private static final int DAMAGED_LIMIT = 20_000;

    @TempDir Path folder;

    private final long seed = Long.getLong("walshadow.seed", System.nanoTime());

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void printsEveryTypeAsPostgresDoes(int major) throws Exception {
        try (EmbeddedPostgres server =
                        EmbeddedPostgres.at(folder)
                                .version(major)
                                .setting("fsync", "off")
                                .setting("autovacuum", "off")
                                .setting("lc_monetary", "C")
                                .start();
                Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
            execute(connection, "create extension pageinspect");
            execute(connection, "create extension citext; create extension hstore");
            execute(connection, "create extension ltree; create extension cube");
            execute(connection, "set datestyle to iso, ymd; set timezone to utc");
            execute(connection, "set extra_float_digits to 1; set xmloption to content");
            List<String> differences = new ArrayList<>();
            for (TypeSamples samples : TypeSamples.all(major)) {
                check(connection, samples, new Random(seed), differences);
            }
            assertThat(differences).as("seed %d", seed).isEmpty();
        }
    }

    static void check(
            Connection connection, TypeSamples samples, Random random, List<String> differences)
            throws Exception {
        execute(connection, "drop table if exists t");
        execute(connection, "create table t (id int, v " + samples.type() + ")");
        List<String> values = new ArrayList<>(samples.values());
        for (int i = 0; i < RANDOM_VALUES && samples.random() != null; i++) {
            values.add(Objects.requireNonNull(samples.random()).apply(random));
        }
        try (PreparedStatement insert =
                connection.prepareStatement(
                        "insert into t values (?, ?::text::" + samples.type() + ")")) {
            for (int i = 0; i < values.size(); i++) {
                insert.setInt(1, i);
                insert.setString(2, values.get(i));
                insert.addBatch();
            }
            insert.executeBatch();
        }
        RealTable table = new RealTable(connection, "t");
        ValueCodec codec = codec(table.columns().get(1), samples.type());
        List<byte[] @Nullable []> payloads = table.payloads();
        List<@Nullable String[]> texts = table.texts();
        assertThat(payloads).hasSameSizeAs(values);
        assertThat(texts).hasSameSizeAs(values);
        ByteBuilder out = new ByteBuilder(16);
        for (int i = 0; i < values.size(); i++) {
            byte[] payload = Objects.requireNonNull(payloads.get(i)[1]);
            out.clear();
            out.putAscii("<");
            codec.appendText(payload, 0, payload.length, out);
            String printed = new String(out.array(), 1, out.length() - 1, StandardCharsets.UTF_8);
            String expected = texts.get(i)[1];
            if (!printed.equals(expected)) {
                differences.add(
                        "%s: expected [%s], found [%s]"
                                .formatted(samples.type(), expected, printed));
            }
            damage(codec, payload, random);
        }
    }

    /** Damaged bytes: a text or the declared failure, and never more than PostgreSQL's limit. */
    private static void damage(ValueCodec codec, byte[] payload, Random random) {
        ByteBuilder out = new ByteBuilder(16);
        for (int i = 0; i < DAMAGES && payload.length < DAMAGED_LIMIT; i++) {
            byte[] bytes = payload.clone();
            for (int j = 1 + random.nextInt(3); j > 0 && bytes.length > 0; j--) {
                int value = random.nextBoolean() ? random.nextInt(256) : random.nextInt(4);
                bytes[random.nextInt(bytes.length)] = (byte) value;
            }
            int length = random.nextInt(4) == 0 ? random.nextInt(bytes.length + 1) : bytes.length;
            out.clear();
            try {
                codec.appendText(bytes, 0, length, out);
            } catch (QuarantineException e) {
                assertThat(e.code()).isNotNull();
            }
        }
    }

    private static ValueCodec codec(RealTable.Column column, String type) {
        if (column.elementOid() != 0 && type.endsWith("[]")) {
            ValueCodec element = Codecs.builtin(column.elementOid());
            return new ArrayText(
                    column.elementLength(),
                    column.elementAlignment(),
                    ',',
                    Objects.requireNonNull(element, "element codec"));
        }
        ValueCodec codec = Codecs.builtin(column.typeOid());
        if (codec == null) {
            codec = Codecs.byName(type);
        }
        return Objects.requireNonNull(codec, "codec");
    }

    static void execute(Connection connection, String sql) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
