package dev.walshadow.pipeline.mapping;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import java.nio.charset.StandardCharsets;

/** A mapping that is pinned in ClickHouse's ledger, where anybody can write. */
final class MappingFuzzTest {
    @FuzzTest(maxDuration = "1m")
    void pinned(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        try {
            TableMapping mapping = MappingJson.parse(text);
            Invariant.check(
                    MappingJson.parse(MappingJson.print(mapping)).equals(mapping),
                    "what is read is printed again");
        } catch (QuarantineException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    @FuzzTest(maxDuration = "1m")
    void where(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        try {
            String printed = RowFilter.parse(text).print(MappingFuzzTest::quoted);
            Invariant.check(
                    RowFilter.parse(printed).print(MappingFuzzTest::quoted).equals(printed),
                    "what is read is printed again");
        } catch (IllegalArgumentException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    private static String quoted(String column) {
        return column.startsWith("$") ? column : '"' + column.replace("\"", "\"\"") + '"';
    }

    @FuzzTest(maxDuration = "1m")
    void transform(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        try {
            Transform transform = Transform.parse(text, null);
            Invariant.check(
                    Transform.parse(transform.print(), null).print().equals(transform.print()),
                    "what is read is printed again");
        } catch (IllegalArgumentException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
