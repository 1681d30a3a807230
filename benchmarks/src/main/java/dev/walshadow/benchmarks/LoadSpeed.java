package dev.walshadow.benchmarks;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.load.BackupTransactions;
import dev.walshadow.bootstrap.load.BaselineLoader;
import dev.walshadow.bootstrap.load.TouchedBlocks;
import dev.walshadow.bootstrap.load.WalGate;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalStream;
import dev.walshadow.source.replication.BaseBackupOptions;
import dev.walshadow.source.replication.BaseBackupSink;
import dev.walshadow.source.replication.ConnectionSettings;
import dev.walshadow.source.replication.ReplicationConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOut;

/**
 * How fast the initial load is, beside what the same source gives to somebody who does nothing with
 * it: a base backup to nowhere and a binary COPY to nowhere, all of one table of six narrow
 * columns.
 */
final class LoadSpeed {
    private static final String TABLE = "bench.narrow";
    private static final int SEGMENT_BYTES = 16 << 20;
    private static final long POLL_NANOS = Duration.ofMillis(50).toNanos();
    private static final long MEMORY_BYTES = 32 << 20;
    private static final int WALKERS = 2;
    private static final int ROUNDS = 5;

    private final Stand stand;
    private final int major;
    private final long rows;
    private final List<Figure> figures = new ArrayList<>();
    private int runs;

    private LoadSpeed(Stand stand, int major, long rows) {
        this.stand = stand;
        this.major = major;
        this.rows = rows;
    }

    static List<Figure> measure(int major, long rows) throws Exception {
        try (Stand stand = Stand.start(major)) {
            return new LoadSpeed(stand, major, rows).run();
        }
    }

    private List<Figure> run() throws Exception {
        fill();
        figures.add(Figure.of("load: rows", (double) rows, ""));
        backups();
        figures.add(Figure.of("load: binary COPY to nowhere", copy(), "rows/s"));
        walk(); // JIT
        figures.add(Figure.of("load: pages to columns", walk(), "rows/s").atLeast(2_000_000));
        daemon();
        return figures;
    }

    private void fill() throws SQLException {
        try (Connection session = stand.source();
                Statement statement = session.createStatement()) {
            statement.execute(
                    "create table "
                            + TABLE
                            + " as select i as id, (i % 1000)::int as quantity, (i * 7 %"
                            + " 100000)::int as customer, (i % 100)::smallint as kind, i * 0.25::"
                            + "float8 as price, timestamptz '2024-01-01' + i * interval '1"
                            + " second' as placed from generate_series(1, "
                            + rows
                            + "::bigint) i");
            statement.execute("alter table " + TABLE + " add primary key (id)");
            statement.execute("vacuum " + TABLE);
            statement.execute("checkpoint");
        }
    }

    private ReplicationConnection connect() {
        return ReplicationConnection.connect(ConnectionSettings.parse(stand.sourceUrl()));
    }

