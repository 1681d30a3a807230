package dev.walshadow.bootstrap.load;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BackupOutcome;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalStream;
import dev.walshadow.source.replication.ConnectionSettings;
import dev.walshadow.source.replication.ReplicationConnection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/**
 * A base backup of a running server into a {@link BaselineLoader} while the server's WAL is read
 * from its files; the tables are all those of database {@code postgres}.
 */
final class LiveBackup {
    static final long IDENTIFIER = 4711;

    /** No WAL has been read. */
    static final OpenTransactions NOTHING_KNOWN =
            new OpenTransactions() {
                @Override
                public boolean mayBeOpen(int xid) {
                    return true;
                }

                @Override
                public boolean hasEnded(int xid) {
                    return false;
                }

                @Override
                public boolean committedBefore(int xid, long lsn) {
                    return false;
                }
            };

    private static final long PAUSE_NANOS = 1_000_000;

    private Optional<BackupSnapshot> snapshot = Optional.empty();

    /** What a test does between the backup's start and its first file. */
    interface Meanwhile {
        void run() throws SQLException, IOException;
    }

    /** Takes each record of the WAL before anybody else does. */
    interface Records {
        void onRecord(WalRecord record);
    }

    private final EmbeddedPostgres server;
    private final int major;
    private final Path folder;
    private final boolean checksums;
    final CollectedRows target = new CollectedRows();
    BaselineLoader.Outcome outcome = new BaselineLoader.Outcome(Map.of(), Map.of());

    long endLsn;

    /** B. */
    private volatile long startLsn;

    /** What a test does when the last file has come. */
    BeforeFinish beforeFinish = _ -> {};

    interface BeforeFinish {
        void before(BaselineLoader loader) throws SQLException;
    }

    /** Where the loader keeps its files. */
    Path directory() {
        return folder.resolve("load");
    }

    /** Blocks that came by their image. */
    long images;

    private volatile boolean stopping;

    LiveBackup(EmbeddedPostgres server, int major, Path folder, boolean checksums) {
        this.server = server;
        this.major = major;
        this.folder = folder;
        this.checksums = checksums;
    }

