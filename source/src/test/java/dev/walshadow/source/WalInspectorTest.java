package dev.walshadow.source;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.postgres.wal.WalSegmentReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

/** Against what pg_waldump printed for the same segment. */
class WalInspectorTest {
    private static final Pattern LINE =
            Pattern.compile(
                    "rmgr: (\\S+)\\s+len \\(rec/tot\\):\\s+(\\d+)/\\s*(\\d+), tx:\\s+(\\d+), lsn:"
                            + " (\\S+), prev (\\S+), desc: ([\\w+]+)");
    private static final Pattern BLOCK =
            Pattern.compile("blkref #\\d+: rel \\d+/\\d+/\\d+( fork \\w+)? blk \\d+( FPW)?");

    static byte[] golden(String name) throws IOException {
        try (InputStream file =
                        WalInspectorTest.class.getResourceAsStream("/golden/wal15/" + name);
                GZIPInputStream unpacked = new GZIPInputStream(Objects.requireNonNull(file))) {
            return unpacked.readAllBytes();
        }
    }

    @Test
    void agreesWithPgWaldump() throws IOException {
        List<String> expected =
                new String(golden("waldump.txt.gz"), StandardCharsets.UTF_8).lines().toList();
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        WalInspector.Summary summary = new WalInspector(golden("segment.gz")).print(out);
        List<String> found = text.toString().lines().toList();
        assertThat(found).hasSameSizeAs(expected);
        for (int i = 0; i < found.size(); i++) {
            assertThat(essence(found.get(i))).isEqualTo(essence(expected.get(i)));
        }
        assertThat(summary.records()).isEqualTo(expected.size());
        assertThat(summary.end()).isEqualTo(WalSegmentReader.End.UNWRITTEN);
        assertThat(summary.dropped()).isBetween(1500L, 3000L);
    }

    private static String essence(String line) {
        Matcher fields = LINE.matcher(line);
        assertThat(fields.find()).as(line).isTrue();
        StringBuilder essence = new StringBuilder(fields.group(1));
        for (int i = 2; i <= fields.groupCount(); i++) {
            essence.append(' ').append(fields.group(i));
        }
        Matcher blocks = BLOCK.matcher(line);
        while (blocks.find()) {
            essence.append(", ").append(blocks.group());
        }
        return essence.toString();
    }

    @Test
    void namesTheDamage() throws IOException {
        byte[] segment = golden("segment.gz");
        segment[400_000] ^= 1;
        WalInspector inspector = new WalInspector(segment);
        WalInspector.Summary summary = inspector.print(new PrintWriter(new StringWriter()));
        assertThat(summary.end()).isEqualTo(WalSegmentReader.End.DAMAGED);
        assertThat(inspector.failure()).startsWith("WS-110").contains("0/76");
        assertThat(WalInspector.sentence(summary)).contains("damaged");
    }
}
