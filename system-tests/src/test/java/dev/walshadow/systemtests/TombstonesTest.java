package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tombstones are removed, and no deleted row comes back: to no reader, at no time, by no kill. */
@Timeout(900)
final class TombstonesTest {
    private static final int ROWS = 4000;

    @Test
    void noDeletedRowComesBackWhileTombstonesAreRemovedAndTheDaemonIsKilled() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        System.out.println("-Dwalshadow.seed=" + seed);
        try (Installation installation = Installation.start(15 + random.nextInt(4));
                ExecutorService beside = Executors.newVirtualThreadPerTaskExecutor()) {
            tables(installation);
            installation.configure("tombstones", "interval = \"1s\"");
            installation.configure("tombstones", "percent = 0");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();
            // by then they were visible, and are gone for good
            installation.execute(
                    "DELETE FROM item WHERE id % 4 = 0",
                    "DELETE FROM loose WHERE id % 4 = 0", "DELETE FROM parted WHERE id % 4 = 0");
            assertThat(installation.verify().reason()).isEmpty();
            AtomicBoolean enough = new AtomicBoolean();
            AtomicInteger looks = new AtomicInteger();
            Future<?> load = beside.submit(() -> write(installation, enough));
            Future<?> reader = beside.submit(() -> look(installation, enough, looks));
            for (int round = 0; round < 4; round++) {
                awaitRemoved(installation, 1);
                if (round == 2) {
                    installation.execute("ALTER TABLE item ADD COLUMN more int DEFAULT 7");
                    installation.execute("ALTER TABLE loose RENAME TO looser");
                }
                installation.awaitSentNotAcknowledged();
                installation.killDaemon();
                installation.startDaemon();
                assertThat(reader.isDone()).as("the reader goes on").isFalse();
            }
            enough.set(true);
            load.get();
            reader.get();
            assertThat(looks.get()).isPositive();
            assertThat(installation.verify().reason()).isEmpty();
            for (String table : new String[] {"item", "looser", "parted"}) {
                installation.execute("INSERT INTO other VALUES (DEFAULT)"); // the floor moves on
                installation.await(
                        "no tombstone of " + table + " is left",
                        () -> deleted(installation, table).equals("0"));
            }
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(installation.logged("WS-1719")).isFalse();
        }
    }

    @Test
    void fewTombstonesAreLeftAndNoneIsTouchedUnasked() throws Exception {
        try (Installation installation = Installation.start(16)) {
            tables(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "DELETE FROM item WHERE id % 100 = 0", "DELETE FROM parted WHERE id % 4 = 0");
            assertThat(installation.verify().reason()).isEmpty();
            installation.configure("tombstones", "interval = \"1s\"");
            assertThat(installation.command("ctl reload").output())
                    .contains("tombstones.interval is applied");
            installation.execute("INSERT INTO other VALUES (DEFAULT)");
            awaitRemoved(installation, ROWS / 4);
            assertThat(deleted(installation, "parted")).isEqualTo("0");
            assertThat(deleted(installation, "item")).isEqualTo(Integer.toString(ROWS / 100));
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    @Test
    void aTombstoneUnderANewerRowGoesToo() throws Exception {
        try (Installation installation = Installation.start(18)) {
            tables(installation);
            installation.startDaemon();
            installation.awaitStreaming();
            // so that no merge takes it away
            installation
                    .target()
                    .query(
                            "ALTER TABLE public.item MODIFY SETTING"
                                    + " max_bytes_to_merge_at_max_space_in_pool = 1");
            installation.execute("DELETE FROM item WHERE id % 4 = 0");
            assertThat(installation.verify().reason()).isEmpty();
            installation.execute(
                    "INSERT INTO item SELECT i, 'n' || i % 7, 'again' FROM generate_series(4, "
                            + ROWS
                            + ", 4) i");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(deleted(installation, "item")).isEqualTo(Integer.toString(ROWS / 4));
            installation.configure("tombstones", "interval = \"1s\"");
            assertThat(installation.command("ctl reload").exitCode()).isZero();
            installation.execute("INSERT INTO other VALUES (DEFAULT)"); // the floor moves on
            installation.await(
                    "no tombstone is left", () -> deleted(installation, "item").equals("0"));
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    private static void tables(Installation installation) throws SQLException {
        installation.execute(
                "CREATE TABLE item (id int, name text, v text, PRIMARY KEY (name, id))",
                "INSERT INTO item SELECT i, 'n' || i % 7, 'v' FROM generate_series(1, "
                        + ROWS
                        + ") i",
                "CREATE TABLE loose (id int, v text)",
                "INSERT INTO loose SELECT i, 'v' FROM generate_series(1, " + ROWS + ") i",
                "CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY HASH (id)",
                "CREATE TABLE p0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                "CREATE TABLE p1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                "INSERT INTO parted SELECT i, 'v' FROM generate_series(1, " + ROWS + ") i",
                "CREATE TABLE other (id serial PRIMARY KEY)");
    }

    private static String deleted(Installation installation, String table) {
        return installation
                .target()
                .query("SELECT count() FROM public." + table + " WHERE _is_deleted = 1")
                .strip();
    }

    private static void awaitRemoved(Installation installation, long count) {
        installation.await(
                count + " tombstones are removed",
                () -> installation.status().path("tombstones_removed").asLong(0) >= count);
    }

    /** Other rows come and go, and come again under the same keys. */
    private static void write(Installation installation, AtomicBoolean enough) {
        try (Connection session = installation.session();
                Statement statement = session.createStatement()) {
            for (int i = 0; !enough.get(); i++) {
                int some = i % 97;
                for (String table : new String[] {"item", "parted"}) {
                    String which = " WHERE id % 4 <> 0 AND id % 97 = " + some;
                    statement.execute("DELETE FROM " + table + which);
                    if (i % 3 != 0) {
                        String columns = table.equals("item") ? "id, name, v" : "id, v";
                        String values = table.equals("item") ? "i, 'n' || i % 7, 'w'" : "i, 'w'";
                        statement.execute(
                                "INSERT INTO "
                                        + table
                                        + " ("
                                        + columns
                                        + ") SELECT "
                                        + values
                                        + " FROM generate_series(1, "
                                        + ROWS
                                        + ") i WHERE i % 4 <> 0"
                                        + " AND i % 97 = "
                                        + some);
                    }
                    statement.execute(
                            "UPDATE " + table + " SET v = 'u" + i + "' WHERE id % 89 = 1");
                }
                statement.execute("INSERT INTO other VALUES (DEFAULT)");
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Fails as soon as a row is seen that was deleted for good. */
    private static void look(Installation installation, AtomicBoolean enough, AtomicInteger looks) {
        while (!enough.get()) {
            for (String table : new String[] {"item", "parted"}) {
                String seen =
                        installation
                                .target()
                                .query(
                                        "SELECT count() FROM public."
                                                + table
                                                + " FINAL WHERE id % 4 = 0 AND _is_deleted = 0")
                                .strip();
                if (!seen.equals("0")) {
                    throw new IllegalStateException(
                            seen + " deleted rows of " + table + " are back");
                }
            }
            looks.incrementAndGet();
        }
    }
}
