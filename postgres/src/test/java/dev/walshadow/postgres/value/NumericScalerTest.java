package dev.walshadow.postgres.value;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.heap.RealTable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Scaled integers of real numerics against BigDecimal. */
final class NumericScalerTest {
    private static final int[][] SHAPES = {
        {1, 0, 4},
        {9, 0, 4},
        {9, 9, 4},
        {5, 3, 4},
        {10, 2, 8},
        {18, 0, 8},
        {18, 18, 8},
        {18, 7, 8},
        {19, 0, 16},
        {38, 0, 16},
        {38, 38, 16},
        {38, 10, 16},
        {22, 3, 16},
        {39, 0, 32},
        {76, 0, 32},
        {76, 76, 32},
        {76, 38, 32},
        {50, 5, 32},
        {18, 2, 32}
    };

    @TempDir Path folder;

    private final long seed = Long.getLong("walshadow.seed", System.nanoTime());

    @Test
    void scalesWhatRealPagesHold() throws Exception {
        List<String> texts = texts(new Random(seed));
        List<byte[]> payloads = payloads(texts);
        ByteBuilder out = new ByteBuilder(64);
        int[] answers = new int[6];
        for (int i = 0; i < texts.size(); i++) {
            for (int[] shape : SHAPES) {
                NumericScaler scaler = new NumericScaler(shape[0], shape[1], shape[2]);
                out.clear();
                out.putByte(7);
                byte[] payload = payloads.get(i);
                int answer = scaler.append(payload, 0, payload.length, out);
                answers[answer]++;
                check(texts.get(i), shape, answer, out);
            }
        }
        assertThat(answers).as("every answer occurs").doesNotContain(0);
    }

    private void check(String text, int[] shape, int answer, ByteBuilder out) {
        String where = "%s as (%d, %d), seed %d".formatted(text, shape[0], shape[1], seed);
        switch (text) {
            case "NaN" -> assertThat(answer).as(where).isEqualTo(NumericScaler.NAN);
            case "Infinity" ->
                    assertThat(answer).as(where).isEqualTo(NumericScaler.POSITIVE_INFINITY);
            case "-Infinity" ->
                    assertThat(answer).as(where).isEqualTo(NumericScaler.NEGATIVE_INFINITY);
            default -> {
                BigDecimal exact = new BigDecimal(text);
                BigDecimal rounded = exact.setScale(shape[1], RoundingMode.HALF_UP);
                BigInteger unscaled = rounded.unscaledValue();
                if (unscaled.abs().compareTo(BigInteger.TEN.pow(shape[0])) >= 0) {
                    assertThat(answer).as(where).isEqualTo(NumericScaler.OVERFLOW);
                    assertThat(out.length()).as(where).isEqualTo(1);
                    return;
                }
                assertThat(answer)
                        .as(where)
                        .isEqualTo(
                                rounded.compareTo(exact) == 0
                                        ? NumericScaler.OK
                                        : NumericScaler.ROUNDED);
                assertThat(out.length()).as(where).isEqualTo(1 + shape[2]);
                assertThat(littleEndian(out.toByteArray(), 1)).as(where).isEqualTo(unscaled);
            }
        }
    }

    private static BigInteger littleEndian(byte[] bytes, int from) {
        byte[] reversed = new byte[bytes.length - from];
        for (int i = 0; i < reversed.length; i++) {
            reversed[i] = bytes[bytes.length - 1 - i];
        }
        return new BigInteger(reversed);
    }

    private static List<String> texts(Random random) {
        List<String> texts = new ArrayList<>();
        Collections.addAll(
                texts,
                "NaN",
                "Infinity",
                "-Infinity",
                "0",
                "0.000",
                "1",
                "-1",
                "0.5",
                "-0.5",
                "0.49999",
                "0.99995",
                "0.999999999",
                "999999999",
                "999999999.5",
                "-999999999.5",
                "999999999999999999",
                "999999999999999999.5",
                "9.5",
                "-9.5",
                "10",
                "1e75",
                "1e76",
                "-1e75",
                "1e-76",
                "5e-77",
                "4e-77",
                "1e-100",
                "1e1000",
                "0.00001",
                "12345.678",
                "9".repeat(38),
                "9".repeat(76),
                "-" + "9".repeat(76),
                "9".repeat(76) + ".5",
                "0." + "9".repeat(77),
                "18446744073709551616",
                "-9223372036854775808",
                "9223372036854775807",
                "170141183460469231731687303715884105727");
        for (int i = 0; i < 400; i++) {
            BigInteger unscaled = new BigInteger(random.nextInt(260), random);
            BigDecimal value = new BigDecimal(unscaled, random.nextInt(100) - 5);
            texts.add((random.nextBoolean() ? value.negate() : value).toPlainString());
        }
        return texts;
    }

    private List<byte[]> payloads(List<String> texts) throws Exception {
        try (EmbeddedPostgres server = EmbeddedPostgres.at(folder).setting("fsync", "off").start();
                Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"))) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(
                        "create extension pageinspect; create table t (v numeric, number int)");
            }
            try (PreparedStatement insert =
                    connection.prepareStatement("insert into t values (?::text::numeric, ?)")) {
                for (int i = 0; i < texts.size(); i++) {
                    insert.setString(1, texts.get(i));
                    insert.setInt(2, i);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            // rows need not lie in the order of their insertion
            byte[][] payloads = new byte[texts.size()][];
            for (byte[] @Nullable [] row : new RealTable(connection, "t").payloads()) {
                int number = LittleEndian.getInt(Objects.requireNonNull(row[1]), 0);
                payloads[number] = Objects.requireNonNull(row[0]);
            }
            return List.of(payloads);
        }
    }
}
