package dev.walshadow.transaction;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalRecord;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The WAL of a real server through the buffer, compared with what the server itself answers. */
final class RealServerTest {
    private static final int TABLES = 3;
    private static final int[] BUDGETS = {16 << 10, 1 << 20, 64 << 20};

    @TempDir Path folder;

    static IntStream majors() {
        return Boolean.getBoolean("walshadow.soak")
                ? IntStream.rangeClosed(15, 18)
                : IntStream.of(15, 18);
    }

    @ParameterizedTest
    @MethodSource("majors")
    void committedRecordsMakeTheTablesThatTheServerShows(int major) throws Exception {
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder.resolve("pg"))
                        .version(major)
                        .setting("fsync", "off")
                        .setting("wal_keep_size", "2GB")
                        .setting("max_prepared_transactions", "20")
                        .start()) {
            long from = prepareTables(server);
            savepoints(server);
            exceptionBlocks(server);
            twoPhase(server);
            speculativeConflict(server);
            toastedRows(server);
            crash(server);
            long end;
            List<Map<Integer, String>> expected = new ArrayList<>();
            int[] locators = new int[TABLES];
            int[] toastLocators = new int[TABLES];
            int[] toastOids = new int[TABLES];
            try (Connection connection = connect(server)) {
                for (int i = 0; i < TABLES; i++) {
                    locators[i] = number(connection, "select pg_relation_filenode('t" + i + "')");
                    String toast = "(select reltoastrelid from pg_class where relname = 't" + i;
                    toastOids[i] = number(connection, "select " + toast + "')");
                    toastLocators[i] =
                            number(connection, "select pg_relation_filenode(" + toast + "'))");
                    expected.add(rows(connection, "t" + i));
                }
                end = lsn(connection, "select pg_current_wal_insert_lsn()");
                execute(connection, "select pg_switch_wal()");
            }
            assertThat(expected.get(0)).hasSizeGreaterThan(5000);
            for (int budget : BUDGETS) {
                check(
                        server,
                        major,
                        budget,
                        from,
                        end,
                        locators,
                        toastLocators,
                        toastOids,
                        expected);
            }
        }
    }

    private void check(
            EmbeddedPostgres server,
            int major,
            int budget,
            long from,
            long end,
            int[] locators,
            int[] toastLocators,
            int[] toastOids,
            List<Map<Integer, String>> expected)
            throws IOException, InterruptedException {
        ReplayedTables tables = new ReplayedTables();
        for (int i = 0; i < TABLES; i++) {
            tables.follow(locators[i], i);
        }
        int[] superDeletes = {0};
        TransactionBuffer.Options base = TransactionBufferTest.options(folder.resolve("s"), budget);
        TransactionBuffer.Options options =
                new TransactionBuffer.Options(
                        budget,
                        folder.resolve("s"),
                        77,
                        major,
                        base.filter(),
                        (locator, lsn) -> {
                            for (int i = 0; i < TABLES; i++) {
                                if (toastLocators[i] == locator.relationNumber()) {
                                    return toastOids[i];
                                }
                            }
                            return 0;
                        },
                        Duration.ZERO);
        try (TransactionBuffer buffer =
                new TransactionBuffer(
                        options,
                        changes -> {
                            tables.apply(changes);
                            changes.close();
                        })) {
            new WalFiles(server.dataDirectory())
                    .read(
                            from,
                            end,
                            record -> {
                                superDeletes[0] += isSuperDelete(record) ? 1 : 0;
                                buffer.onRecord(record);
                            });
            for (int i = 0; i < TABLES; i++) {
                assertThat(tables.rows(i))
                        .as("t" + i + " budget " + budget)
                        .isEqualTo(expected.get(i));
            }
            assertThat(superDeletes[0]).isPositive();
            assertThat(buffer.counters().live()).isZero();
            assertThat(buffer.counters().vanished()).isPositive();
            assertThat(buffer.counters().memoryBytes()).isZero();
            assertThat(buffer.counters().spilledTransactions() > 0).isEqualTo(budget < 64 << 20);
        }
    }

    private static boolean isSuperDelete(WalRecord record) {
        return record.resourceManager() == ResourceManager.HEAP
                && (record.info() & HeapRecordLayout.XLOG_HEAP_OPMASK)
                        == HeapRecordLayout.XLOG_HEAP_DELETE
                && (record.buffer()[record.mainDataOffset() + HeapRecordLayout.DELETE_FLAGS]
                                & HeapRecordLayout.XLH_DELETE_IS_SUPER)
                        != 0;
    }

    // ---- the work

    private static long prepareTables(EmbeddedPostgres server) throws SQLException {
        try (Connection connection = connect(server)) {
            for (int i = 0; i < TABLES; i++) {
                execute(
                        connection,
                        "create table t" + i + " (id int primary key, val int not null, doc text)");
                execute(connection, "alter table t" + i + " alter doc set storage external");
            }
            execute(connection, "create sequence s start 1000000");
            execute(
                    connection,
                    """
                    create procedure nested(depth int, first int) language plpgsql as $$
                    begin
                      insert into t0 values (first, depth, 'nested');
                      begin
                        insert into t1 values (first * 50 + depth, depth, 'kept or not');
                        if depth > 0 then
                          call nested(depth - 1, first + 1);
                        end if;
                        if depth % 3 = 1 then
                          raise exception 'undo %', depth;
                        end if;
                      exception when raise_exception then
                        null;
                      end;
                      update t0 set val = val + 1 where id = first;
                    end $$
                    """);
            return lsn(connection, "select pg_current_wal_insert_lsn()");
        }
    }

    /** Thousands of subtransactions, released and rolled back, beside others' transactions. */
    private static void savepoints(EmbeddedPostgres server) throws SQLException {
        try (Connection connection = connect(server);
                Connection other = connect(server);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (int i = 0; i < 3000; i++) {
                statement.execute("savepoint a");
                statement.execute("insert into t0 values (" + i + ", 0, repeat('x', 200))");
                if (i % 3 == 0) {
                    statement.execute("savepoint b");
                    statement.execute("insert into t1 values (" + i + ", 1, 'inner')");
                    statement.execute("release b");
                }
                if (i % 7 == 0) {
                    statement.execute("rollback to a");
                }
                if (i % 2 == 0) {
                    statement.execute("release a");
                }
                if (i % 100 == 0) {
                    execute(other, "insert into t1 values (nextval('s'), 3, 'another session')");
                }
            }
            statement.execute("update t0 set val = val + 1 where id % 5 = 0");
            statement.execute("delete from t1 where id % 30 = 0 and id < 1000000");
            connection.commit();
            statement.execute(
                    "insert into t0 select g, 9, 'gone' from generate_series(1e6, 1.1e6) g");
            connection.rollback();
            // a key that moves
            statement.execute("update t0 set id = id + 500000 where id < 50");
            connection.commit();
        }
    }

    private static void exceptionBlocks(EmbeddedPostgres server) throws SQLException {
        try (Connection connection = connect(server)) {
            for (int i = 0; i < 8; i++) {
                execute(connection, "call nested(" + (10 + i) + ", " + (10_000 + 100 * i) + ")");
            }
            execute(
                    connection,
                    """
                    do $$ begin
                      for i in 1..3000 loop
                        begin
                          insert into t0 values (20000 + i, i, 'loop');
                          if i % 4 = 0 then raise exception 'no'; end if;
                        exception when raise_exception then null;
                        end;
                      end loop;
                    end $$
                    """);
        }
    }

    private static void twoPhase(EmbeddedPostgres server) throws Exception {
        try (Connection connection = connect(server)) {
            for (int i = 0; i < 4; i++) {
                execute(connection, "begin");
                execute(connection, "insert into t0 values (" + (30_000 + i) + ", 0, 'prepared')");
                execute(connection, "savepoint a");
                execute(connection, "insert into t1 values (" + (30_000 + i) + ", 0, 'sub')");
                execute(connection, "savepoint b");
                execute(connection, "insert into t1 values (" + (31_000 + i) + ", 0, 'undone')");
                execute(connection, "rollback to b");
                execute(connection, "prepare transaction 'p" + i + "'");
            }
            execute(connection, "commit prepared 'p0'");
            execute(connection, "rollback prepared 'p1'");
            execute(connection, "checkpoint");
        }
        server.restart(); // a shutdown checkpoint: p2 and p3 outlive it
        try (Connection connection = connect(server)) {
            execute(connection, "insert into t0 values (32000, 0, 'between')");
            execute(connection, "commit prepared 'p2'");
            // p3 lives through the crash to come
        }
    }

    /**
     * Two sessions insert the same key and are led, by locks that an index expression waits for,
     * both past their first check: one of them must take back its row. As PostgreSQL's own
     * isolation test insert-conflict-specconflict does.
     */
    private static void speculativeConflict(EmbeddedPostgres server) throws Exception {
        try (Connection control = connect(server);
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            execute(
                    control,
                    """
                    create function wait_for_lock(k int) returns int immutable language plpgsql as $$
                    begin
                      if pg_try_advisory_xact_lock(current_setting('spec.session')::int, 1) then
                        perform pg_advisory_xact_lock(current_setting('spec.session')::int, 2);
                      else
                        perform pg_advisory_xact_lock(current_setting('spec.session')::int, 3);
                      end if;
                      return k;
                    end $$
                    """);
            execute(control, "set spec.session = 0");
            execute(control, "alter table t2 drop constraint t2_pkey");
            execute(control, "alter table t2 replica identity full");
            execute(control, "create unique index special on t2 (wait_for_lock(id))");
            for (int session = 1; session <= 2; session++) {
                for (int lock = 1; lock <= 3; lock++) {
                    execute(control, "select pg_advisory_lock(" + session + "," + lock + ")");
                }
            }
            CompletableFuture<Void> first = upsert(server, threads, 1);
            CompletableFuture<Void> second = upsert(server, threads, 2);
            awaitWaiting(control, 3, 2);
            unlock(control, 1, 1);
            unlock(control, 2, 1);
            unlock(control, 1, 3);
            unlock(control, 2, 3);
            awaitWaiting(control, 2, 2);
            unlock(control, 2, 2);
            second.get();
            unlock(control, 1, 2);
            first.get();
        }
    }

    private static CompletableFuture<Void> upsert(
            EmbeddedPostgres server, java.util.concurrent.Executor threads, int session) {
        return CompletableFuture.runAsync(
                () -> {
                    try (Connection connection = connect(server)) {
                        execute(connection, "set spec.session = " + session);
                        execute(
                                connection,
                                "insert into t2 values (40000, 77, repeat('s"
                                        + session
                                        + "', 3000)) on conflict (wait_for_lock(id))"
                                        + " do update set doc = t2.doc || ' again'");
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                },
                threads);
    }

    private static void unlock(Connection control, int session, int lock) throws SQLException {
        execute(control, "select pg_advisory_unlock(" + session + "," + lock + ")");
    }

    private static void awaitWaiting(Connection control, int lock, int sessions)
            throws SQLException {
        String sql =
                "select count(*) from pg_locks where locktype = 'advisory' and not granted"
                        + " and objid = "
                        + lock;
        while (number(control, sql) != sessions) {
            Thread.onSpinWait();
        }
    }

    private static void toastedRows(EmbeddedPostgres server) throws SQLException {
        try (Connection connection = connect(server)) {
            execute(
                    connection,
                    "insert into t0 select 50000 + g, g, (select string_agg(md5(g::text || i), '')"
                        + " from generate_series(1, 50 + g * 7) i) from generate_series(1, 200) g");
            connection.setAutoCommit(false);
            execute(connection, "insert into t0 values (51000, 1, repeat('abc', 100000))");
            execute(connection, "savepoint a");
            execute(connection, "insert into t0 values (51001, 1, repeat('def', 100000))");
            execute(connection, "rollback to a");
            // the row refers to chunks that the same transaction wrote before
            execute(connection, "update t0 set val = 2 where id = 51000");
            execute(connection, "insert into t0 values (51002, 1, repeat('ghi', 100000))");
            connection.commit();
        }
    }

    /** Leaves a transaction without any end record, and a prepared one that outlives it. */
    private static void crash(EmbeddedPostgres server) throws SQLException {
        Connection lost = connect(server);
        lost.setAutoCommit(false);
        execute(lost, "insert into t0 select g, 0, 'lost' from generate_series(60000, 60500) g");
        execute(lost, "savepoint a");
        execute(lost, "insert into t0 select g, 0, 'lost' from generate_series(60501, 61000) g");
        try (Connection connection = connect(server)) {
            // its commit flushes the WAL of the other one
            execute(connection, "insert into t0 values (62000, 0, 'kept')");
        }
        server.stopImmediate();
        server.start();
        try (Connection connection = connect(server)) {
            execute(connection, "insert into t0 values (62001, 0, 'after the crash')");
            execute(connection, "commit prepared 'p3'");
        }
    }

    // ---- SQL

    private static Connection connect(EmbeddedPostgres server) throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static int number(Connection connection, String sql) throws SQLException {
        return Integer.parseUnsignedInt(text(connection, sql));
    }

    private static long lsn(Connection connection, String sql) throws SQLException {
        return Lsn.parse(text(connection, sql));
    }

    private static String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    private static Map<Integer, String> rows(Connection connection, String table)
            throws SQLException {
        Map<Integer, String> rows = new TreeMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("select id, val, doc from " + table)) {
            while (found.next()) {
                String doc = found.getString(3);
                rows.put(
                        found.getInt(1),
                        found.getInt(2)
                                + ":"
                                + (doc == null ? null : doc.length() + "/" + doc.hashCode()));
            }
        }
        return rows;
    }
}