    /** In turns, so that both meet the same machine. */
    private void backups() throws InterruptedException {
        bare(); // the files come into the page cache
        double[] bare = new double[ROUNDS];
        double[] passed = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            bare[i] = bare();
            passed[i] = pass(HeapFileSink.NONE);
        }
        Arrays.sort(bare);
        Arrays.sort(passed);
        double median = bare[ROUNDS / 2];
        figures.add(Figure.of("load: BASE_BACKUP to nowhere", median / 1e6, "MB/s"));
        figures.add(
                Figure.of(
                                "load: tar taken apart, of BASE_BACKUP",
                                100 * passed[ROUNDS / 2] / median,
                                "%")
                        .atLeast(90));
    }

    /** Bytes in a second. */
    private double bare() throws InterruptedException {
        Counter counter = new Counter();
        try (ReplicationConnection connection = connect()) {
            connection.baseBackup(new BaseBackupOptions("benchmark", true, 0), counter);
        }
        return counter.bytes / counter.seconds();
    }

    /** Counts what comes. */
    private static final class Counter implements BaseBackupSink {
        private long bytes;
        private long started;

        @Override
        public void start(long startLsn, int timeline, List<Tablespace> tablespaces) {
            started = System.nanoTime();
        }

        @Override
        public void archive(String name, String path) {}

        @Override
        public void data(byte[] data, int offset, int length) {
            bytes += length;
        }

        @Override
        public void end(long endLsn, int timeline) {}

        double seconds() {
            return (System.nanoTime() - started) / 1e9;
        }
    }

    private double copy() throws SQLException {
        try (Connection session = stand.source()) {
            long start = System.nanoTime();
            CopyOut copy =
                    session.unwrap(PGConnection.class)
                            .getCopyAPI()
                            .copyOut("copy " + TABLE + " to stdout (format binary)");
            long bytes = 0;
            for (byte[] row = copy.readFromCopy(); row != null; row = copy.readFromCopy()) {
                bytes += row.length;
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            figures.add(
                    Figure.of(
                            "load: binary COPY to nowhere, bytes", bytes / seconds / 1e6, "MB/s"));
            return rows / seconds;
        }
    }

    /** Takes the backup apart, lays the shadow's files, and wants no other. Bytes in a second. */
    private double pass(HeapFileSink sink) throws InterruptedException {
        Started started = new Started(null);
        backup(sink, started);
        return started.bytes / started.seconds();
    }

    private void backup(HeapFileSink sink, BackupListener listener) throws InterruptedException {
        try (ReplicationConnection connection = connect()) {
            BaseBackupRun.run(
                    connection,
                    new BaseBackupRun.Options(folder("shadow"), 1, Set.of(), "benchmark", 0),
                    sink,
                    listener);
        }
    }

    private Path folder(String name) {
        return UnprivilegedUser.createDirectory(stand.folder().resolve(name + ++runs));
    }

    /** What is done between the backup's start and its first file. */
    private interface Beginning {
        void begin(long startLsn) throws InterruptedException;
    }

    private static final class Started implements BackupListener {
        private final @Nullable Beginning beginning;
        private long nanos;
        private long bytes;

        Started(@Nullable Beginning beginning) {
            this.beginning = beginning;
        }

        @Override
        public void started(long startLsn, int timeline) throws InterruptedException {
            if (beginning != null) {
                beginning.begin(startLsn);
            }
            nanos = System.nanoTime();
        }

        @Override
        public void progress(BackupProgress progress) {
            bytes = progress.bytesDone();
        }

        double seconds() {
            return (System.nanoTime() - nanos) / 1e9;
        }
    }

    /** The whole way but ClickHouse; nobody writes meanwhile. Rows in a second. */
    private double walk() throws Exception {
        RelationDescriptor shape = shape();
        NullInserter target = new NullInserter(shape);
        BackupLoader loading = new BackupLoader(shape, target);
        Started started = new Started(loading::begin);
        try {
            backup(loading, started);
            loading.loader().finish(Long.MAX_VALUE);
            double seconds = started.seconds();
            if (target.rows() != rows) {
                throw new IllegalStateException(target.rows() + " rows were walked");
            }
            return rows / seconds;
        } finally {
            loading.loader().close();
        }
    }

    private RelationDescriptor shape() throws SQLException {
        try (Connection session = stand.source()) {
            return new CatalogReader()
                    .readAll(session).stream()
                            .filter(each -> each.name().toString().equals(TABLE))
                            .findFirst()
                            .orElseThrow();
        }
    }

    /** Makes the loader when the backup has begun, and hands it the files. */
    private final class BackupLoader implements HeapFileSink {
        private final RelationDescriptor shape;
        private final NullInserter target;
        private @Nullable BaselineLoader loader;

        BackupLoader(RelationDescriptor shape, NullInserter target) {
            this.shape = shape;
            this.target = target;
        }

        BaselineLoader loader() {
            if (loader == null) {
                throw new IllegalStateException("the backup has not begun");
            }
            return loader;
        }

        void begin(long startLsn) throws InterruptedException {
            BackupTransactions open = new BackupTransactions(major, startLsn);
            readWal(startLsn, open);
            WalGate gate = new WalGate();
            gate.readTo(Long.MAX_VALUE);
            BaselineLoader made =
                    new BaselineLoader(
                            new BaselineLoader.Options(
                                    folder("load"),
                                    1,
                                    shape.databaseOid(),
                                    startLsn,
                                    0,
                                    WALKERS,
                                    MEMORY_BYTES,
                                    false),
                            List.of(shape),
                            List.of(),
                            target,
                            stand::source,
                            new BaselineLoader.WalSinceStart(
                                    new TouchedBlocks(major, open),
                                    gate,
                                    open,
                                    _ -> Long.MAX_VALUE));
            loader = made;
            made.start(open.awaitSnapshot());
        }

        @Override
        public boolean wants(RelationLocator locator) {
            return loader().wants(locator);
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize)
                throws InterruptedException {
            loader().begin(locator, segmentNumber, fileSize);
        }

        @Override
        public void data(byte[] bytes, int offset, int length) throws InterruptedException {
            loader().data(bytes, offset, length);
        }

        @Override
        public void end() throws InterruptedException {
            loader().end();
        }
    }

    /** From B to where the source is: which transactions are open is there. */
    private void readWal(long startLsn, BackupTransactions open) throws InterruptedException {
        Path directory = stand.sourceDirectory();
        try (Connection session = stand.source();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("select pg_current_wal_flush_lsn()")) {
            row.next();
            long end = Lsn.parse(row.getString(1));
            byte[] control = Files.readAllBytes(directory.resolve("global/pg_control"));
            WalPages pages =
                    new WalPages(major, LittleEndian.getLong(control, 0), 1, SEGMENT_BYTES);
            WalStream stream =
                    new WalStream(
                            StreamSnapshot.initial(pages, startLsn, List.of()),
                            startLsn,
                            (lsn, bytes, offset, length) -> {},
                            (record, decision, boundary) -> open.onRecord(record),
                            (lsn, segment, length, next) -> {});
            while (stream.nextLsn() < end) {
                long from = stream.nextLsn();
                byte[] segment =
                        Files.readAllBytes(
                                directory
                                        .resolve("pg_wal")
                                        .resolve(Lsn.segmentFileName(1, from, SEGMENT_BYTES)));
                int offset = (int) (from % SEGMENT_BYTES);
                stream.push(
                        from, segment, offset, (int) Math.min(end - from, SEGMENT_BYTES - offset));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The product, from its start on; the rate from the first tenth of the rows on. */
    private void daemon() throws InterruptedException {
        long start = System.nanoTime();
        double tenth = 0;
        try (DaemonProcess daemon = stand.startDaemon()) {
            long had = 0;
            while (had < rows) {
                daemon.requireAlive();
                LockSupport.parkNanos(POLL_NANOS);
                had = count();
                if (tenth == 0 && had >= rows / 10) {
                    tenth = (System.nanoTime() - start) / 1e9;
                    tenth -= POLL_NANOS / 2e9;
                }
            }
            double all = (System.nanoTime() - start) / 1e9;
            figures.add(Figure.of("load: start of the daemon to the last row", all, "s"));
            figures.add(
                    Figure.of("load: into ClickHouse", rows * 0.9 / (all - tenth), "rows/s")
                            .atLeast(1_000_000));
            daemon.awaitAll(Duration.ofMinutes(5));
            figures.add(
                    Figure.of(
                                    "load: daemon's peak RSS",
                                    ProcessFigures.peakResidentBytes(daemon.pid()) / 1e6,
                                    "MB")
                            .atMost(1000));
            figures.add(
                    Figure.of(
                            "load: daemon CPU",
                            ProcessFigures.cpuSeconds(daemon.pid()) / (rows / 1e6),
                            "s/M rows"));
        }
    }

    private long count() {
        String exists =
                stand.target()
                        .query(
                                "select count() from system.tables where database || '.' || name ="
                                        + " '"
                                        + TABLE
                                        + "'")
                        .strip();
        return exists.equals("0")
                ? 0
                : Long.parseLong(stand.target().query("select count() from " + TABLE).strip());
    }
}