    static Connection open(EmbeddedPostgres server) throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    static String ask(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    static List<RelationDescriptor> relations(Connection session, char kind) throws SQLException {
        return new CatalogReader()
                .readAll(session).stream().filter(each -> each.kind() == kind).toList();
    }

    /**
     * Loads.
     *
     * @param interposed gets the loader's sink and returns what the backup's files go to
     */
    void load(UnaryOperator<HeapFileSink> interposed, Meanwhile meanwhile) throws Exception {
        List<RelationDescriptor> tables;
        List<RelationDescriptor> toast;
        try (Connection session = open(server)) {
            tables = relations(session, 'r');
            toast = relations(session, 't');
        }
        Path directory = Files.createDirectories(directory());
        CompletableFuture<BaselineLoader> loading = new CompletableFuture<>();
        BackupListener listener =
                new BackupListener() {
                    @Override
                    public void started(long startLsn, int timeline) throws InterruptedException {
                        try {
                            loading.complete(begin(startLsn, directory, tables, toast));
                            meanwhile.run();
                        } catch (SQLException | IOException e) {
                            throw new IllegalStateException(e);
                        }
                    }

                    @Override
                    public void progress(BackupProgress progress) {}
                };
        ConnectionSettings settings = ConnectionSettings.parse(server.url("postgres"));
        try (ReplicationConnection connection = ReplicationConnection.connect(settings)) {
            BackupOutcome received =
                    BaseBackupRun.run(
                            connection,
                            new BaseBackupRun.Options(
                                    folder.resolve("shadow"), IDENTIFIER, Set.of(), "test", 0),
                            interposed.apply(new Late(loading)),
                            listener);
            endLsn = received.endLsn();
            beforeFinish.before(loading.join());
            outcome = loading.join().finish(received.endLsn());
            images = loading.join().images();
        } finally {
            stopping = true;
            if (loading.isDone()) {
                loading.join().close();
            }
        }
    }

    private BaselineLoader begin(
            long startLsn,
            Path directory,
            List<RelationDescriptor> tables,
            List<RelationDescriptor> toast)
            throws SQLException, IOException, InterruptedException {
        this.startLsn = startLsn;
        BackupTransactions open = new BackupTransactions(major, startLsn);
        TouchedBlocks touched = new TouchedBlocks(major, open);
        WalGate gate = new WalGate();
        BaselineLoader loader =
                loader(
                        directory,
                        tables,
                        toast,
                        new BaselineLoader.WalSinceStart(
                                touched,
                                gate,
                                open,
                                session -> Lsn.parse(ask(session, "SELECT pg_switch_wal()"))));
        Thread.ofPlatform()
                .daemon()
                .start(() ->
                        readWal(
                                startLsn,
                                record -> {
                                    open.onRecord(record);
                                    touched.onRecord(record);
                                },
                                gate));
        snapshot = Optional.of(open.awaitSnapshot());
        loader.start(snapshot());
        return loader;
    }

    BackupSnapshot snapshot() {
        return snapshot.orElseThrow();
    }

    /** Loads files that are here, with no WAL. */
    void loadFiles(Map<RelationLocator, byte[]> files, BackupSnapshot known) throws Exception {
        List<RelationDescriptor> tables;
        List<RelationDescriptor> toast;
        try (Connection session = open(server)) {
            tables = relations(session, 'r');
            toast = relations(session, 't');
        }
        startLsn = known.startLsn();
        WalGate gate = new WalGate();
        gate.readTo(Long.MAX_VALUE);
        try (BaselineLoader loader =
                loader(
                        Files.createDirectories(folder.resolve("load")),
                        tables,
                        toast,
                        new BaselineLoader.WalSinceStart(
                                new TouchedBlocks(major, NOTHING_KNOWN),
                                gate,
                                NOTHING_KNOWN,
                                _ -> Long.MAX_VALUE))) {
            loader.start(known);
            for (Map.Entry<RelationLocator, byte[]> file : files.entrySet()) {
                loader.begin(file.getKey(), 0, file.getValue().length);
                loader.data(file.getValue(), 0, file.getValue().length);
                loader.end();
            }
            outcome = loader.finish(Long.MAX_VALUE);
        }
    }

    private BaselineLoader loader(
            Path directory,
            List<RelationDescriptor> tables,
            List<RelationDescriptor> toast,
            BaselineLoader.WalSinceStart wal) {
        return new BaselineLoader(
                new BaselineLoader.Options(
                        directory, IDENTIFIER, 5, startLsn, 0, 2, 1 << 20, checksums),
                tables,
                toast,
                target,
                () -> open(server),
                wal);
    }

    /** From the segment of {@code startLsn} on, until the load is over. */
    private void readWal(long startLsn, Records records, WalGate gate) {
        try (Connection session = open(server)) {
            WalStream stream = stream(server, major, startLsn, records);
            while (!stopping) {
                readOn(server, session, stream);
                gate.readTo(stream.readTo());
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } catch (SQLException | IOException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static WalStream stream(EmbeddedPostgres server, int major, long startLsn, Records records)
            throws IOException {
        byte[] control = Files.readAllBytes(server.dataDirectory().resolve("global/pg_control"));
        WalPages pages = new WalPages(major, LittleEndian.getLong(control, 0), 1, 16 << 20);
        return new WalStream(
                StreamSnapshot.initial(pages, startLsn, List.of()),
                startLsn,
                (lsn, bytes, offset, length) -> {},
                (record, decision, boundary) -> records.onRecord(record),
                (lsn, segment, length, next) -> {});
    }

    /** Up to the flush position. */
    static void readOn(EmbeddedPostgres server, Connection session, WalStream stream)
            throws SQLException, IOException, InterruptedException {
        long end = Lsn.parse(ask(session, "SELECT pg_current_wal_flush_lsn()"));
        int segmentSize = 16 << 20;
        while (stream.nextLsn() < end) {
            long from = stream.nextLsn();
            int offset = (int) (from % segmentSize);
            int count = (int) Math.min(end - from, segmentSize - offset);
            byte[] segment =
                    Files.readAllBytes(
                            server.dataDirectory()
                                    .resolve("pg_wal")
                                    .resolve(Lsn.segmentFileName(1, from, segmentSize)));
            stream.push(from, segment, offset, count);
        }
    }

    /** The loader exists when the backup has begun. */
    private record Late(CompletableFuture<BaselineLoader> loader) implements HeapFileSink {
        @Override
        public boolean wants(RelationLocator locator) {
            return loader.join().wants(locator);
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize)
                throws InterruptedException {
            loader.join().begin(locator, segmentNumber, fileSize);
        }

        @Override
        public void data(byte[] bytes, int offset, int length) throws InterruptedException {
            loader.join().data(bytes, offset, length);
        }

        @Override
        public void end() throws InterruptedException {
            loader.join().end();
        }
    }

    /** The bytes of a relation's main fork. */
    static byte[] file(EmbeddedPostgres server, Connection session, RelationDescriptor relation)
            throws SQLException, IOException {
        String path = ask(session, "SELECT pg_relation_filepath(" + relation.oid() + ")");
        return Files.readAllBytes(server.dataDirectory().resolve(path));
    }
}
