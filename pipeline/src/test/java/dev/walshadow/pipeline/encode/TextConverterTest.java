package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.walshadow.base.ByteBuilder;
import dev.walshadow.clickhouse.StringColumn;
import java.lang.management.ManagementFactory;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Text of any length and encoding, which is converted piece by piece. */
final class TextConverterTest {
    private static final String[][] ENCODINGS = {
        {"LATIN1", "aäöüÿ"},
        {"WIN1252", "x€„“ž"},
        {"WIN1251", "zЖщё"},
        {"EUC_JP", "q日本語カナ"},
        {"EUC_KR", "k한국어"},
        {"EUC_CN", "c中文"},
    };

    private final PolicyCounts counts = new PolicyCounts();
    private final StringColumn column = new StringColumn();

    private TextConverter converter(String encoding) {
        return new TextConverter(SourceEncoding.named(encoding), counts);
    }

    private static Charset charset(String encoding) {
        return Objects.requireNonNull(SourceEncoding.named(encoding).charset());
    }

    private static String text(Random random, String alphabet, int length) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) {
            text.append(alphabet.charAt(random.nextInt(alphabet.length())));
        }
        return text.toString();
    }

    /** The bytes of the column's row. */
    private byte[] row(int row) {
        ByteBuilder binary = new ByteBuilder(16);
        column.rowBinary(row, binary);
        int header = 1;
        while (binary.array()[header - 1] < 0) {
            header++;
        }
        return Arrays.copyOfRange(binary.array(), header, binary.length());
    }

    @Test
    void textOfEveryLengthIsConverted() {
        Random random = new Random(7);
        for (String[] each : ENCODINGS) {
            TextConverter converter = converter(each[0]);
            for (int length : new int[] {0, 1, 8191, 8192, 8193, 16384, 100_003}) {
                String text = text(random, each[1], length);
                byte[] stored = ("##" + text + "#").getBytes(charset(each[0]));
                int row = column.rows();
                assertThat(converter.append(stored, 2, stored.length - 3, column)).isTrue();
                assertThat(new String(row(row), StandardCharsets.UTF_8))
                        .as("%s, %d characters", each[0], length)
                        .isEqualTo(text);
            }
        }
    }

    @Test
    void bytesThatDoNotBelongAreReplacedWhereverTheyAre() {
        TextConverter converter = converter("EUC_JP");
        for (int before : new int[] {0, 1, 8190, 8191, 8192, 8193, 20_000}) {
            String text = "日".repeat(before);
            byte[] valid = text.getBytes(charset("EUC_JP"));
            byte[] stored = Arrays.copyOf(valid, valid.length + 2);
            stored[valid.length] = (byte) 0xFF;
            stored[valid.length + 1] = 'x';
            int row = column.rows();
            assertThat(converter.append(stored, 0, stored.length, column)).isFalse();
            assertThat(new String(row(row), StandardCharsets.UTF_8))
                    .as("behind %d characters", before)
                    .isEqualTo(new String(stored, charset("EUC_JP")))
                    .startsWith(text + "\uFFFD");
            assertThat(column.rows()).isEqualTo(row + 1);
        }
    }

    @Test
    void sqlAsciiPassesAsItIs() {
        byte[] stored = "ß".repeat(50_000).getBytes(StandardCharsets.UTF_8);
        assertThat(converter("SQL_ASCII").append(stored, 0, stored.length, column)).isTrue();
        stored[stored.length - 1] = 'x';
        assertThat(converter("SQL_ASCII").append(stored, 0, stored.length, column)).isTrue();
        assertThat(row(1)).isEqualTo(stored);
    }

    @Test
    void aLongTextIsCutAtACharacter() {
        byte[] stored = "日本".repeat(20_000).getBytes(charset("EUC_JP"));
        for (int most : new int[] {1, 8191, 8192, 8193, 30_001}) {
            int row = column.rows();
            // the last character is cut off
            converter("EUC_JP").appendCut(stored, stored.length - 1, most, column);
            assertThat(new String(row(row), StandardCharsets.UTF_8))
                    .isEqualTo("日本".repeat(20_000).substring(0, most));
        }
    }

    /** I10: whatever a value is, the memory it takes is its column's. 400 MB in the soak. */
    @Test
    void aLargeValueTakesNoMemoryBesides() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (String encoding : new String[] {"LATIN1", "SQL_ASCII"}) {
            byte[] stored = new byte[(Boolean.getBoolean("walshadow.soak") ? 400 : 16) << 20];
            Arrays.fill(stored, (byte) 0xE4);
            converter(encoding).append(stored, 0, stored.length, column);
            column.clear(); // keeps its memory
            TextConverter converter = converter(encoding);
            long before = threads.getCurrentThreadAllocatedBytes();
            converter.append(stored, 0, stored.length, column);
            assertThat(threads.getCurrentThreadAllocatedBytes() - before)
                    .as(encoding)
                    .isLessThan(1 << 20);
        }
    }

    /** Every table has one, in each place that decodes it. */
    @Test
    void whatEveryTableHasIsSmall() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (String encoding : new String[] {"UTF8", "LATIN1"}) {
            byte[] stored = "ä".getBytes(StandardCharsets.ISO_8859_1);
            converter(encoding).append(stored, 0, stored.length, column);
            SourceEncoding source = SourceEncoding.named(encoding);
            long before = threads.getCurrentThreadAllocatedBytes();
            new TextConverter(source, counts).append(stored, 0, stored.length, column);
            assertThat(threads.getCurrentThreadAllocatedBytes() - before)
                    .as(encoding)
                    .isLessThan(2048);
        }
    }
}
