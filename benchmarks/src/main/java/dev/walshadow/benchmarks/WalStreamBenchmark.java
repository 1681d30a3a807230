package dev.walshadow.benchmarks;

import dev.walshadow.base.FileTree;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Record reading, checksum, filter decision and rewrite, on the WAL that a real server wrote for
 * single-row inserts, each its own transaction (about 270 bytes of WAL in three records: heap,
 * index, commit). One operation takes all of it in chunks of 128 KiB. Targets: {@code megabytes} at
 * least 800 per second on one core; {@code gc.alloc.rate.norm} divided by the records of one
 * operation ({@code records} by the score) at most 1 byte.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class WalStreamBenchmark {
    private static final int ROWS = 1_000_000;
    private static final int SEGMENT_SIZE = 1 << 20;
    private static final int CHUNK = 128 * 1024;

    private byte[] wal = new byte[0];
    private StreamSnapshot start =
            StreamSnapshot.initial(new WalPages(18, 0, 1, SEGMENT_SIZE), 0, List.of());
    private long seen;

    /** What the operations amount to, per second. */
    @AuxCounters(AuxCounters.Type.OPERATIONS)
    @State(Scope.Thread)
    public static class Volume {
        private long bytes;
        private long records;

        /** Reset by the harness before each iteration. */
        @Setup(Level.Iteration)
        public void reset() {
            bytes = 0;
            records = 0;
        }

        public double megabytes() {
            return bytes / 1e6;
        }

        public long records() {
            return records;
        }
    }

    @Setup(Level.Trial)
    public void write() throws IOException, SQLException {
        Path directory = UnprivilegedUser.temporaryDirectory("walshadow-benchmark-");
        try (EmbeddedPostgres server =
                EmbeddedPostgres.at(directory)
                        .version(18)
                        .initdbOption("--wal-segsize=1")
                        .setting("fsync", "off")
                        .setting("synchronous_commit", "off")
                        .setting("autovacuum", "off")
                        .setting("max_wal_size", "4GB")
                        .setting("wal_keep_size", "2GB")
                        .start()) {
            insertRows(server);
        } finally {
            FileTree.delete(directory);
        }
    }

    private void insertRows(EmbeddedPostgres server) throws IOException, SQLException {
        try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "create table t(id bigint primary key, a int, b text, c numeric(10, 2),"
                            + " d timestamptz, e text)");
            statement.execute("checkpoint");
            long redo = Lsn.parse(value(statement, "select redo_lsn from pg_control_checkpoint()"));
            statement.execute(
                    "do $$ begin for i in 1.."
                            + ROWS
                            + " loop insert into t values (i, i % 1000, md5(i::text), i * 1.5,"
                            + " now(), 'some text of row ' || i); commit; end loop; end $$");
            long end = Lsn.parse(value(statement, "select pg_switch_wal()"));
            long systemIdentifier =
                    Long.parseLong(
                            value(statement, "select system_identifier from pg_control_system()"));
            WalPages pages = new WalPages(18, systemIdentifier, 1, SEGMENT_SIZE);
            start = StreamSnapshot.initial(pages, redo, List.of());
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (long at = start.segmentStart(); at < end; at += SEGMENT_SIZE) {
                String name = Lsn.segmentFileName(1, at, SEGMENT_SIZE);
                out.write(
                        Files.readAllBytes(server.dataDirectory().resolve("pg_wal").resolve(name)));
            }
            wal = out.toByteArray();
        }
    }

    private static String value(Statement statement, String sql) throws SQLException {
        try (ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }

    @Benchmark
    public long filter(Volume volume) throws InterruptedException {
        WalStream stream =
                new WalStream(
                        start,
                        0,
                        (lsn, bytes, offset, length) -> {},
                        (record, decision, boundary) -> seen++,
                        (lsn, segment, length, next) -> {});
        long at = start.segmentStart();
        for (int i = 0; i < wal.length; i += CHUNK) {
            stream.push(at + i, wal, i, Math.min(CHUNK, wal.length - i));
        }
        volume.bytes += wal.length;
        volume.records += seen;
        seen = 0;
        return stream.lastRecordEnd();
    }

    @TearDown(Level.Trial)
    public void forget() {
        wal = new byte[0];
    }
}
