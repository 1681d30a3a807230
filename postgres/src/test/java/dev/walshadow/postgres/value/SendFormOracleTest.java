package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.heap.RealTable;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.copy.CopyManager;
import org.postgresql.core.BaseConnection;

/** Every send form, from a real binary COPY, against the bytes of real heap pages. */
final class SendFormOracleTest {
    private static final int RANDOM_VALUES = Boolean.getBoolean("walshadow.soak") ? 5_000 : 100;
    private static final int COPY_HEADER = 19;

    @TempDir Path folder;

    private final long seed = Long.getLong("walshadow.seed", System.nanoTime());

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void becomesWhatIsStored(int major) throws Exception {
        try (EmbeddedPostgres server =
                        EmbeddedPostgres.at(folder)
                                .version(major)
                                .setting("fsync", "off")
                                .setting("autovacuum", "off")
                                .setting("lc_monetary", "C")
                                .start();
                Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
            CodecOracleTest.execute(connection, "create extension pageinspect");
            CodecOracleTest.execute(connection, "create extension citext; create extension hstore");
            CodecOracleTest.execute(connection, "create extension ltree; create extension cube");
            CodecOracleTest.execute(connection, "set xmloption to content");
            Set<String> checked = new HashSet<>();
            List<String> differences = new ArrayList<>();
            for (TypeSamples samples : TypeSamples.all(major)) {
                if (check(connection, samples, new Random(seed), differences)) {
                    checked.add(samples.type());
                }
            }
            assertThat(differences).as("seed %d", seed).isEmpty();
            assertThat(checked).hasSizeGreaterThan(45).contains("numeric", "text[]", "inet");
        }
    }

    /** False if there is no send form for the type. */
    private static boolean check(
            Connection connection, TypeSamples samples, Random random, List<String> differences)
            throws Exception {
        CodecOracleTest.execute(connection, "drop table if exists t");
        CodecOracleTest.execute(connection, "create table t (id int, v " + samples.type() + ")");
        RealTable table = new RealTable(connection, "t");
        SendForm form = form(table.columns().get(1), samples.type());
        if (form == null) {
            return false;
        }
        insert(connection, samples, random);
        List<byte[] @Nullable []> stored = table.payloads();
        List<byte[]> sent = sent(connection);
        assertThat(sent).hasSameSizeAs(stored);
        ByteBuilder out = new ByteBuilder(16);
        for (int i = 0; i < sent.size(); i++) {
            byte[] value = sent.get(i);
            out.clear();
            form.append(value, 0, value.length, out);
            byte[] expected = Objects.requireNonNull(stored.get(i)[1]);
            if (!Arrays.equals(expected, out.toByteArray())) {
                differences.add(
                        "%s: expected %s, found %s"
                                .formatted(samples.type(), hex(expected), hex(out.toByteArray())));
            }
        }
        return true;
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes, 0, Math.min(100, bytes.length));
    }

    private static @Nullable SendForm form(RealTable.Column column, String type) {
        if (column.elementOid() == 0) {
            return type.equals("citext")
                    ? SendForms.byName(type)
                    : SendForms.builtin(column.typeOid());
        }
        SendForm element = SendForms.builtin(column.elementOid());
        return element == null
                ? null
                : SendForms.array(element, column.elementLength(), column.elementAlignment());
    }

    private static void insert(Connection connection, TypeSamples samples, Random random)
            throws SQLException {
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
    }

    private static List<byte[]> sent(Connection connection) throws SQLException, IOException {
        ByteArrayOutputStream copied = new ByteArrayOutputStream();
        new CopyManager((BaseConnection) connection)
                .copyOut("copy (select v from t) to stdout (format binary)", copied);
        assertThat(new String(copied.toByteArray(), 0, 6, StandardCharsets.US_ASCII))
                .isEqualTo("PGCOPY");
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(copied.toByteArray()));
        in.skipNBytes(COPY_HEADER);
        List<byte[]> values = new ArrayList<>();
        while (in.readShort() == 1) {
            values.add(in.readNBytes(in.readInt()));
        }
        return values;
    }
}
