package dev.walshadow.systemtests.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Rows that cannot be what PostgreSQL wrote: no value of them is guessed. Their table is set aside
 * by a message with position, ctid and bytes, the others go on, and once the source is in order a
 * resync ends equal. {@code -Dwalshadow.seed=N} repeats a run.
 */
final class DamagedRowsTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int MAJOR =
            Integer.getInteger("walshadow.major", new SplittableRandom(SEED).nextInt(15, 19));
    private static final Pattern POSITION = Pattern.compile("[0-9A-F]+/[0-9A-F]+");
    private static final Pattern CTID = Pattern.compile("row \\(\\d+,\\d+\\)");
    private static final Pattern BYTES = Pattern.compile("\\\\x[0-9a-f]{8}");

    // from the text of a row (id int, note text), as stored with a one-byte header, to parts of it
    private static final int VARLENA_HEADER = -1;
    private static final int ATTRIBUTE_COUNT = -11;

    // from a TOAST chunk's bytes
    private static final int CHUNK_SEQUENCE = -8;
    private static final int CHUNK_ATTRIBUTE_COUNT = -18;

    private static final int CHUNK = 1996;

    /** A value out of line, whose second chunk begins with a text. */
    private static String big(String text) {
        return "repeat('%s', %d) || '%s' || repeat('z', 3000)"
                .formatted(text.charAt(0), CHUNK, text);
    }

    @Test
    void damagedRowsOfTheInitialLoadAreNotGuessed() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + MAJOR);
        try (Installation installation =
                Installation.start(
                        MAJOR,
                        source ->
                                MAJOR < 18 ? source : source.initdbOption("--no-data-checksums"))) {
            for (String table : List.of("no_chunks", "one_chunk_less")) {
                create(installation, table);
                takeChunks(installation, table, table.startsWith("no") ? "" : " AND chunk_seq = 1");
            }
            for (String table : List.of("long_value", "more_columns", "fewer_columns")) {
                installation.execute(
                        "CREATE TABLE " + table + " (id int PRIMARY KEY, note text)",
                        "INSERT INTO "
                                + table
                                + " SELECT g, 'note ' || g FROM generate_series(1, 9) g");
            }
            installation.execute("CREATE TABLE steady (id int PRIMARY KEY, note text)");
            flipInFiles(installation);

            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("INSERT INTO steady VALUES (1, 'goes on')");
            List<String> tables =
                    List.of(
                            "no_chunks",
                            "one_chunk_less",
                            "long_value",
                            "more_columns",
                            "fewer_columns");
            awaitSetAside(installation, tables);
            awaitSteady(installation);
            for (String table : List.of("no_chunks", "one_chunk_less")) {
                assertThat(reason(installation, table)).contains("column big", "WS-1717");
                installation.execute("UPDATE " + table + " SET big = 'mended' WHERE id = 2");
            }
            flipInFiles(installation);
            requireMended(installation, tables);
        }
    }

    @Test
    void damagedRecordsOfTheStreamAreNotGuessed() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + MAJOR);
        try (Installation installation = Installation.start(MAJOR);
                DamagingProxy proxy = new DamagingProxy(installation.source().port())) {
            installation.configure(text ->
                    text.replace(
                            ":" + installation.source().port() + "/", ":" + proxy.port() + "/"));
            List<String> tables =
                    List.of(
                            "long_value",
                            "more_columns",
                            "fewer_columns",
                            "chunk_out_of_line",
                            "chunk_unreadable");
            for (String table : tables) {
                create(installation, table);
            }
            installation.execute("CREATE TABLE steady (id int PRIMARY KEY, note text)");
            installation.startDaemon();
            installation.awaitStreaming();
            // pages have had their images: what comes is the changes alone
            for (String table : tables) {
                installation.execute(
                        "INSERT INTO " + table + " VALUES (10, 'warm', " + big("warm") + ")");
            }
            String insert = "INSERT INTO %1$s (id, note) VALUES (11, 'mark %1$s')";
            for (Damage each :
                    List.of(
                            new Damage("long_value", VARLENA_HEADER, 0x60),
                            new Damage("more_columns", ATTRIBUTE_COUNT, 4),
                            new Damage("fewer_columns", ATTRIBUTE_COUNT, 2))) {
                damage(installation, proxy, insert, each);
            }
            String update = "UPDATE %1$s SET big = " + big("mark %1$s") + " WHERE id = 1";
            for (Damage each :
                    List.of(
                            new Damage("chunk_out_of_line", CHUNK_SEQUENCE, 4),
                            new Damage("chunk_unreadable", CHUNK_ATTRIBUTE_COUNT, 1))) {
                damage(installation, proxy, update, each);
            }
            installation.execute("INSERT INTO steady VALUES (1, 'goes on')");
            awaitSetAside(installation, tables);
            assertThat(reason(installation, "chunk_out_of_line")).contains("WS-1717");
            assertThat(reason(installation, "chunk_unreadable")).contains("WS-1717");
            awaitSteady(installation);
            requireMended(installation, tables);
        }
    }

    private static void awaitSteady(Installation installation) throws Exception {
        installation.await(
                "the others go on",
                () ->
                        installation
                                .target()
                                .query("SELECT note FROM public.steady FINAL")
                                .strip()
                                .equals("goes on"));
    }

    private static void create(Installation installation, String table) throws SQLException {
        installation.execute(
                "CREATE TABLE " + table + " (id int PRIMARY KEY, note text, big text)",
                "ALTER TABLE " + table + " ALTER COLUMN big SET STORAGE EXTERNAL",
                "INSERT INTO "
                        + table
                        + " SELECT g, 'note ' || g, repeat(g::text, 9000) FROM generate_series(1,"
                        + " 3) g");
    }

    /** PostgreSQL allows no change of a TOAST relation, so it is taken for a table meanwhile. */
    private static void takeChunks(Installation installation, String table, String which)
            throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            String toast =
                    ask(
                            statement,
                            "SELECT reltoastrelid::regclass FROM pg_class WHERE relname = '"
                                    + table
                                    + "'");
            String id = "(SELECT DISTINCT chunk_id FROM " + toast + " ORDER BY 1 OFFSET 1 LIMIT 1)";
            String kind =
                    "UPDATE pg_class SET relkind = '%s' WHERE oid = '" + toast + "'::regclass";
            statement.execute("SET allow_system_table_mods = on");
            statement.execute(kind.formatted("r"));
            assertThat(
                            statement.executeUpdate(
                                    "DELETE FROM " + toast + " WHERE chunk_id = " + id + which))
                    .isPositive();
            statement.execute(kind.formatted("t"));
            statement.execute("VACUUM " + table);
        }
    }

    private static String ask(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    /** Where the source keeps the table's rows. */
    private static Path file(Installation installation, String table) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            String path = ask(statement, "SELECT pg_relation_filepath('" + table + "')");
            return installation.source().dataDirectory().resolve(path);
        }
    }

    /** Changes rows in the files of the source; a second time puts them right again. */
    private static void flipInFiles(Installation installation) throws Exception {
        Path longValue = file(installation, "long_value");
        Path moreColumns = file(installation, "more_columns");
        Path fewerColumns = file(installation, "fewer_columns");
        installation.execute("CHECKPOINT");
        installation.source().stop();
        flip(longValue, VARLENA_HEADER, 0x60);
        flip(moreColumns, ATTRIBUTE_COUNT, 1);
        flip(fewerColumns, ATTRIBUTE_COUNT, 3);
        installation.source().start();
    }

    private static void flip(Path file, int distance, int bits) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        byte[] text = "note 5".getBytes(StandardCharsets.US_ASCII);
        int at = 0;
        while (!Arrays.equals(bytes, at, at + text.length, text, 0, text.length)) {
            at++;
        }
        bytes[at + distance] ^= (byte) bits;
        Files.write(file, bytes);
    }

    /**
     * A statement whose record holds the text "mark" and the table's name, and is damaged there.
     */
    private static void damage(
            Installation installation, DamagingProxy proxy, String statement, Damage how)
            throws Exception {
        int before = proxy.damaged();
        proxy.edit("mark " + how.table(), (bytes, at) -> bytes[at + how.distance()] ^= how.bits());
        installation.execute("SELECT pg_switch_wal()", statement.formatted(how.table()));
        installation.await("a record is damaged", () -> proxy.damaged() > before);
    }

    /** Bits at a distance from the text. */
    private record Damage(String table, int distance, byte bits) {
        Damage(String table, int distance, int bits) {
            this(table, distance, (byte) bits);
        }
    }

    private static String reason(Installation installation, String table) {
        for (JsonNode each : installation.status().path("tables")) {
            if (each.path("name").asString("").equals("public." + table)
                    && each.path("state").asString("").equals("quarantined")) {
                return each.path("reason").asString("");
            }
        }
        return "";
    }

    private static void awaitSetAside(Installation installation, List<String> tables) {
        for (String table : tables) {
            installation.await(
                    table + " is set aside", () -> !reason(installation, table).isEmpty());
            String reason = reason(installation, table);
            System.out.println(reason);
            assertThat(reason).contains("public." + table).doesNotContain("Exception");
            assertThat(POSITION.matcher(reason).find()).as(reason).isTrue();
            assertThat(CTID.matcher(reason).find()).as(reason).isTrue();
            assertThat(BYTES.matcher(reason).find()).as(reason).isTrue();
        }
        assertThat(installation.status().path("ok").asBoolean(true)).isFalse();
    }

    private static void requireMended(Installation installation, List<String> tables)
            throws Exception {
        installation.resyncAll(tables.stream().map(table -> "public." + table).toList());
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("seed %d, %s", SEED, outcome.results()).isEmpty();
    }
}
