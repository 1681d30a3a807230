package dev.walshadow.systemtests.values;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.FileTree;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.embedded.EmbeddedPostgresBinaries;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Types that no codec knows: printed by PostgreSQL itself, or, without their library, as bytes. */
final class ForeignTypesTest {
    private static final String[] SCHEMA = {
        "CREATE EXTENSION seg",
        "CREATE EXTENSION isn",
        "CREATE TYPE span AS (s seg, note text)",
        "CREATE DOMAIN narrow AS seg",
        "CREATE TABLE book (code isbn PRIMARY KEY, issue issn, width seg, widths seg[], p span,"
                + " n narrow, more seg DEFAULT '1.0')",
    };

    private static String books(int from, int to) {
        return "INSERT INTO book SELECT ('978' || lpad(i::text, 9, '0') || '?')::isbn,"
                + " '0378-5955'::issn, (i || '.0 .. ' || i + 1 || '.50')::seg, ARRAY[('~' ||"
                + " i)::seg, NULL, ('<' || i)::seg], ROW('5.00(+-)0.10', 'it''s')::span, '1e-3',"
                + " NULL FROM generate_series("
                + from
                + ", "
                + to
                + ") i";
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void postgresPrintsThem(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(SCHEMA);
            installation.execute(books(1, 2000));
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    books(3001, 5000),
                    "UPDATE book SET width = '7 .. 8' WHERE code < '978000000010?'::isbn",
                    "DELETE FROM book WHERE code > '978000000490?'::isbn",
                    "ALTER TABLE book ADD late seg DEFAULT '3.0 .. 4'");
            equal(installation);
            killScratchServer(installation);
            installation.execute(books(6001, 6010));
            equal(installation);
            assertThat(
                            installation
                                    .target()
                                    .query(
                                            "SELECT code, issue, width, widths, p, n, more, late"
                                                    + " FROM public.book FINAL ORDER BY code LIMIT"
                                                    + " 1"))
                    .isEqualTo(
                            "0-00-000001-9\t0378-5955\t7 .. 8\t['~1',NULL,'<1']\t"
                                    + "(\"4.90 .. 5.10\",it\\'s)\t0.001\t\\N\t3.0 .. 4\n");
            installation.resync("public.book");
            equal(installation);
        }
    }

    private static void equal(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s %s", outcome.results(), outcome.setAside()).isEmpty();
        assertThat(outcome.notCompared()).isEmpty();
    }

    /** CREATE TYPE of PostgreSQL's own functions needs no library: the codecs here print it. */
    @Test
    void typesOfBuiltinFunctionsArriveAsTheirText() throws Exception {
        try (Installation installation = Installation.start(16)) {
            for (String[] type :
                    new String[][] {
                        {"big", "int8in", "int8out", "int8"},
                        {"words", "textin", "textout", "text"},
                        {"exact", "numeric_in", "numeric_out", "numeric"},
                        {"moment", "timestamptz_in", "timestamptz_out", "timestamptz"},
                        {"odd", "byteain", "unknownout", "bytea"}
                    }) {
                boolean modifier = type[0].equals("exact") || type[0].equals("moment");
                installation.execute(
                        "CREATE TYPE " + type[0],
                        "CREATE FUNCTION %s_in(cstring%s) RETURNS %s LANGUAGE internal STRICT IMMUTABLE AS '%s'"
                                .formatted(type[0], modifier ? ", oid, int" : "", type[0], type[1]),
                        "CREATE FUNCTION %s_out(%s) RETURNS cstring LANGUAGE internal STRICT IMMUTABLE AS '%s'"
                                .formatted(type[0], type[0], type[2]),
                        "CREATE TYPE %1$s (INPUT = %1$s_in, OUTPUT = %1$s_out, LIKE = %2$s)"
                                .formatted(type[0], type[3]));
            }
            installation.execute(
                    "CREATE DOMAIN large AS big",
                    "CREATE TABLE own (id int PRIMARY KEY, b big, bs big[], l large, w words,"
                            + " e exact, m moment)",
                    "CREATE TABLE strange (id int PRIMARY KEY, o odd)",
                    ownRows(1));
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    ownRows(101),
                    "UPDATE own SET b = '-9223372036854775808', w = repeat('x', 5000)::words WHERE"
                            + " id = 7",
                    "INSERT INTO strange VALUES (1, '\\x00')");
            equalBut(installation, "public.strange.o");
            assertThat(
                            installation
                                    .target()
                                    .query(
                                            "SELECT b, bs, l, w, e, m FROM public.own FINAL WHERE"
                                                    + " id = 1"))
                    .isEqualTo(
                            "10000000001\t['1',NULL]\t-1\tit\\'s 1\t1.50\t2026-01-02"
                                    + " 03:04:05+00\n");
            installation.resync("public.own");
            equalBut(installation, "public.strange.o");
        }
    }

    private static String ownRows(int from) {
        return "INSERT INTO own SELECT i, (10000000000 + i)::text::big, ARRAY[i::text::big, NULL],"
                + " (-i)::text::large, ('it''s ' || i)::words, (i || '.50')::exact,"
                + " '2026-01-02 03:04:05+00'::moment FROM generate_series("
                + from
                + ", "
                + (from + 99)
                + ") i";
    }

    private static void equalBut(Installation installation, String column) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s %s", outcome.results(), outcome.setAside()).isEmpty();
        assertThat(outcome.notCompared()).containsExactly(column);
    }

    private static void killScratchServer(Installation installation) throws IOException {
        Path file = installation.state().resolve("scratch").resolve("postmaster.pid");
        long pid = Long.parseLong(Files.readAllLines(file).getFirst().strip());
        assertThat(ProcessHandle.of(pid).orElseThrow().destroyForcibly()).isTrue();
    }

    @Test
    void withoutTheirLibraryTheirBytesArrive() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.configure("shadow", "binaries = \"" + withoutSeg(installation) + "\"");
            installation.execute(
                    "CREATE EXTENSION seg",
                    "CREATE TABLE width (id int PRIMARY KEY, s seg, ss seg[])",
                    "INSERT INTO width VALUES (1, '1.0', ARRAY['2'::seg, NULL])");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("INSERT INTO width VALUES (2, '1.0', NULL)");
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason()).as("%s", outcome.setAside()).isEmpty();
            assertThat(outcome.notCompared()).containsExactly("public.width.s", "public.width.ss");
            // SEG: two float4, two counts of digits, two extensions
            String one = "\\\\x0000803f0000803f0202";
            assertThat(installation.target().query("SELECT id, s, ss FROM public.width FINAL"))
                    .contains("1\t" + one, "2\t" + one);
            assertThat(Files.readString(installation.log()))
                    .contains("column s has the type public.seg", "hexadecimal");
        }
    }

    /** The binaries of PostgreSQL 18, copied: a server finds its libraries beside itself. */
    private static Path withoutSeg(Installation installation) throws IOException {
        Path from = Objects.requireNonNull(EmbeddedPostgresBinaries.unpack(18).getParent());
        Path to = installation.folder("binaries").resolve("postgres");
        FileTree.copy(from, to, file -> !file.endsWith("seg.so"));
        return to.resolve("bin");
    }
}
