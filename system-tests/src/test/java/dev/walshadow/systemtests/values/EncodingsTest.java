package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Text of databases in other encodings arrives as UTF-8, whatever it is inside of. */
final class EncodingsTest {
    /**
     * @param text what the encoding can hold and ASCII cannot
     */
    private record Sample(String encoding, String text) {
        String database() {
            return encoding.toLowerCase(java.util.Locale.ROOT);
        }
    }

    private static final List<Sample> SAMPLES =
            List.of(
                    new Sample("LATIN1", "façade ÿ ¬"),
                    new Sample("WIN1252", "50 € – “ok” Š"),
                    new Sample("EUC_JP", "日本語 テスト ｱ"),
                    new Sample("KOI8R", "Привет"));

    @Test
    void textArrivesAsUtf8() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.configure(
                    "source",
                    "databases = [\"latin1\", \"win1252\", \"euc_jp\", \"koi8r\", \"ascii\"]");
            for (Sample sample : SAMPLES) {
                create(installation, sample.database(), sample.encoding());
                installation.executeIn(sample.database(), schema(sample.text()));
                installation.executeIn(sample.database(), rows(sample.text(), 1, 20));
            }
            create(installation, "ascii", "SQL_ASCII");
            installation.executeIn(
                    "ascii",
                    "CREATE TABLE t (id int PRIMARY KEY, v text)",
                    "INSERT INTO t VALUES (1, convert_from('\\xc3bc', 'SQL_ASCII'))");
            installation.startDaemon();
            installation.awaitStreaming();
            for (Sample sample : SAMPLES) {
                installation.executeIn(sample.database(), rows(sample.text(), 21, 40));
                installation.executeIn(
                        sample.database(),
                        "UPDATE t SET v = v || '" + sample.text() + "' WHERE id % 3 = 0",
                        "ALTER TABLE t ADD w text DEFAULT '" + sample.text() + "'",
                        "UPDATE t SET k = k || 'x' WHERE id % 7 = 0");
            }
            equal(installation);
            // nobody knows what these bytes are: they arrive as they are
            installation.executeIn(
                    "ascii", "INSERT INTO t VALUES (2, convert_from('\\xfc', 'SQL_ASCII'))");
            for (Sample sample : SAMPLES) {
                installation.resync(sample.database() + ".public.t");
            }
            installation.executeIn("ascii", "UPDATE t SET v = NULL WHERE id = 3");
            installation.command("wait");
            assertThat(
                            installation
                                    .target()
                                    .query(
                                            "SELECT id, hex(v) FROM ascii_public.t FINAL ORDER BY"
                                                    + " id"))
                    .isEqualTo("1\tC3BC\n2\tFC\n");
            installation.executeIn("ascii", "DELETE FROM t WHERE id = 2");
            equal(installation);
        }
    }

    private static void create(Installation installation, String name, String encoding)
            throws Exception {
        installation.execute(
                "CREATE DATABASE "
                        + name
                        + " ENCODING '"
                        + encoding
                        + "' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
    }

    /** The text as label, in a composite, an array, a jsonb, and in a key. */
    private static String[] schema(String text) {
        return new String[] {
            "CREATE TYPE label AS ENUM ('a', '" + text + "')",
            "CREATE TYPE pair AS (a text, l label)",
            "CREATE TABLE t (id int, k text, v text, c char(20), l label, p pair, ts text[], j"
                    + " jsonb, x xml, PRIMARY KEY (k, id))",
        };
    }

    private static String rows(String text, int from, int to) {
        return ("INSERT INTO t SELECT i, '%1$s' || i, repeat('%1$s', i * 20), '%1$s', '%1$s',"
                    + " ROW('%1$s', '%1$s')::pair, ARRAY['%1$s', NULL], jsonb_build_object('%1$s',"
                    + " '%1$s'), '<a>%1$s</a>' FROM generate_series(%2$d, %3$d) i")
                .formatted(text, from, to);
    }

    private static void equal(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s %s", outcome.results(), outcome.setAside()).isEmpty();
        assertThat(outcome.results()).hasSize(SAMPLES.size() + 1);
    }
}
