package dev.walshadow.bootstrap.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.bootstrap.load.TransactionStatuses.Status;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.shadow.CatalogReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Heap files of a real server, written by sessions that are in every state at B. */
@Timeout(180)
final class BaselineLoaderTest {
    private static final long B = 0x1000;
    private static final long IDENTIFIER = 4711;

    @TempDir Path folder;
    private final List<Connection> sessions = new ArrayList<>();
    private String url = "";

    private Connection open(boolean inTransaction) throws SQLException {
        Connection session = DriverManager.getConnection(url);
        sessions.add(session);
        session.setAutoCommit(!inTransaction);
        return session;
    }

    private static void run(Connection session, String... statements) throws SQLException {
        try (Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static List<String> ask(Connection session, String sql) throws SQLException {
        List<String> answers = new ArrayList<>();
        try (Statement statement = session.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                answers.add(rows.getString(1));
            }
        }
        return answers;
    }

    private static Map<Integer, String> rows(Connection session) throws SQLException {
        Map<Integer, String> found = new TreeMap<>();
        try (Statement statement = session.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id, v FROM t")) {
            while (rows.next()) {
                found.put(rows.getInt(1), CollectedRows.brief(rows.getString(2)));
            }
        }
        return found;
    }

    /** What is settled before B, and locks that stay. */
    private void settled(Connection plain) throws SQLException {
        run(
                plain,
                "CREATE TABLE t (id int PRIMARY KEY, v text, never text)",
                "ALTER TABLE t ALTER v SET STORAGE EXTERNAL",
                "INSERT INTO t SELECT i, 'frozen ' || i FROM generate_series(1, 10) i",
                "VACUUM FREEZE t",
                "INSERT INTO t SELECT i, 'plain ' || i FROM generate_series(11, 29) i",
                "INSERT INTO t SELECT i, repeat(i || ' big ', 40000) FROM generate_series(30, 33)"
                        + " i",
                "DELETE FROM t WHERE id IN (11, 30)",
                "UPDATE t SET v = 'updated' WHERE id = 12",
                "UPDATE t SET id = 22 + 30 WHERE id = 22",
                "BEGIN; INSERT INTO t VALUES (100, 'no'); DELETE FROM t WHERE id = 13;"
                        + " UPDATE t SET v = 'no' WHERE id = 14; ROLLBACK",
                "BEGIN; SAVEPOINT s; INSERT INTO t VALUES (101, 'no');"
                        + " DELETE FROM t WHERE id = 15; ROLLBACK TO s;"
                        + " INSERT INTO t VALUES (55, 'after savepoint'); COMMIT");
        for (int i = 0; i < 2; i++) {
            run(
                    open(true),
                    "SELECT * FROM t WHERE id = 16 FOR SHARE",
                    "SELECT * FROM t WHERE id IN (17, 18, 19, 20) FOR KEY SHARE");
        }
        run(plain, "UPDATE t SET v = 'by multixact' WHERE id = 17");
        run(plain, "BEGIN; UPDATE t SET v = 'no' WHERE id = 18; ROLLBACK");
    }

    /** Returns the session that commits and the one that rolls back. */
    private List<Connection> unsettled() throws SQLException {
        Connection commits = open(true);
        run(
                commits,
                "INSERT INTO t VALUES (200, 'open'), (201, 'gone')",
                "DELETE FROM t WHERE id IN (1, 31)",
                "UPDATE t SET v = 'first' WHERE id = 2",
                "UPDATE t SET v = 'second' WHERE id = 2",
                "UPDATE t SET v = 'by open multixact' WHERE id = 19",
                "UPDATE t SET id = 203 WHERE id = 5",
                "DELETE FROM t WHERE id = 201",
                "SAVEPOINT s",
                "INSERT INTO t VALUES (202, 'no')",
                "DELETE FROM t WHERE id = 6",
                "ROLLBACK TO s",
                "SAVEPOINT s2",
                "INSERT INTO t VALUES (204, repeat('open big ', 20000))",
                "DELETE FROM t WHERE id = 7",
                "DELETE FROM t WHERE id = 200",
                "INSERT INTO t VALUES (200, 'again')",
                "RELEASE s2");
        for (int i = 0; i < 70; i++) {
            run(commits, "SAVEPOINT m" + i, "INSERT INTO t VALUES (" + (400 + i) + ", 'many')");
        }
        Connection rollsBack = open(true);
        run(
                rollsBack,
                "INSERT INTO t VALUES (250, 'no')",
                "DELETE FROM t WHERE id = 8",
                "UPDATE t SET v = 'no' WHERE id = 20",
                "UPDATE t SET v = 'no' WHERE id = 32");
        run(
                open(false),
                "BEGIN; INSERT INTO t VALUES (300, 'prepared'); DELETE FROM t WHERE id = 3;"
                        + " PREPARE TRANSACTION 'p'");
        return List.of(commits, rollsBack);
    }

    private static BackupSnapshot snapshot(Connection plain, Connection open, boolean overflowed)
            throws SQLException {
        // xmax is behind the latest completed transaction: complete one
        run(plain, "SELECT pg_current_xact_id()");
        int next =
                Integer.parseInt(
                        ask(plain, "SELECT pg_snapshot_xmax(pg_current_snapshot())").getFirst());
        Set<Integer> members = new HashSet<>();
        for (String xid : ask(plain, "SELECT pg_snapshot_xip(pg_current_snapshot())")) {
            members.add(Integer.parseInt(xid));
        }
        int oldest = members.stream().min(Integer::compare).orElse(next);
        for (String xid : ask(open, "SELECT DISTINCT xmin FROM t WHERE id >= 200")) {
            members.add(Integer.parseInt(xid));
        }
        int[] listed = members.stream().mapToInt(Integer::intValue).toArray();
        return new BackupSnapshot(B, next, oldest, overflowed, overflowed ? new int[0] : listed);
    }

    private static RelationDescriptor named(List<RelationDescriptor> all, int oid) {
        return all.stream().filter(each -> each.oid() == oid).findFirst().orElseThrow();
    }

    private static void feed(
            BaselineLoader loader, Connection plain, Path data, RelationDescriptor relation)
            throws Exception {
        String path = ask(plain, "SELECT pg_relation_filepath(" + relation.oid() + ")").getFirst();
        byte[] bytes = Files.readAllBytes(data.resolve(path));
        RelationLocator locator = Objects.requireNonNull(relation.locator());
        assertThat(loader.wants(locator)).isTrue();
        loader.begin(locator, 0, bytes.length);
        for (int at = 0; at < bytes.length; at += 5000) {
            loader.data(bytes, at, Math.min(5000, bytes.length - at));
        }
        loader.end();
    }

    @ParameterizedTest
    @CsvSource({"15, false", "16, true", "18, false"})
    void rowsAreThoseOfTheStartAndThenThoseOfTheOpenTransactions(int major, boolean overflowed)
            throws Exception {
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder.resolve("server"))
                        .version(major)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .setting("max_prepared_transactions", "5")
                        .start()) {
            url = server.jdbcUrl("postgres");
            Connection plain = open(false);
            settled(plain);
            List<Connection> open = unsettled();
            BackupSnapshot snapshot = snapshot(plain, open.getFirst(), overflowed);
            Map<Integer, String> atStart = rows(plain);
            run(
                    plain,
                    "INSERT INTO t VALUES (500, 'later')",
                    "DELETE FROM t WHERE id = 4",
                    "UPDATE t SET v = 'later' WHERE id = 9",
                    "CHECKPOINT");
            CollectedRows target = new CollectedRows();
            Path directory = Files.createDirectory(folder.resolve("load"));
            load(server, plain, snapshot, directory, target);

            DeferredRows deferred = DeferredRows.open(directory, IDENTIFIER, 5, target);
            deferred.resolve(ended(plain, deferred.waitsFor(), 0));
            assertThat(target.rows()).isEqualTo(atStart);

            deferred = DeferredRows.open(directory, IDENTIFIER, 5, target);
            open.getFirst().commit();
            deferred.resolve(ended(plain, deferred.waitsFor(), B + 0x100));
            deferred = DeferredRows.open(directory, IDENTIFIER, 5, target);
            run(plain, "COMMIT PREPARED 'p'");
            open.getLast().rollback();
            deferred.resolve(ended(plain, deferred.waitsFor(), B + 0x200));
            assertThat(deferred.waitsFor()).isEmpty();
            assertThat(directory).isEmptyDirectory();

            Map<Integer, String> expected = rows(plain);
            expected.remove(500);
            expected.put(4, Objects.requireNonNull(atStart.get(4)));
            expected.put(9, Objects.requireNonNull(atStart.get(9)));
            assertThat(target.rows()).isEqualTo(expected);
        } finally {
            for (Connection session : sessions) {
                session.close();
            }
        }
    }

    private void load(
            EmbeddedPostgres server,
            Connection plain,
            BackupSnapshot snapshot,
            Path directory,
            CollectedRows target)
            throws Exception {
        List<RelationDescriptor> all = new CatalogReader().readAll(plain);
        int oid = Integer.parseInt(ask(plain, "SELECT 't'::regclass::oid").getFirst());
        RelationDescriptor table = named(all, oid);
        RelationDescriptor toast = named(all, table.toastRelationOid());
        BaselineLoader.Options options =
                new BaselineLoader.Options(
                        directory, IDENTIFIER, 5, snapshot.startLsn(), 0, 2, 1 << 20, false);
        WalGate gate = new WalGate();
        gate.readTo(Long.MAX_VALUE);
        try (BaselineLoader loader =
                new BaselineLoader(
                        options,
                        List.of(table),
                        List.of(toast),
                        target,
                        () -> DriverManager.getConnection(url),
                        new BaselineLoader.WalSinceStart(
                                new TouchedBlocks(15, LiveBackup.NOTHING_KNOWN),
                                gate,
                                LiveBackup.NOTHING_KNOWN,
                                _ -> Long.MAX_VALUE))) {
            loader.start(snapshot);
            feed(loader, plain, server.dataDirectory(), table);
            feed(loader, plain, server.dataDirectory(), toast);
            assertThat(loader.finish(Long.MAX_VALUE).damaged()).isEmpty();
        }
        assertThat(target.complete).containsExactly(oid);
    }

    /** Position 0: they ended before the backup. */
    private static List<TransactionEnd> ended(Connection plain, Set<Integer> open, long position)
            throws SQLException {
        List<TransactionEnd> ends = new ArrayList<>();
        new TransactionStatuses(plain)
                .ask(open)
                .forEach((xid, status) -> {
                    if (status != Status.IN_PROGRESS) {
                        boolean committed = status == Status.COMMITTED;
                        ends.add(new TransactionEnd(xid, committed, position, position, 0));
                    }
                });
        return ends;
    }
}
