package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tables of {@code [tables] append}: ClickHouse has each change as a row of its own, in order, none
 * of them twice, through load, stream, kill and changes of shape, and equals the source by the
 * newest version of each key.
 */
@Timeout(600)
final class AppendTablesTest {
    private static final String[] SCHEMA = {
        "CREATE TABLE event (id int PRIMARY KEY, v text, big text)",
        "ALTER TABLE event ALTER big SET STORAGE EXTERNAL",
        "CREATE TABLE loose (n int, v text)",
        "CREATE TABLE parted (id int, r int, v text, PRIMARY KEY (id, r)) PARTITION BY LIST (r)",
        "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0)",
        "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1)",
        "CREATE TABLE plain (id int PRIMARY KEY, v text)",
    };

    @Test
    void everyChangeIsARowOfItsOwnThroughKillsAndChangesOfShape() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
        System.out.println("-Dwalshadow.seed=" + seed);
        Random random = new Random(seed);
        int major = Integer.getInteger("walshadow.postgres", 15 + random.nextInt(4));
        try (Installation installation = Installation.start(major);
                History history = new History(installation, random)) {
            installation.configure("tables", "append = [\"event\", \"public.loose\", \"part*\"]");
            installation.configure("tables", "views = \"{database}.{table}_current\"");
            // must leave these tables alone
            installation.configure("tombstones", "interval = \"1s\"");
            installation.configure("tombstones", "percent = 0");
            if (random.nextBoolean()) {
                installation.configure("memory", "recent_values = \"0B\"");
            }
            if (random.nextInt(3) == 0) {
                installation.configure("toast", "mode = \"clickhouse\"");
            }
            installation.execute(SCHEMA);
            history.start();
            installation.startDaemon();
            installation.awaitStreaming();
            history.requireEqual("loaded");
            for (int i = 0; i < 30; i++) {
                history.transaction();
            }
            history.requireEqual("streamed");

            installation.target().delayInserts(Duration.ofMillis(100));
            for (int i = 0; i < 30; i++) {
                history.transaction();
            }
            installation.awaitSentNotAcknowledged();
            installation.killDaemon();
            installation.target().delayInserts(Duration.ZERO);
            for (int i = 0; i < 10; i++) {
                history.transaction();
            }
            installation.startDaemon();
            for (int i = 0; i < 10; i++) {
                history.transaction();
            }
            history.requireEqual("killed");

            history.truncate();
            installation.execute(
                    "ALTER TABLE event ADD COLUMN more int DEFAULT 7",
                    "ALTER TABLE parted RENAME COLUMN v TO w");
            history.renamed();
            for (int i = 0; i < 10; i++) {
                history.transaction();
            }
            history.requireEqual("altered");
            assertThat(count(installation, "plain")).isEqualTo("1");
        }
    }

    /** What a table cannot go on with stays beside it; what it can is carried into the new one. */
    @Test
    void noVersionIsLostWhenATableIsMadeAnewOrIsNotToKeepThemAnyMore() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(SCHEMA);
            whatCannotBeIsRefused(installation);
            installation.configure("tables", "append = [\"kept\", \"loose\", \"parted\"]");
            installation.execute(
                    "CREATE TABLE kept (id int PRIMARY KEY, v text, n int)",
                    "INSERT INTO kept VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
                    "INSERT INTO loose SELECT i, 'x' FROM generate_series(1, 3) i",
                    "INSERT INTO parted VALUES (1, 0, 'x'), (2, 1, 'x')",
                    "INSERT INTO plain VALUES (1, 'x'), (2, 'x')");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "UPDATE kept SET v = 'b2' WHERE id = 2", "DELETE FROM kept WHERE id = 1");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(count(installation, "kept")).isEqualTo("5");

            resyncAddsTheRowsAndWhatIsGone(installation);
            changesOfShapeCarryWhatTheyCan(installation);
            partitionsAreLoadedBehindWhatIsThere(installation);
            theSettingIsObeyedAtTheNextStart(installation);
        }
    }

    private static void whatCannotBeIsRefused(Installation installation)
            throws InterruptedException {
        installation.configure("tables", "append = [\"keept\", \"parted_0\", \"plain\"]");
        assertThat(installation.command("check").output())
                .contains("[tables] append names keept, but the source has no such table")
                .contains("[tables] append names parted_0, but that is a partition")
                .doesNotContain("names plain");
        installation.configure("tables", "initial_load = \"none\"");
        assertThat(installation.command("check").output())
                .contains(
                        "[tables] append and [tables] initial_load = \"none\" do not go together");
        installation.configure("tables", "initial_load = \"copy\"");
    }

    private static void resyncAddsTheRowsAndWhatIsGone(Installation installation) throws Exception {
        // of no row of the source
        installation
                .target()
                .query(
                        "INSERT INTO public.kept (id, v, _version, _is_deleted) VALUES (9, 'bogus',"
                                + " 5, 0)");
        assertThat(installation.verify().ok()).isFalse();
        installation.resync("public.kept");
        assertThat(installation.verify().reason()).isEmpty();
        // 5 and the bogus one, two rows, and a tombstone of the bogus one
        assertThat(count(installation, "kept")).isEqualTo("9");
        installation.execute("VACUUM FULL loose");
        assertThat(installation.verify().reason()).isEmpty();
        installation.execute("UPDATE loose SET v = 'y' WHERE n = 1");
        assertThat(installation.verify().reason()).isEmpty();
        // the rows twice, and the one that has changed
        assertThat(rows(installation, "loose")).isEqualTo("7");
    }

    private static void changesOfShapeCarryWhatTheyCan(Installation installation) throws Exception {
        installation.execute(
                "ALTER TABLE kept ADD COLUMN u uuid DEFAULT gen_random_uuid()",
                "ALTER TABLE kept ALTER n TYPE bigint",
                "UPDATE kept SET n = n * 10000000000 WHERE id = 2");
        assertThat(installation.verify().reason()).isEmpty();
        // each rewriting has sent two rows
        assertThat(count(installation, "kept")).isEqualTo("14");
        assertThat(history(installation)).isEmpty();
        installation.execute("ALTER TABLE kept ALTER v TYPE int USING length(v)");
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(count(installation, "kept")).isEqualTo("2");
        assertThat(history(installation)).isEqualTo("kept_history");
        assertThat(count(installation, "kept_history")).isEqualTo("14");
        installation.execute(
                "UPDATE kept SET v = 7",
                "ALTER TABLE kept DROP CONSTRAINT kept_pkey, ALTER n SET NOT NULL,"
                        + " ADD PRIMARY KEY (n)",
                "UPDATE kept SET v = 8");
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(count(installation, "kept")).isEqualTo("4");
        assertThat(history(installation)).isEqualTo("kept_history\nkept_history_2");
        assertThat(count(installation, "kept_history_2")).isEqualTo("4");
    }

    private static void partitionsAreLoadedBehindWhatIsThere(Installation installation)
            throws Exception {
        installation.execute("UPDATE parted SET v = 'y'", "DELETE FROM parted WHERE id = 1");
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(count(installation, "parted")).isEqualTo("5");
        assertThat(installation.command("resync", "public.parted").exitCode()).isZero();
        assertThat(installation.command("wait", "--timeout=120s").exitCode()).isZero();
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(count(installation, "parted")).isEqualTo("6");
        installation.execute("ALTER TABLE parted DETACH PARTITION parted_1");
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(count(installation, "parted")).isEqualTo("7");
    }

    private static void theSettingIsObeyedAtTheNextStart(Installation installation)
            throws Exception {
        String versions = count(installation, "parted");
        installation.configure("tables", "append = [\"plain\"]");
        assertThat(installation.command("ctl reload").output())
                .contains("tables.append", "restart");
        installation.killDaemon();
        installation.execute("INSERT INTO parted VALUES (5, 0, 'z')");
        installation.startDaemon();
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(history(installation))
                .isEqualTo(
                        "kept_history\n"
                                + "kept_history_2\n"
                                + "kept_history_3\n"
                                + "loose_history\n"
                                + "parted_history");
        assertThat(count(installation, "parted_history")).isEqualTo(versions);
        assertThat(count(installation, "parted")).isEqualTo("1");
        installation.execute("UPDATE plain SET v = 'y'", "UPDATE plain SET v = 'z'");
        assertThat(installation.verify().reason()).isEmpty();
        assertThat(count(installation, "plain")).isEqualTo("6");
    }

    /** Names of tables that were kept. */
    private static String history(Installation installation) {
        return installation
                .target()
                .query(
                        "SELECT name FROM system.tables WHERE database = 'public' AND name LIKE"
                                + " '%_history%' ORDER BY name")
                .stripTrailing();
    }

    private static String rows(Installation installation, String table) {
        return installation
                .target()
                .query("SELECT countIf(NOT _is_deleted) FROM public." + table + " FINAL")
                .strip();
    }

    private static String count(Installation installation, String table) {
        return installation
                .target()
                .query("SELECT count() FROM public." + table + " FINAL")
                .strip();
    }

    /** What the source's tables have, and all that was done to them. */
    private static final class History implements AutoCloseable {
        private static final int KEYS = 8;

        private final Installation installation;
        private final Random random;
        private final Connection session;
        private final Statement statement;

        private final Map<Integer, String> event = new TreeMap<>();
        private final Map<Integer, List<String>> eventVersions = new TreeMap<>();
        private final Map<Integer, Integer> parted = new TreeMap<>();
        private final Map<String, List<String>> partedVersions = new TreeMap<>();
        private final Map<String, Integer> loose = new TreeMap<>();
        private final Map<String, Integer> looseVersions = new TreeMap<>();
        private int looseTombstones;
        private String partedText = "v";
        private int changes;

        History(Installation installation, Random random) throws SQLException {
            this.installation = installation;
            this.random = random;
            this.session = installation.session();
            this.statement = session.createStatement();
        }

        void start() throws SQLException {
            for (int id = 0; id < KEYS; id++) {
                insertEvent(id);
                insertParted(id);
                insertLoose();
            }
            statement.execute("INSERT INTO plain VALUES (1, 'one')");
        }

        /** Several changes, often of the same rows, some of them rolled back. */
        void transaction() throws SQLException {
            session.setAutoCommit(false);
            int count = 1 + random.nextInt(6);
            for (int i = 0; i < count; i++) {
                if (random.nextInt(5) == 0) {
                    statement.execute("SAVEPOINT s");
                    statement.execute("UPDATE event SET v = 'lost'");
                    statement.execute("DELETE FROM parted");
                    statement.execute("ROLLBACK TO s");
                }
                change();
            }
            session.commit();
            session.setAutoCommit(true);
            statement.execute("UPDATE plain SET v = v || '+'");
        }

        private void change() throws SQLException {
            int id = random.nextInt(KEYS);
            switch (random.nextInt(8)) {
                case 0, 1, 2 -> {
                    if (event.containsKey(id)) {
                        updateEvent(id);
                    } else {
                        insertEvent(id);
                    }
                }
                case 3 -> moveEvent(id, KEYS + random.nextInt(KEYS));
                case 4 -> deleteEvent(id);
                case 5 -> changeLoose();
                default -> changeParted(id);
            }
        }

        private String text() {
            return "v" + changes++;
        }

        private void insertEvent(int id) throws SQLException {
            String v = text();
            String big = random.nextInt(4) == 0 ? null : v.repeat(2000);
            statement.execute(
                    "INSERT INTO event (id, v, big) VALUES (%d, '%s', %s)"
                            .formatted(id, v, big == null ? "NULL" : "'" + big + "'"));
            event(id, v, big == null ? "" : v);
        }

        private void event(int id, String v, String big) {
            String row = v + "/" + big;
            event.put(id, row);
            eventVersions.computeIfAbsent(id, _ -> new ArrayList<>()).add(row);
        }

        private void gone(int id) {
            event.remove(id);
            eventVersions.computeIfAbsent(id, _ -> new ArrayList<>()).add("gone");
        }

        private String[] row(int id) {
            return Objects.requireNonNull(event.get(id)).split("/", -1);
        }

        private void updateEvent(int id) throws SQLException {
            String v = text();
            String big = row(id)[1];
            if (random.nextInt(4) == 0) {
                big = v;
                statement.execute(
                        "UPDATE event SET v = '%s', big = repeat('%s', 2000) WHERE id = %d"
                                .formatted(v, v, id));
            } else {
                statement.execute("UPDATE event SET v = '%s' WHERE id = %d".formatted(v, id));
            }
            event(id, v, big);
        }

        private void moveEvent(int from, int to) throws SQLException {
            if (!event.containsKey(from) || event.containsKey(to)) {
                deleteEvent(to);
                return;
            }
            String[] row = row(from);
            statement.execute("UPDATE event SET id = %d WHERE id = %d".formatted(to, from));
            gone(from);
            event(to, row[0], row[1]);
        }

        private void deleteEvent(int id) throws SQLException {
            if (event.containsKey(id)) {
                statement.execute("DELETE FROM event WHERE id = " + id);
                gone(id);
            }
        }

        private void insertLoose() throws SQLException {
            String v = "l" + random.nextInt(3);
            statement.execute("INSERT INTO loose VALUES (1, '%s')".formatted(v));
            loose.merge(v, 1, Integer::sum);
            looseVersions.merge(v, 1, Integer::sum);
        }

        private void changeLoose() throws SQLException {
            String v = "l" + random.nextInt(3);
            int rows = loose.getOrDefault(v, 0);
            switch (random.nextInt(3)) {
                case 0 -> {
                    statement.execute("DELETE FROM loose WHERE v = '%s'".formatted(v));
                    loose.remove(v);
                    looseTombstones += rows;
                }
                case 1 -> {
                    String next = v + "u";
                    statement.execute(
                            "UPDATE loose SET v = '%s' WHERE v = '%s'".formatted(next, v));
                    loose.remove(v);
                    if (rows > 0) {
                        loose.merge(next, rows, Integer::sum);
                        looseVersions.merge(next, rows, Integer::sum);
                    }
                    looseTombstones += rows;
                }
                default -> {
                    insertLoose();
                    insertLoose();
                }
            }
        }

        private void insertParted(int id) throws SQLException {
            String v = text();
            int r = random.nextInt(2);
            statement.execute("INSERT INTO parted VALUES (%d, %d, '%s')".formatted(id, r, v));
            parted.put(id, r);
            parted(id, r, v);
        }

        private void parted(int id, int r, String what) {
            partedVersions.computeIfAbsent(id + " " + r, _ -> new ArrayList<>()).add(what);
        }

        private void changeParted(int id) throws SQLException {
            Integer r = parted.get(id);
            if (r == null) {
                insertParted(id);
                return;
            }
            String v = text();
            switch (random.nextInt(3)) {
                case 0 -> {
                    statement.execute("DELETE FROM parted WHERE id = " + id);
                    parted.remove(id);
                    parted(id, r, "gone");
                }
                case 1 -> {
                    statement.execute(
                            "UPDATE parted SET r = 1 - r, %s = '%s' WHERE id = %d"
                                    .formatted(partedText, v, id));
                    parted.put(id, 1 - r);
                    parted(id, r, "gone");
                    parted(id, 1 - r, v);
                }
                default -> {
                    statement.execute(
                            "UPDATE parted SET %s = '%s' WHERE id = %d"
                                    .formatted(partedText, v, id));
                    parted(id, r, v);
                }
            }
        }

        /** Each row that is there is gone once. */
        void truncate() throws SQLException {
            statement.execute("TRUNCATE event, loose, parted_0");
            List.copyOf(event.keySet()).forEach(this::gone);
            looseTombstones += loose.values().stream().mapToInt(each -> each).sum();
            loose.clear();
            parted.values().removeIf(r -> r == 0);
            partedVersions.forEach((key, versions) -> {
                if (key.endsWith(" 0") && !versions.getLast().equals("gone")) {
                    versions.add("gone");
                }
            });
        }

        void renamed() {
            partedText = "w";
        }

        void requireEqual(String when) throws Exception {
            assertThat(installation.verify().reason()).as(when).isEmpty();
            requireVersions(when, " FINAL");
        }

        private void requireVersions(String when, String modifier) {
            Map<String, List<String>> expected = new TreeMap<>();
            eventVersions.forEach((id, versions) -> expected.put(id.toString(), versions));
            assertThat(
                            versions(
                                    "toString(id)",
                                    "concat(v, '/', if(big IS NULL, '', substring(big, 1,"
                                            + " intDiv(length(big), 2000))))",
                                    "event" + modifier))
                    .as("event, %s", when)
                    .isEqualTo(expected);
            assertThat(versions("concat(id, ' ', r)", partedText, "parted" + modifier))
                    .as("parted, %s", when)
                    .isEqualTo(partedVersions);
            assertThat(
                            ask(
                                    "SELECT v, count() FROM public.loose"
                                            + modifier
                                            + " WHERE _is_deleted = 0 GROUP BY v ORDER BY v"))
                    .as("loose, %s", when)
                    .isEqualTo(
                            looseVersions.entrySet().stream()
                                    .map(each -> each.getKey() + "\t" + each.getValue())
                                    .collect(Collectors.joining("\n")));
            assertThat(ask("SELECT countIf(_is_deleted) FROM public.loose" + modifier))
                    .as("loose, %s", when)
                    .isEqualTo(Integer.toString(looseTombstones));
            assertThat(ask("SELECT id FROM public.event_current ORDER BY id"))
                    .as("view, %s", when)
                    .isEqualTo(
                            event.keySet().stream()
                                    .map(String::valueOf)
                                    .collect(Collectors.joining("\n")));
            assertThat(ask("SELECT count() FROM public.parted_current"))
                    .as("view, %s", when)
                    .isEqualTo(Integer.toString(parted.size()));
        }

        private Map<String, List<String>> versions(String key, String row, String from) {
            Map<String, List<String>> found = new TreeMap<>();
            String answer =
                    ask(
                            "SELECT %s AS k, if(_is_deleted, 'gone', %s) FROM public.%s ORDER BY k, _version"
                                    .formatted(key, row, from));
            for (String line : answer.lines().toList()) {
                String[] parts = line.split("\t", -1);
                found.computeIfAbsent(parts[0], _ -> new ArrayList<>()).add(parts[1]);
            }
            return found;
        }

        private String ask(String sql) {
            return installation.target().query(sql).stripTrailing();
        }

        @Override
        public void close() throws SQLException {
            session.close();
        }
    }
}
