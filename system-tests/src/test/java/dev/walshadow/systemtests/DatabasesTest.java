package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Several databases of a cluster from the one stream: of different encodings, clones with the same
 * OIDs, made, renamed and dropped while the daemon runs and while it does not.
 */
@Timeout(900)
final class DatabasesTest {
    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak")
                ? Stream.of(15, 16, 17, 18)
                : Stream.of(Integer.getInteger("walshadow.major", 17));
    }

    private static final String[] SCHEMA = {
        "CREATE TABLE item (id int PRIMARY KEY, name text, big text)",
        "ALTER TABLE item ALTER COLUMN big SET STORAGE EXTERNAL",
        "CREATE TABLE note (body text)",
        "CREATE SCHEMA more CREATE TABLE part (id int PRIMARY KEY, at timestamptz)",
        "INSERT INTO item SELECT i, 'caf\u00e9 ' || i, repeat(md5(i::text), 200)"
                + " FROM generate_series(1, 300) i",
        "INSERT INTO note SELECT 'n\u00f6te ' || i % 7 FROM generate_series(1, 50) i",
        "INSERT INTO more.part SELECT i, now() FROM generate_series(1, 20) i",
    };

    private static final String[] CHANGES = {
        "INSERT INTO item SELECT i, '\u00fcber ' || i, repeat('\u00e4', 5000)"
                + " FROM generate_series(1000, 1050) i",
        "UPDATE item SET name = name || '!' WHERE id % 10 = 0",
        "DELETE FROM item WHERE id % 17 = 0",
        "UPDATE note SET body = body || '?' WHERE body LIKE '%3'",
        "DELETE FROM more.part WHERE id = 7",
    };

    @SuppressWarnings("NullAway.Init") // every test starts with it
    private Installation at;

    @ParameterizedTest
    @MethodSource("majors")
    void everyFollowedDatabaseArrives(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            at = installation;
            at.configure("source", "databases = [\"app_*\", \"latin\"]");
            at.configure("tables", "on_drop = \"drop\"");
            attach();
            changes();
            unfollowedDatabasesCostNothing();
            clones();
            renames();
            whileItIsDown();
        }
    }

    @ParameterizedTest
    @MethodSource("majors")
    void anotherConfigurationIsTakenUp(int major) throws Exception {
        try (Installation installation = Installation.start(major)) {
            at = installation;
            at.configure("source", "databases = [\"app_*\", \"latin\"]");
            attach();
            anotherConfiguration();
        }
    }

    private void attach() throws Exception {
        at.execute(
                "CREATE DATABASE app_one",
                "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
                        + " TEMPLATE template0",
                "CREATE DATABASE icu LOCALE_PROVIDER icu ICU_LOCALE 'de' LC_COLLATE 'C'"
                        + " LC_CTYPE 'C' ENCODING 'UTF8' TEMPLATE template0");
        at.executeIn("app_one", SCHEMA);
        at.executeIn("latin", SCHEMA);
        at.executeIn("icu", SCHEMA);
        at.execute(
                "CREATE DATABASE app_two TEMPLATE app_one STRATEGY FILE_COPY",
                "CREATE DATABASE ignored TEMPLATE app_one STRATEGY WAL_LOG");
        at.startDaemon();
        at.awaitStreaming();
        equal("attached", 9);
        assertThat(at.status().path("databases").toString())
                .isEqualTo("[\"app_one\",\"app_two\",\"latin\"]");
        assertThat(query("SELECT name FROM latin_public.item FINAL WHERE id = 1"))
                .isEqualTo("caf\u00e9 1");
    }

    private void changes() throws Exception {
        for (String database : List.of("app_one", "app_two", "latin", "ignored")) {
            at.executeIn(database, CHANGES);
        }
        at.executeIn(
                "app_two",
                "ALTER TABLE item ADD COLUMN extra int DEFAULT 5",
                "INSERT INTO item (id, name) VALUES (5000, 'two')",
                "TRUNCATE note");
        at.executeIn("app_one", "TRUNCATE more.part", "INSERT INTO more.part VALUES (9, now())");
        at.executeIn("latin", "ALTER TABLE item RENAME COLUMN name TO title");
        equal("changed", 9);
    }

    private void unfollowedDatabasesCostNothing() throws Exception {
        long holds = holds();
        at.executeIn(
                "ignored",
                "ALTER TABLE item ADD COLUMN more int",
                "CREATE TABLE another (id int PRIMARY KEY)",
                "TRUNCATE note",
                "VACUUM FULL pg_class",
                "DROP TABLE item");
        equal("beside", 9);
        assertThat(holds()).as("holds").isEqualTo(holds);
    }

    private void clones() throws Exception {
        at.execute("CREATE DATABASE app_three TEMPLATE app_one STRATEGY WAL_LOG");
        at.executeIn("app_three", "INSERT INTO item VALUES (7000, 'three', 'x')");
        at.execute("CREATE DATABASE app_four TEMPLATE app_two STRATEGY FILE_COPY");
        at.executeIn("app_four", "UPDATE item SET name = 'four' WHERE id < 50");
        at.execute("CREATE DATABASE app_icu TEMPLATE icu");
        equal("cloned", 18);
        for (String database : List.of("app_one", "app_three", "app_icu")) {
            at.executeIn(database, CHANGES[1], CHANGES[2], CHANGES[3]);
        }
        at.executeIn("app_four", "ALTER TABLE item DROP COLUMN big", "VACUUM FULL item");
        equal("clones changed", 18);
        at.execute("DROP DATABASE app_icu");
        equal("dropped", 15);
        assertThat(query("SELECT count() FROM system.tables WHERE database LIKE 'app_icu%'"))
                .isEqualTo("0");
    }

    private void renames() throws Exception {
        at.execute("ALTER DATABASE app_three RENAME TO app_tres");
        equal("renamed", 15);
        at.executeIn("app_tres", "INSERT INTO item VALUES (7001, 'tres', 'x')");
        at.execute(
                "BEGIN; ALTER DATABASE app_one RENAME TO app_x; ALTER DATABASE app_two RENAME TO"
                        + " app_one; ALTER DATABASE app_x RENAME TO app_two; COMMIT");
        at.executeIn("app_one", "INSERT INTO item (id, name) VALUES (5001, 'was two')");
        at.executeIn("app_two", "INSERT INTO item (id, name) VALUES (5002, 'was one')");
        equal("exchanged", 15);
        assertThat(query("SELECT name FROM app_one_public.item FINAL WHERE id = 5001"))
                .isEqualTo("was two");
        assertThat(query("SELECT name FROM app_two_public.item FINAL WHERE id = 5002"))
                .isEqualTo("was one");
        at.execute("ALTER DATABASE ignored RENAME TO app_in");
        equal("renamed into the pattern", 18);
        at.executeIn("app_in", "INSERT INTO note VALUES ('in')");
        equal("followed", 18);
        at.execute("ALTER DATABASE app_in RENAME TO out_again");
        equal("renamed out of the pattern", 15);
    }

    private void whileItIsDown() throws Exception {
        at.target().delayInserts(Duration.ofMillis(200));
        at.executeIn("app_one", "UPDATE item SET name = name || '+'");
        at.execute("ALTER DATABASE app_tres RENAME TO app_drei");
        at.killDaemon();
        at.target().delayInserts(Duration.ZERO);
        at.executeIn("app_drei", "UPDATE item SET name = name || '-' WHERE id < 100");
        at.execute(
                "DROP DATABASE app_four",
                "CREATE DATABASE app_five TEMPLATE app_one STRATEGY WAL_LOG",
                "ALTER DATABASE app_drei RENAME TO app_trois");
        at.executeIn("app_trois", "INSERT INTO item VALUES (7002, 'trois', 'x')");
        at.executeIn("app_five", "DELETE FROM item WHERE id < 100");
        at.startDaemon();
        equal("after a kill", 15);
        assertThat(query("SELECT count() FROM app_trois_public.item FINAL WHERE id = 7002"))
                .isEqualTo("1");
    }

    private void anotherConfiguration() throws Exception {
        at.killDaemon();
        at.executeIn("icu", CHANGES);
        at.configure("source", "databases = [\"app_*\", \"icu\"]");
        at.startDaemon();
        at.executeIn("icu", "INSERT INTO note VALUES ('followed now')");
        at.await(
                "the database is followed",
                () -> at.status().path("databases").toString().contains("icu"));
        at.killDaemon();
        at.startDaemon();
        equal("another configuration", 9);
    }

    private void equal(String step, int tables) throws InterruptedException, SQLException {
        Verification.Outcome outcome = at.verify();
        assertThat(outcome.reason()).as("%s: %s", step, outcome).isEmpty();
        assertThat(outcome.results()).as("%s: %s", step, outcome).hasSize(tables);
        System.out.println(step + ": " + outcome.toJson());
    }

    private String query(String sql) {
        return at.target().query(sql).strip();
    }

    private long holds() {
        return at.status().path("shadow").path("holds").asLong(-1);
    }
}
