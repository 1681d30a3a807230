package dev.walshadow.postgres.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.Lsn;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The files of a real data directory against what the server says about itself. */
final class ClusterFilesTest {
    @TempDir Path folder;

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void readsTheControlFileAndHowTransactionsEnded(int major) throws Exception {
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(folder)
                        .version(major)
                        .setting("fsync", "off")
                        .setting("max_connections", "37")
                        .setting("max_worker_processes", "11")
                        .setting("max_wal_senders", "7")
                        .setting("max_replication_slots", "7")
                        .setting("max_prepared_transactions", "13")
                        .setting("max_locks_per_transaction", "71")
                        .setting("track_commit_timestamp", "on")
                        .initdbOption("--data-checksums")
                        .start()) {
            Path data = server.dataDirectory();
            try (Connection connection = connect(server)) {
                List<Integer> committed = new ArrayList<>();
                List<Integer> aborted = new ArrayList<>();
                run(connection, "create table t (id int primary key, n int)");
                run(connection, "insert into t select g, 0 from generate_series(1, 10) g");
                makeTransactions(connection, committed, aborted);
                int[] multis = makeMultiXacts(server, connection);
                run(connection, "checkpoint");
                checkControlFile(data, connection, major);
                TransactionStatusReader reader =
                        new TransactionStatusReader(SlruSegments.in(data.resolve("pg_xact")));
                for (int xid : committed) {
                    assertThat(reader.status(xid)).isEqualTo(TransactionStatusReader.COMMITTED);
                }
                for (int xid : aborted) {
                    assertThat(reader.status(xid)).isEqualTo(TransactionStatusReader.ABORTED);
                }
                assertThat(reader.status(0)).isEqualTo(TransactionStatusReader.ABORTED);
                assertThat(reader.status(2)).isEqualTo(TransactionStatusReader.COMMITTED);
                assertThat(reader.status(-1)).isEqualTo(TransactionStatusReader.UNKNOWN);
                checkMultiXacts(data, multis);
            }
        }
    }

    private static void makeTransactions(
            Connection connection, List<Integer> committed, List<Integer> aborted)
            throws SQLException {
        connection.setAutoCommit(false);
        for (int i = 0; i < 300; i++) {
            int xid = currentXid(connection);
            Savepoint savepoint = connection.setSavepoint();
            run(connection, "update t set n = n + 1 where id = " + (1 + i % 10));
            int subXid =
                    number(connection, "select xmin::text::int8 from t where id = " + (1 + i % 10));
            boolean subAborts = i % 3 == 0;
            if (subAborts) {
                connection.rollback(savepoint);
            }
            boolean aborts = i % 5 == 0;
            if (aborts) {
                connection.rollback();
            } else {
                connection.commit();
            }
            (aborts ? aborted : committed).add(xid);
            (aborts || subAborts ? aborted : committed).add(subXid);
        }
        connection.setAutoCommit(true);
    }

    /** Returns pairs: the multixact that a row carries, and its updater or 0. */
    private static int[] makeMultiXacts(EmbeddedPostgres server, Connection connection)
            throws SQLException {
        int[] pairs = new int[2 * 20];
        run(connection, "create table m (id int primary key, n int)");
        run(connection, "insert into m select g, 0 from generate_series(1, 20) g");
        run(connection, "create extension pageinspect");
        for (int i = 0; i < 20; i++) {
            boolean updates = i % 2 == 0;
            try (Connection locker = connect(server);
                    Connection other = connect(server)) {
                locker.setAutoCommit(false);
                other.setAutoCommit(false);
                String row = " where id = " + (i + 1);
                run(locker, "select * from m" + row + " for key share");
                pairs[2 * i + 1] = updates ? currentXid(other) : 0;
                run(
                        other,
                        updates
                                ? "update m set n = 1" + row
                                : "select * from m" + row + " for share");
                other.commit();
                locker.commit();
            }
            pairs[2 * i] =
                    number(
                            connection,
                            "select t_xmax::text::int8 from heap_page_items(get_raw_page('m', 0))"
                                    + " where lp = "
                                    + (i + 1)
                                    + " and (t_infomask & 4096) <> 0");
        }
        return pairs;
    }

    private static void checkMultiXacts(Path data, int[] pairs) {
        Path folder = data.resolve("pg_multixact");
        MultiXactReader reader =
                new MultiXactReader(
                        SlruSegments.in(folder.resolve("offsets")),
                        SlruSegments.in(folder.resolve("members")));
        for (int i = 0; i < pairs.length; i += 2) {
            assertThat(reader.updater(pairs[i])).as("multi %d", pairs[i]).isEqualTo(pairs[i + 1]);
        }
        assertThatThrownBy(() -> reader.updater(1_000_000)).isInstanceOf(HaltException.class);
        assertThatThrownBy(() -> reader.updater(0)).isInstanceOf(HaltException.class);
    }

    private static void checkControlFile(Path data, Connection connection, int major)
            throws Exception {
        byte[] bytes = Files.readAllBytes(data.resolve("global/pg_control"));
        ControlFile file = ControlFile.parse(bytes);
        assertThat(file.majorVersion()).isEqualTo(major);
        assertThat(file.state()).isEqualTo(ControlFile.State.IN_PRODUCTION);
        assertThat(Long.toString(file.systemIdentifier()))
                .isEqualTo(text(connection, "select system_identifier from pg_control_system()"));
        String checkpoint = " from pg_control_checkpoint()";
        assertThat(Lsn.format(file.checkPoint()))
                .isEqualTo(text(connection, "select checkpoint_lsn" + checkpoint));
        assertThat(Lsn.format(file.redo()))
                .isEqualTo(text(connection, "select redo_lsn" + checkpoint));
        assertThat((file.nextXid() >>> 32) + ":" + (file.nextXid() & 0xFFFF_FFFFL))
                .isEqualTo(text(connection, "select next_xid" + checkpoint));
        assertThat(
                        List.of(
                                file.timeline(),
                                file.previousTimeline(),
                                file.nextOid(),
                                file.nextMulti(),
                                file.nextMultiOffset(),
                                file.oldestXid(),
                                file.oldestMulti(),
                                file.oldestActiveXid()))
                .hasToString(
                        text(
                                connection,
                                "select format('[%s, %s, %s, %s, %s, %s, %s, %s]', timeline_id,"
                                        + " prev_timeline_id, next_oid, next_multixact_id,"
                                        + " next_multi_offset, oldest_xid, oldest_multi_xid,"
                                        + " oldest_active_xid)"
                                        + checkpoint));
        assertThat(
                        List.of(
                                file.blockSize(),
                                file.segmentBlocks(),
                                file.walBlockSize(),
                                file.walSegmentSize(),
                                file.dataChecksumVersion()))
                .hasToString(
                        text(
                                connection,
                                "select format('[%s, %s, %s, %s, %s]', database_block_size,"
                                    + " blocks_per_segment, wal_block_size, bytes_per_wal_segment,"
                                    + " data_page_checksum_version) from pg_control_init()"));
        assertThat(file.wal())
                .isEqualTo(new ControlFile.WalSettings(2, false, 37, 11, 7, 13, 71, true));
        checkDamage(bytes);
    }

    private static void checkDamage(byte[] bytes) {
        int crcAt = ControlFile.parse(bytes).majorVersion() == 18 ? 292 : 288;
        for (int at = 0; at < crcAt + 4; at++) {
            byte[] damaged = bytes.clone();
            damaged[at] ^= 4;
            assertThatThrownBy(() -> ControlFile.parse(damaged))
                    .as("byte %d", at)
                    .isInstanceOf(HaltException.class);
        }
        assertThatThrownBy(() -> ControlFile.parse(new byte[100]))
                .isInstanceOf(HaltException.class);
        assertThatThrownBy(() -> ControlFile.parse(new byte[8192]))
                .isInstanceOf(HaltException.class);
    }

    private static Connection connect(EmbeddedPostgres server) throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    private static int currentXid(Connection connection) throws SQLException {
        return number(connection, "select pg_current_xact_id()::text::int8");
    }

    private static int number(Connection connection, String sql) throws SQLException {
        return (int) Long.parseLong(text(connection, sql));
    }

    private static String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            assertThat(rows.next()).as(sql).isTrue();
            return Objects.requireNonNull(rows.getString(1));
        }
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
