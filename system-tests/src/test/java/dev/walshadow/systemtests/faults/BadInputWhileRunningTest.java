package dev.walshadow.systemtests.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.testkit.Installation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The source and ClickHouse misbehave under a running daemon. It stops, or sets one table aside, by
 * a message that names the position; nothing wrong arrives; and afterwards there is a way back to
 * equal. {@code -Dwalshadow.seed=N} repeats a run.
 */
final class BadInputWhileRunningTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final int MAJOR =
            Integer.getInteger("walshadow.major", new SplittableRandom(SEED).nextInt(15, 19));
    private static final Pattern POSITION = Pattern.compile("[0-9A-F]+/[0-9A-F]+");

    private final Installation installation = Installation.start(MAJOR);
    private DamagingProxy proxy;
    private int rows;

    @BeforeEach
    void start() throws Exception {
        System.out.println("seed " + SEED + ", PostgreSQL " + MAJOR);
        proxy = new DamagingProxy(installation.source().port());
        installation.configure(text ->
                text.replace(":" + installation.source().port() + "/", ":" + proxy.port() + "/"));
        installation.execute(
                "CREATE TABLE steady (id int PRIMARY KEY, note text)",
                "INSERT INTO steady SELECT g, 'before' FROM generate_series(1, 100) g");
    }

    @AfterEach
    void stop() throws Exception {
        installation.close();
        proxy.close();
    }

    /** Every message names a position; what is told once stands in the log. */
    private void ended(int exitCode, String code) throws Exception {
        assertThat(installation.awaitDaemonEnd()).as(log()).isEqualTo(exitCode);
        String message = message(code);
        assertThat(message).doesNotContain("Exception");
        assertThat(POSITION.matcher(message).find()).as(message).isTrue();
    }

    private void refused(String... codes) throws Exception {
        installation.launchDaemon();
        assertThat(installation.awaitDaemonEnd()).as(log()).isEqualTo(2);
        for (String code : codes) {
            assertThat(message(code)).isNotEmpty();
        }
    }

    /** The log's last line with a code. */
    private String message(String code) throws Exception {
        List<String> lines =
                Files.readAllLines(installation.log()).stream()
                        .filter(line -> line.contains(code))
                        .toList();
        assertThat(lines).as(code + " in " + log()).isNotEmpty();
        return lines.getLast();
    }

    private String log() throws Exception {
        return Files.readString(installation.log());
    }

    private void insert(String note) throws SQLException {
        rows++;
        installation.execute("INSERT INTO steady VALUES (" + (1000 + rows) + ", '" + note + "')");
    }

    private void equal() throws Exception {
        assertThat(installation.verify().reason()).isEmpty();
    }

    private String source(String sql) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? row.getString(1) : "";
        }
    }

    private String target(String sql) {
        return installation.target().query(sql).strip();
    }

    private void streaming() {
        installation.startDaemon();
        installation.awaitStreaming();
    }

    @Test
    void aRecordThatIsDamagedOnItsWayStopsTheStream() throws Exception {
        streaming();
        equal();
        proxy.damage("damaged-on-its-way");
        insert("damaged-on-its-way");
        ended(3, "WS-1102");
        assertThat(proxy.damaged()).isEqualTo(1);
        assertThat(target("SELECT count() FROM public.steady WHERE note LIKE 'damaged%'"))
                .isEqualTo("0");
        installation.startDaemon();
        insert("behind it");
        equal();
        loweredWalLevel();
    }

    private void loweredWalLevel() throws Exception {
        EmbeddedPostgres source = installation.source();
        source.setting("wal_level", "replica");
        source.restart();
        insert("cannot be decoded");
        ended(3, "wal_level");
        assertThat(target("SELECT count() FROM public.steady WHERE note LIKE 'cannot%'"))
                .isEqualTo("0");
        refused("WS-1911");
        source.setting("wal_level", "logical");
        source.restart();
        insert("behind the gap");
        installation.launchDaemon();
        ended(3, "wal_level");
        loadAnew();
        equal();
    }

    /** As docs/operations.md says. */
    private void loadAnew() throws Exception {
        installation.execute("SELECT pg_drop_replication_slot('walshadow')");
        target("DROP DATABASE public");
        target("DROP DATABASE walshadow");
        try (Stream<Path> files = Files.walk(installation.state())) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        streaming();
    }

    @Test
    void aTableThatClickHouseRefusesIsSetAsideAlone() throws Exception {
        for (String table : List.of("gone", "retyped", "constrained", "filled")) {
            installation.execute("CREATE TABLE " + table + " (id int PRIMARY KEY, note text)");
        }
        streaming();
        target("DROP TABLE public.gone SYNC");
        target("ALTER TABLE public.retyped DROP COLUMN note");
        target("ALTER TABLE public.constrained ADD CONSTRAINT small CHECK id < 1000");
        installation.target().failStatements("(?i)^insert into `?public`?\\.`?filled", 243);
        for (String table : List.of("gone", "retyped", "constrained", "filled")) {
            installation.execute("INSERT INTO " + table + " VALUES (4711, 'some')");
        }
        insert("others go on");
        installation.await(
                "three tables are set aside, and the others go on",
                () ->
                        setAside() == 3
                                && target(
                                                "SELECT count() FROM public.steady FINAL WHERE note"
                                                        + " = 'others go on'")
                                        .equals("1"));
        for (String table : List.of("gone", "retyped", "constrained")) {
            String message = message("public." + table + " is set aside");
            assertThat(POSITION.matcher(message).find()).as(message).isTrue();
            assertThat(message).contains("WS-1704");
        }
        assertThat(message("public.filled: waiting")).contains("243");
        installation.target().failStatements("", 0);
        assertThat(installation.command("wait").exitCode()).isEqualTo(1);
        assertThat(target("SELECT note FROM public.filled FINAL")).isEqualTo("some");
        target("ALTER TABLE public.constrained DROP CONSTRAINT small");
        for (String table : List.of("gone", "retyped", "constrained")) {
            installation.resync("public." + table);
        }
        equal();
    }

    private long setAside() {
        long count = 0;
        for (var table : installation.status().path("tables")) {
            count += table.path("state").asString("").equals("quarantined") ? 1 : 0;
        }
        return count;
    }

    @Test
    void theSlotGoesAndComesAndIsLost() throws Exception {
        streaming();
        String active = "SELECT active_pid FROM pg_replication_slots WHERE active";
        installation.execute(
                "DO $$ BEGIN LOOP BEGIN"
                        + " PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots;"
                        + " PERFORM pg_drop_replication_slot('walshadow'); EXIT;"
                        + " EXCEPTION WHEN object_in_use THEN NULL; END; END LOOP; END $$");
        insert("while the slot is gone");
        equal();
        assertThat(source(active)).isNotEmpty();
        proxy.refuse(true);
        installation.execute(
                "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'",
                "ALTER SYSTEM SET max_wal_size = '32MB'",
                "SELECT pg_reload_conf()");
        insert("never read");
        while (!source("SELECT wal_status FROM pg_replication_slots").equals("lost")) {
            installation.execute(
                    "CREATE TABLE fill AS SELECT repeat('x', 1000) FROM"
                            + " generate_series(1, 20000)",
                    "DROP TABLE fill",
                    "SELECT pg_switch_wal()",
                    "CHECKPOINT");
        }
        proxy.refuse(false);
        ended(3, "WS-1412");
        refused("WS-1913");
    }

    @Test
    void anotherClusterUnderTheAddressAndThenAnotherTimeline() throws Exception {
        streaming();
        EmbeddedPostgres source = installation.source();
        int port = source.port();
        source.stop();
        try (EmbeddedPostgres other =
                EmbeddedPostgres.at(installation.folder("other"))
                        .version(MAJOR)
                        .port(port)
                        .start()) {
            assertThat(installation.awaitDaemonEnd()).as(log()).isEqualTo(3);
            String message = message("WS-1413");
            Matcher identifiers = Pattern.compile("\\d{15,}").matcher(message);
            assertThat(identifiers.results().count()).as(message).isEqualTo(2);
            refused("WS-1903");
            assertThat(other.isRunning()).isTrue();
        }
        source.start();
        insert("back again");
        installation.startDaemon();
        equal();
        source.stop();
        Files.createFile(source.dataDirectory().resolve("recovery.signal"));
        source.setting("restore_command", "false");
        source.start();
        String writable = "SELECT NOT pg_is_in_recovery()";
        while (source(writable).equals("f")) {
            LockSupport.parkNanos(20_000_000);
        }
        insert("on the next timeline");
        equal(); // nothing of the old timeline is missing in it
        assertThat(target("SELECT count() FROM public.steady WHERE note LIKE 'on the next%'"))
                .isEqualTo("1");
    }
}
