package dev.walshadow.clickhouse;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** What ClickHouse, or a proxy before it, answers: any bytes. */
final class AnswerFuzzTest {
    private static final String[] TYPES = {
        "UInt8",
        "Int64",
        "String",
        "Nullable(String)",
        "Array(Nullable(Int32))",
        "Array(Array(String))",
        "UUID",
        "Decimal(76, 10)",
        "DateTime64(6, 'UTC')",
        "Map(String, Nullable(String))",
        "Tuple(Int8, String)",
        "Enum16('a' = 1)"
    };

    @FuzzTest(maxDuration = "1m")
    void tabSeparated(byte[] bytes) {
        long[] length = new long[1];
        try {
            TabSeparatedReader.readAll(
                    new ByteArrayInputStream(bytes),
                    row -> {
                        for (int i = 0; i < row.columns(); i++) {
                            String text = row.text(i);
                            length[0] += text == null ? 1 : text.length();
                        }
                    });
        } catch (IOException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
        Invariant.check(length[0] <= bytes.length, "no text is longer than its answer");
    }

    /** First byte: the column's type. */
    @FuzzTest(maxDuration = "1m")
    void rowBinary(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        String type = TYPES[(bytes[0] & 0xFF) % TYPES.length];
        ColumnBuffer column = ColumnBuffer.of(ClickHouseType.parse(type));
        int at = 1;
        try {
            while (at < bytes.length) {
                int next = column.appendRowBinary(bytes, at);
                Invariant.check(next > at && next <= bytes.length, "a value lies in its answer");
                at = next;
            }
        } catch (IndexOutOfBoundsException e) {
            // without a message where the JVM has thrown it often
            Invariant.check(at < bytes.length, "only an answer that is cut off is refused");
        }
    }

    /** As {@link #rowBinary}, read from a stream: the same bytes, value by value. */
    @FuzzTest(maxDuration = "1m")
    void rowBinaryStream(byte[] bytes) {
        if (bytes.length == 0) {
            return;
        }
        String type = TYPES[(bytes[0] & 0xFF) % TYPES.length];
        ColumnBuffer column = ColumnBuffer.of(ClickHouseType.parse(type));
        RowBinaryInput in =
                new RowBinaryInput(new ByteArrayInputStream(bytes, 1, bytes.length - 1));
        ByteBuilder copied = new ByteBuilder(64);
        int at = 1;
        try {
            while (!in.isAtEnd()) {
                copied.clear();
                column.copyRowBinary(in, copied);
                Invariant.check(
                        Arrays.equals(
                                copied.toByteArray(),
                                Arrays.copyOfRange(bytes, at, at + copied.length())),
                        "a value is copied as it is");
                Invariant.check(copied.capacity() <= 4 << 20, "and takes no more room than it has");
                at += copied.length();
            }
            Invariant.check(at == bytes.length, "an answer is read to its end");
        } catch (IOException e) {
            Invariant.check(e.getMessage() != null, "an answer that is cut off says so");
        }
    }

    @FuzzTest(maxDuration = "1m")
    void type(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        try {
            ClickHouseType type = ClickHouseType.parse(text);
            String printed = type.print();
            Invariant.check(
                    ClickHouseType.parse(printed).equals(type), "a printed type is that type");
        } catch (IllegalArgumentException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
