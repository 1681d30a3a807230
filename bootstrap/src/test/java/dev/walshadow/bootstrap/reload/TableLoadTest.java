package dev.walshadow.bootstrap.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.reload.TableLoad.Outcome;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.transaction.CommittedChanges;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Locks, snapshots, shapes, names, and how a load ends. */
@Timeout(120)
final class TableLoadTest {
    private static final TableLoad.Options IMPATIENT =
            new TableLoad.Options(20, 5, 20, 1 << 20, ValueLimit.NONE);

    @TempDir static Path folder;

    private static EmbeddedPostgres server;
    private static Connection session;

    @BeforeAll
    static void start() throws Exception {
        server =
                EmbeddedPostgres.at(folder)
                        .version(18)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .start();
        session = open();
        LoadedTable.run(session, "CREATE EXTENSION pageinspect");
    }

    @AfterAll
    static void stop() throws Exception {
        session.close();
        server.close();
    }

    private static Connection open() throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    private static Connection openAny(String database, String user) throws SQLException {
        String url = server.jdbcUrl(database);
        return DriverManager.getConnection(
                url + (url.contains("?") ? "&" : "?") + "allowEncodingChanges=true" + user);
    }

    /** Tells when a load waits for something. */
    private static final class Waiting implements TableLoad.Progress {
        final CountDownLatch waits = new CountDownLatch(1);
        final List<String> reasons = new ArrayList<>();
        long estimated;
        long rows;
        long bytes;

        @Override
        public void began(long estimatedRows) {
            estimated = estimatedRows;
        }

        @Override
        public void advanced(long newRows, long newBytes) {
            rows = newRows;
            bytes = newBytes;
        }

        @Override
        public void waits(String reason) {
            reasons.add(reason);
            waits.countDown();
        }
    }

    /** Loads while another session's open transaction holds the table, and commits then. */
    private static Outcome loadDuring(LoadedTable table, String... statements) throws Exception {
        Waiting waiting = new Waiting();
        try (Connection other = open()) {
            other.setAutoCommit(false);
            LoadedTable.run(other, statements);
            FutureTask<Outcome> load =
                    new FutureTask<>(() ->
                            table.load(new TableLoad(TableLoadTest::open, IMPATIENT), waiting));
            Thread.ofPlatform().start(load);
            waiting.waits.await();
            other.commit();
            return load.get();
        }
    }

