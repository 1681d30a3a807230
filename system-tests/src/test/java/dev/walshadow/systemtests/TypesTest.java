package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One table with a column of each kind of type, loaded and streamed, compared by verify. */
final class TypesTest {
    private static final List<String> SCHEMA =
            List.of(
                    "CREATE EXTENSION hstore",
                    "CREATE EXTENSION citext",
                    "CREATE EXTENSION ltree",
                    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
                    "CREATE TYPE pair AS (m mood, note text)",
                    "CREATE DOMAIN amount AS numeric(12,2)",
                    "CREATE DOMAIN grid AS int[][]",
                    "CREATE TYPE mood_range AS RANGE (subtype = mood)",
                    "CREATE TABLE every (id int, m mood, PRIMARY KEY (id, m), money money, monies"
                        + " money[], tid tid, ts tsvector, tq tsquery, path path, boxes box[],"
                        + " polygon polygon, jp jsonpath, reg regclass, regs regtype[], p pair,"
                        + " pairs pair[], r int4range, mr datemultirange, rm mood_range, h hstore,"
                        + " c citext, l ltree, a amount, g grid, d float8[][], moods mood[], bytes"
                        + " bytea[], times timestamptz[], i interval, n inet, bits varbit, snapshot"
                        + " pg_snapshot, lsn pg_lsn, x8 xid8)");

    private static String insert(int from, int to) {
        return "INSERT INTO every SELECT i, (ARRAY['sad','ok'])[1 + i % 2]::mood, i::money,"
                + " ARRAY[1.5::numeric::money, NULL], ('(' || i || ',1)')::tid,"
                + " to_tsvector('simple', 'a b' || i), 'a & !b:*A', '[(0,1),(2,3)]',"
                + " ARRAY[box(point(i,0)), NULL], polygon(5, circle '<(0,0),1>'), '$.a[*] ? (@ >"
                + " 1)', 'every', ARRAY['int4'::regtype, 'pair'::regtype], ROW('ok', 'it''s \"'"
                + " || i)::pair, ARRAY[ROW('sad', NULL)::pair, NULL], int4range(i, i + 5, '[]'),"
                + " datemultirange(daterange('2001-01-01', '2001-02-03')), mood_range('sad',"
                + " 'ok'), hstore(ARRAY['k' || i, 'n'], ARRAY['v\"\\', NULL]), 'Ab', 'a.b.c', i"
                + " / 3.0, ARRAY[ARRAY[i, NULL], ARRAY[3, 4]], ARRAY[ARRAY[0.1, 'NaN'::float8]],"
                + " ARRAY['ok', NULL]::mood[], ARRAY['\\x00ff'::bytea, '\\x'], ARRAY[timestamptz"
                + " '2001-02-03 04:05:06.7+00'], interval '1 mon -3 days 04:05:06', '::1/64',"
                + " B'1011', '10:20:10,14', '16/B374D848', '18446744073709551615' FROM"
                + " generate_series("
                + from
                + ", "
                + to
                + ") i";
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void everyTypeArrivesByLoadAndByStream(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(SCHEMA);
            installation.execute(
                    insert(1, 200),
                    "INSERT INTO every (id, m) SELECT i, 'ok' FROM generate_series(201, 210) i");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    insert(1001, 1200),
                    "UPDATE every SET h = 'a=>1', p = NULL, g = '{}', m = 'sad' WHERE id % 10 = 0",
                    "DELETE FROM every WHERE id % 17 = 0");
            equal(installation);
            assertThat(
                            installation
                                    .target()
                                    .query(
                                            "SELECT m, p, g, h['k1001'], moods, tid FROM"
                                                    + " public.every FINAL WHERE id = 1001")
                                    .strip())
                    .isEqualTo(
                            "ok\t(ok,\"it\\'s \"\"1001\")\t[[1001,NULL],[3,4]]\tv\"\\\\\t"
                                    + "['ok',NULL]\t(1001,1)");
        }
    }

    private static void equal(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
        assertThat(outcome.results()).allMatch(result -> result.equal());
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void enumLabelsComeAndChangeWhileRowsFlow(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(
                    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
                    "CREATE TABLE feeling (id int PRIMARY KEY, m mood, ms mood[])",
                    "INSERT INTO feeling VALUES (1, 'sad', '{ok}')");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "INSERT INTO feeling VALUES (2, 'ok', '{sad,NULL}')",
                    "ALTER TYPE mood ADD VALUE 'between' BEFORE 'ok'",
                    "INSERT INTO feeling VALUES (3, 'between', '{between,ok}')",
                    "ALTER TYPE mood RENAME VALUE 'sad' TO 'gloomy'",
                    "INSERT INTO feeling VALUES (4, 'gloomy', '{}')");
            equal(installation);
            assertThat(
                            installation
                                    .target()
                                    .query("SELECT id, m, ms FROM public.feeling FINAL ORDER BY id")
                                    .strip())
                    .isEqualTo(
                            "1\tgloomy\t['ok']\n2\tok\t['gloomy',NULL]\n"
                                    + "3\tbetween\t['between','ok']\n4\tgloomy\t[]");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 18})
    void compositesThatGrowShowWhatPostgresShows(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            installation.execute(
                    "CREATE TYPE pair AS (a int, b text)",
                    "CREATE TABLE holder (id int PRIMARY KEY, p pair, ps pair[])",
                    "CREATE TABLE other (id int PRIMARY KEY)",
                    "INSERT INTO holder VALUES (1, (1, 'x'), ARRAY[(2, NULL)::pair])");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "INSERT INTO holder VALUES (2, (2, 'y'), NULL)",
                    "ALTER TYPE pair ADD ATTRIBUTE c bool",
                    "INSERT INTO holder VALUES (3, (3, 'z', true), '{}')",
                    "INSERT INTO other VALUES (1)");
            equal(installation);
            assertThat(
                            installation
                                    .target()
                                    .query("SELECT id, p, ps FROM public.holder FINAL ORDER BY id")
                                    .strip())
                    .isEqualTo("1\t(1,x,)\t['(2,,)']\n2\t(2,y,)\t[]\n3\t(3,z,t)\t[]");
        }
    }
}