    @Test
    void aRewriteDuringTheLoadIsSeenWholeOrItsShapeIs() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE rewritten (id int PRIMARY KEY, v int)",
                "INSERT INTO rewritten SELECT i, i FROM generate_series(1, 1000) i");
        LoadedTable truncated = LoadedTable.of(session, "rewritten");
        Outcome outcome =
                loadDuring(
                        truncated,
                        "TRUNCATE rewritten",
                        "INSERT INTO rewritten SELECT i, -i FROM generate_series(1, 77) i");
        assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(77);
        assertThat(truncated.loadedBytes()).isEqualTo(truncated.pageBytes(session));

        LoadedTable copied = LoadedTable.of(session, "rewritten");
        outcome = loadDuring(copied, "CLUSTER rewritten USING rewritten_pkey");
        assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(77);

        LoadedTable altered = LoadedTable.of(session, "rewritten");
        outcome = loadDuring(altered, "ALTER TABLE rewritten ALTER v TYPE text");
        assertThat(outcome).isInstanceOf(Outcome.ShapeDiffers.class);
        assertThat(((Outcome.ShapeDiffers) outcome).difference()).contains("column v's type");
        assertThat(altered.rows()).isZero();

        LoadedTable dropped = LoadedTable.of(session, "rewritten");
        assertThat(loadDuring(dropped, "DROP TABLE rewritten")).isInstanceOf(Outcome.Gone.class);
    }

    @Test
    void newNamesAndMissingValuesDoNotMatter() throws Exception {
        LoadedTable.run(
                session,
                "CREATE SCHEMA \"s.\"\"é\"",
                "CREATE TABLE \"s.\"\"é\".\"t.?\"\"😀{}\" (\"i d\" int PRIMARY KEY, \"a\"\"?b\""
                        + " text)",
                "INSERT INTO \"s.\"\"é\".\"t.?\"\"😀{}\" VALUES (1, 'x')",
                "ALTER TABLE \"s.\"\"é\".\"t.?\"\"😀{}\" ADD added int DEFAULT 5");
        LoadedTable table = LoadedTable.of(session, "\"s.\"\"é\".\"t.?\"\"😀{}\"");
        assertThat(table.load(TableLoadTest::open)).isInstanceOf(Outcome.Loaded.class);
        assertThat(table.strings("a\"?b")).containsExactly("x");
        assertThat(table.loadedBytes()).isEqualTo(table.pageBytes(session));

        LoadedTable again = LoadedTable.of(session, "\"s.\"\"é\".\"t.?\"\"😀{}\"");
        Outcome outcome =
                loadDuring(
                        again,
                        "ALTER TABLE \"s.\"\"é\".\"t.?\"\"😀{}\" RENAME \"a\"\"?b\" TO other",
                        "ALTER TABLE \"s.\"\"é\".\"t.?\"\"😀{}\" RENAME TO renamed",
                        "ALTER TABLE \"s.\"\"é\".renamed SET SCHEMA public",
                        "CREATE TABLE \"s.\"\"é\".\"t.?\"\"😀{}\" (id int)");
        assertThat(outcome).isInstanceOf(Outcome.Loaded.class);
        assertThat(again.strings("a\"?b")).containsExactly("x");
    }

    @Test
    void anotherSnapshotIsTakenUntilOneCoversThePosition() throws Exception {
        LoadedTable.run(session, "CREATE TABLE watched (id int PRIMARY KEY)");
        RelationDescriptor shape = LoadedTable.shape(session, "watched");
        try (Connection other = open()) {
            other.setAutoCommit(false);
            LoadedTable.run(other, "INSERT INTO watched VALUES (1)");
            long running =
                    Long.parseLong(
                            Objects.requireNonNull(
                                    LoadedTable.ask(
                                            other, "SELECT pg_current_xact_id()::xid::text")));
            List<Boolean> seen = new ArrayList<>();
            TableMapping mapping = LoadedTable.mapping(shape);
            LoadedTable table = new LoadedTable(shape, mapping, SourceEncoding.UTF8);
            TableLoad.Changes check =
                    LoadedTable.changes(snapshot -> {
                        boolean open = snapshot.hides((int) running);
                        seen.add(open);
                        if (open) {
                            commit(other);
                        }
                        return open ? TableLoad.Changes.NO_POSITION : LoadedTable.POSITION;
                    });
            Outcome outcome =
                    new TableLoad(TableLoadTest::open, IMPATIENT)
                            .run(shape, mapping, check, table, TableLoad.Progress.NONE);
            assertThat(seen).containsExactly(true, false);
            Outcome.Loaded loaded = (Outcome.Loaded) outcome;
            assertThat(loaded.rows()).isEqualTo(1);
            assertThat(loaded.insertPosition())
                    .isLessThanOrEqualTo(
                            Lsn.parse(
                                    Objects.requireNonNull(
                                            LoadedTable.ask(
                                                    session,
                                                    "SELECT pg_current_wal_insert_lsn()"))));
        }
    }

    private static void commit(Connection other) {
        try {
            other.commit();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void chunksAreBoundedAndLargeRowsGoAlone() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE sized (id int PRIMARY KEY, v text)",
                "INSERT INTO sized SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i",
                "INSERT INTO sized VALUES (2000, repeat('y', 20000000)), (2001, 'z')",
                "ANALYZE sized");
        LoadedTable table = LoadedTable.of(session, "sized");
        Waiting progress = new Waiting();
        TableLoad.Options options = new TableLoad.Options(1000, 5, 20, 10_000, ValueLimit.NONE);
        table.load(new TableLoad(TableLoadTest::open, options), progress);
        assertThat(table.chunks()).isBetween(15, 60);
        assertThat(progress.estimated).isEqualTo(1002);
        assertThat(progress.rows).isEqualTo(1002);
        assertThat(progress.bytes).isGreaterThan(20_100_000);
        assertThat(table.loadedBytes()).isEqualTo(table.pageBytes(session));
    }

    @Test
    void shapesAtTheEdges() throws Exception {
        String wide =
                IntStream.rangeClosed(2, 1600)
                        .mapToObj(i -> "c" + i + (i % 3 == 0 ? " int2" : " bool"))
                        .collect(Collectors.joining(", "));
        LoadedTable.run(
                session,
                "CREATE TABLE wide (c1 int PRIMARY KEY, " + wide + ")",
                "INSERT INTO wide (c1, c3, c1599, c1600) VALUES (1, 2, 3, true), (2, 7, 8, false)",
                "CREATE TABLE generated (id int PRIMARY KEY, v int GENERATED ALWAYS AS (id * 2)"
                        + " VIRTUAL, gone text, s int GENERATED ALWAYS AS (id * 3) STORED, w text)",
                "ALTER TABLE generated DROP gone",
                "INSERT INTO generated (id, w) VALUES (1, 'a'), (2, NULL)",
                "CREATE TABLE empty (id int PRIMARY KEY)",
                "CREATE TABLE child () INHERITS (empty)",
                "INSERT INTO child VALUES (9)");
        for (String name : List.of("wide", "generated", "empty")) {
            LoadedTable table = LoadedTable.of(session, name);
            Outcome outcome = table.load(TableLoadTest::open);
            assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(name.equals("empty") ? 0 : 2);
            assertThat(table.loadedBytes()).as(name).isEqualTo(table.pageBytes(session));
        }
    }

    @Test
    void aTableWithoutColumnsHasItsRows() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE bare ()",
                "INSERT INTO bare DEFAULT VALUES",
                "INSERT INTO bare DEFAULT VALUES");
        RelationDescriptor shape = LoadedTable.shape(session, "bare");
        LoadedTable.run(session, "CREATE TABLE keyed (id int PRIMARY KEY)");
        TableMapping none =
                LoadedTable.mapping(LoadedTable.shape(session, "keyed")).withColumns(List.of());
        List<Long> counts = new ArrayList<>();
        Outcome outcome =
                new TableLoad(TableLoadTest::open, IMPATIENT)
                        .run(
                                shape,
                                none,
                                LoadedTable.ANY_SNAPSHOT,
                                rows -> {
                                    counts.add(rows.recordCount());
                                    return 0;
                                },
                                TableLoad.Progress.NONE);
        assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(2);
        assertThat(counts).containsExactly(2L);
    }

    /** Rows from any thread, and who brought them. */
    private record Shared(LoadedTable table, Set<String> readers, Runnable first)
            implements TableLoad.Rows {
        @Override
        public synchronized long submit(CommittedChanges rows) {
            if (readers.isEmpty()) {
                first.run();
            }
            readers.add(Thread.currentThread().getName());
            return table.submit(rows);
        }
    }

    @Test
    void severalSessionsReadWhatOneSnapshotShows() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE ranged (id int PRIMARY KEY, v text)",
                "INSERT INTO ranged SELECT i, repeat('x', 400) || i FROM generate_series(1, 4000)"
                        + " i",
                "DELETE FROM ranged WHERE id BETWEEN 1000 AND 1200",
                "CREATE TABLE expected AS SELECT v FROM ranged");
        RelationDescriptor shape = LoadedTable.shape(session, "ranged");
        TableMapping mapping = LoadedTable.mapping(shape);
        LoadedTable table = new LoadedTable(shape, mapping, SourceEncoding.UTF8);
        Shared rows =
                new Shared(
                        table,
                        new HashSet<>(),
                        () ->
                                change(
                                        "UPDATE ranged SET v = 'later' WHERE id % 3 = 0",
                                        "DELETE FROM ranged WHERE id % 7 = 0",
                                        "INSERT INTO ranged SELECT i, 'later' FROM"
                                                + " generate_series(5000, 6000) i"));
        Waiting progress = new Waiting();
        Outcome outcome =
                new TableLoad(TableLoadTest::open, IMPATIENT.withSessions(3, 20))
                        .run(shape, mapping, LoadedTable.ANY_SNAPSHOT, rows, progress);
        assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(3799);
        assertThat(progress.rows).isEqualTo(3799);
        assertThat(rows.readers()).hasSizeGreaterThan(1);
        assertThat(new HashSet<>(table.tids())).hasSize(3799);
        List<String> values = new ArrayList<>();
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT v FROM expected")) {
            while (row.next()) {
                values.add(row.getString(1));
            }
        }
        assertThat(table.strings("v").stream().sorted().toList())
                .isEqualTo(values.stream().sorted().toList());
    }

    @Test
    void aSessionThatWouldWaitBehindDdlReadsNothing() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE queued (id int PRIMARY KEY, v text)",
                "INSERT INTO queued SELECT i, repeat('x', 400) FROM generate_series(1, 2000) i");
        RelationDescriptor shape = LoadedTable.shape(session, "queued");
        TableMapping mapping = LoadedTable.mapping(shape);
        Shared rows =
                new Shared(
                        new LoadedTable(shape, mapping, SourceEncoding.UTF8),
                        new HashSet<>(),
                        () -> {});
        FutureTask<Boolean> ddl =
                new FutureTask<>(() -> {
                    try (Connection other = open()) {
                        LoadedTable.run(other, "ALTER TABLE queued ADD COLUMN w int");
                    }
                    return true;
                });
        TableLoad.Changes changes =
                LoadedTable.changes(_ -> {
                    Thread.ofPlatform().start(ddl);
                    while (!"1"
                            .equals(
                                    asked(
                                            "SELECT count(*) FROM pg_locks WHERE NOT granted AND"
                                                    + " relation = 'queued'::regclass"))) {
                        Thread.onSpinWait();
                    }
                    return LoadedTable.POSITION;
                });
        Outcome outcome =
                new TableLoad(TableLoadTest::open, IMPATIENT.withSessions(3, 20))
                        .run(shape, mapping, changes, rows, TableLoad.Progress.NONE);
        assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(2000);
        assertThat(rows.readers()).hasSize(1);
        assertThat(ddl.get()).isTrue();
    }

    private static void change(String... statements) {
        try {
            LoadedTable.run(session, statements);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String asked(String sql) {
        try {
            return String.valueOf(LoadedTable.ask(session, sql));
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void textOfAnotherEncodingArrivesAsStored() throws Exception {
        LoadedTable.run(
                session,
                "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'",
                "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'");
        try (Connection latin = openAny("latin", "")) {
            LoadedTable.run(
                    latin,
                    "CREATE EXTENSION pageinspect",
                    "CREATE TYPE mood AS ENUM ('bé', 'x')",
                    "CREATE TABLE \"tä\" (id int PRIMARY KEY, \"vé\" text, n name, a text[], j"
                            + " jsonb)",
                    "INSERT INTO \"tä\" VALUES (1, 'é', 'ü', '{ä,NULL}', '{\"ö\": \"ß\"}')");
            RelationDescriptor shape = LoadedTable.shape(latin, "\"tä\"");
            LoadedTable table =
                    new LoadedTable(
                            shape, LoadedTable.mapping(shape), SourceEncoding.named("LATIN1"));
            table.load(() -> openAny("latin", ""));
            assertThat(table.strings("vé")).containsExactly("é");
            assertThat(table.loadedBytes()).isEqualTo(table.pageBytes(latin));
        }
        try (Connection ascii = openAny("ascii", "")) {
            LoadedTable.run(
                    ascii,
                    "CREATE EXTENSION pageinspect",
                    "CREATE TABLE tä (id int PRIMARY KEY, vé text)",
                    "INSERT INTO tä VALUES (1, E'a\\xff\\xe9')");
            RelationDescriptor shape = LoadedTable.shape(ascii, "tä");
            LoadedTable table =
                    new LoadedTable(
                            shape, LoadedTable.mapping(shape), SourceEncoding.named("SQL_ASCII"));
            table.load(() -> openAny("ascii", ""));
            assertThat(table.loadedBytes()).isEqualTo(table.pageBytes(ascii));
        }
    }

    @Test
    void whatTheSourceHidesOrRefusesIsNamed() throws Exception {
        LoadedTable.run(
                session,
                "CREATE ROLE reader LOGIN",
                "CREATE TABLE secret (id int PRIMARY KEY)",
                "INSERT INTO secret VALUES (1), (2)");
        TableLoad.Sessions asReader =
                () -> {
                    Connection reader = open();
                    LoadedTable.run(reader, "SET ROLE reader");
                    return reader;
                };
        LoadedTable table = LoadedTable.of(session, "secret");
        assertThatThrownBy(() -> table.load(asReader))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1819")
                .hasMessageContaining("permission denied");
        LoadedTable.run(
                session,
                "GRANT SELECT ON secret TO reader",
                "ALTER TABLE secret ENABLE ROW LEVEL SECURITY",
                "CREATE POLICY half ON secret USING (id = 1)");
        assertThatThrownBy(() -> table.load(asReader))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("row-level security");
        assertThat(table.rows()).isZero();
    }

    @Test
    void aColumnThatCannotBeHadAsItsTargetIsNamed() throws Exception {
        LoadedTable.run(session, "CREATE TABLE pointed (id int PRIMARY KEY, p point)");
        RelationDescriptor shape = LoadedTable.shape(session, "pointed");
        LoadedTable.run(session, "CREATE TABLE mapped (id int PRIMARY KEY, p float8)");
        TableMapping other = LoadedTable.mapping(LoadedTable.shape(session, "mapped"));
        assertThatThrownBy(() -> LoadShape.of(shape, other))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("public.pointed")
                .hasMessageContaining("column p")
                .hasMessageContaining("pg_catalog.point");
    }

    @Test
    void anInterruptEndsTheLoadAndItsSession() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE long (id int PRIMARY KEY, v text)",
                "INSERT INTO long SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i");
        RelationDescriptor shape = LoadedTable.shape(session, "long");
        CountDownLatch blocked = new CountDownLatch(1);
        FutureTask<Outcome> load =
                new FutureTask<>(() ->
                        new TableLoad(TableLoadTest::open, IMPATIENT)
                                .run(
                                        shape,
                                        LoadedTable.mapping(shape),
                                        LoadedTable.ANY_SNAPSHOT,
                                        rows -> {
                                            blocked.countDown();
                                            new CountDownLatch(1).await();
                                            return 0;
                                        },
                                        TableLoad.Progress.NONE));
        Thread thread = Thread.ofPlatform().start(load);
        blocked.await();
        thread.interrupt();
        assertThatThrownBy(load::get).hasCauseInstanceOf(InterruptedException.class);
        // granted only when the load's transaction has ended
        LoadedTable.run(session, "BEGIN; LOCK TABLE long IN ACCESS EXCLUSIVE MODE; COMMIT");
    }

    @Test
    void aLostSessionIsAnError() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TABLE lost (id int PRIMARY KEY, v text)",
                "INSERT INTO lost SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i");
        RelationDescriptor shape = LoadedTable.shape(session, "lost");
        assertThatThrownBy(() ->
                        new TableLoad(TableLoadTest::open, IMPATIENT)
                                .run(
                                        shape,
                                        LoadedTable.mapping(shape),
                                        LoadedTable.ANY_SNAPSHOT,
                                        rows -> terminateLoads(),
                                        TableLoad.Progress.NONE))
                .isInstanceOf(SQLException.class);
    }

    private static long terminateLoads() {
        try {
            LoadedTable.run(
                    session,
                    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                            + " WHERE query LIKE 'COPY (SELECT ctid%lost%'");
            return 0;
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
