package dev.walshadow.testkit.shadow;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BackupOutcome;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.shadow.RewrittenCatalog;
import dev.walshadow.shadow.RewrittenCatalogScan;
import dev.walshadow.shadow.RuntimeDirectory;
import dev.walshadow.shadow.ServerUser;
import dev.walshadow.shadow.ShadowCluster;
import dev.walshadow.shadow.ShadowSessions;
import dev.walshadow.shadow.WalSender;
import dev.walshadow.source.CatalogSeed;
import dev.walshadow.source.RecordSink;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.StreamSnapshot;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The path from a source to its shadow and nothing else: base backup, live stream, filter, segment
 * archive, WAL sender, shadow. Each part can be killed and started again. For tests of what the
 * shadow knows; rows are not decoded.
 */
public final class ShadowRig implements AutoCloseable {
    public static final String SLOT = "walshadow_rig";
    private static final Duration STALL = Duration.ofSeconds(60);
    private static final int SENDER_PORT = 5433;
    private static final int SHADOW_PORT = 5432;

    private final EmbeddedPostgres source;
    private final boolean durable;
    private final Path root;
    private final CatalogReader reader = new CatalogReader();
    private final WalPages pages;
    private final SegmentArchive archive;
    private final Set<RelationLocator> keptFiles = new HashSet<>();
    private RecordSink records = (record, decision, boundary) -> {};
    private @Nullable StreamPump pump;
    private @Nullable WalSender sender;
    private @Nullable ShadowCluster cluster;
    private volatile @Nullable ShadowSessions sessions;

    /**
     * @param source with {@code wal_level = logical}
     * @param root of the shadow's files, an empty directory that the server's user can enter
     */
    public ShadowRig(EmbeddedPostgres source, Path root) throws IOException {
        this(source, root, false);
    }

    /**
     * @param durable the shadow's server writes as durably as in production
     */
    public ShadowRig(EmbeddedPostgres source, Path root, boolean durable) throws IOException {
        this.durable = durable;
        this.source = source;
        this.root = root;
        Files.createDirectories(archiveDirectory());
        try (ReplicationConnection connection = replication()) {
            connection.createPhysicalSlot(SLOT);
            pages =
                    new WalPages(
                            source.version(),
                            connection.identifySystem().systemIdentifier(),
                            connection.identifySystem().timeline(),
                            connection.walSegmentSize());
        }
        archive = new SegmentArchive(archiveDirectory(), pages);
    }

    /** What sees every record, on the pump's thread; set before {@link #bootstrap}. */
    public void onRecord(RecordSink sink) {
        records = sink;
    }

    /** Lays the shadow from a base backup and starts the stream at the backup's start. */
    public void bootstrap() throws InterruptedException {
        try (ReplicationConnection connection = replication()) {
            BackupOutcome outcome =
                    BaseBackupRun.run(
                            connection,
                            new BaseBackupRun.Options(
                                    dataDirectory(),
                                    pages.systemIdentifier(),
                                    keptFiles,
                                    "walshadow rig",
                                    0),
                            new NoHeapFiles(),
                            new Listener());
            ShadowMarkers.complete(
                    dataDirectory(),
                    new ShadowMarkers.Completion(
                            pages.systemIdentifier(),
                            outcome.timeline(),
                            outcome.startLsn(),
                            outcome.endLsn()));
        }
        startShadow();
    }

    private final class Listener implements BackupListener {
        @Override
        public void started(long startLsn, int timeline) throws InterruptedException {
            Set<CatalogSeed> seeds = new HashSet<>();
            try {
                for (RewrittenCatalog catalog :
                        RewrittenCatalogScan.run(ShadowRig.this::connect, "postgres", STALL)) {
                    seeds.add(new CatalogSeed(catalog.locator(), catalog.relationOid()));
                    keptFiles.add(catalog.locator());
                }
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
            StreamSnapshot first = StreamSnapshot.initial(pages, startLsn, seeds, true);
            archive.begin(first);
            startStream(first);
        }

        @Override
        public void progress(BackupProgress progress) {}
    }

    /** No user data is wanted. */
    private static final class NoHeapFiles implements HeapFileSink {
        @Override
        public boolean wants(RelationLocator locator) {
            return false;
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize) {
            throw new IllegalStateException("not wanted");
        }

        @Override
        public void data(byte[] bytes, int offset, int length) {}

        @Override
        public void end() {}
    }

    private void startStream(StreamSnapshot from) throws InterruptedException {
        Path run = RuntimeDirectory.prepare(runDirectory(), ServerUser.of(null));
        WalSender opened =
                new WalSender(
                        new WalSender.Options(
                                pages.systemIdentifier(),
                                pages.timeline(),
                                pages.segmentSize(),
                                from.segmentStart(),
                                archiveDirectory(),
                                run,
                                SENDER_PORT,
                                source.version() + ".0"));
        sender = opened;
        pump =
                new StreamPump(
                        ConnectionSettings.parse(source.url("postgres")),
                        SLOT,
                        from,
                        archive,
                        opened,
                        this::invalidates,
                        records);
    }

    private void invalidates(long messages) {
        ShadowSessions current = sessions;
        if (current != null) {
            current.invalidates(messages);
        }
    }

    /** Starts the shadow's server over the laid files. */
    public void startShadow() throws InterruptedException {
        ShadowCluster started =
                new ShadowCluster(
                        new ShadowCluster.Options(
                                dataDirectory(),
                                runDirectory(),
                                source.binDirectory(),
                                archiveDirectory(),
                                sender().connectionInfo(),
                                SHADOW_PORT,
                                null,
                                Set.of(),
                                durable ? Map.of() : Map.of("fsync", "off")));
        cluster = started;
        sessions = new ShadowSessions(started, sender(), this::superusers);
        started.start();
    }

    /** Ends stream and WAL sender, as a killed daemon would; the shadow goes on running. */
    public void stopStream() {
        pump().close();
        sessions().close();
        sender().close();
    }

    /** Starts both again where the archive says. */
    public void resumeStream() throws InterruptedException {
        startStream(archive.resumeAt(pump().resumeFloor()));
        sessions = new ShadowSessions(cluster(), sender(), this::superusers);
    }

    /** Waits until the pump has handed on everything that the source had at this call. */
    public void awaitStreamed() throws SQLException, InterruptedException {
        long lsn;
        try (Connection session = connect("postgres");
                Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT pg_logical_emit_message(true, 'rig', '')")) {
            row.next();
            lsn = Lsn.parse(row.getString(1));
        }
        pump().awaitRecordsUpTo(lsn);
    }

    /** Reads the shadow while the pump is parked and the shadow has caught up with it (I14). */
    public <T> T read(String database, ShadowSessions.Reading<T> reading)
            throws InterruptedException {
        return pump().parked(lsn -> sessions().read(lsn, database, STALL, reading));
    }

    /** Runs work on the pump's thread, between two pushes. */
    public <T> T parked(StreamPump.Parked<T> work) throws InterruptedException {
        return pump().parked(work);
    }

    /** For a {@link RecordSink}: on the pump's thread, after everything is published up to lsn. */
    public <T> T readAt(long lsn, String database, ShadowSessions.Reading<T> reading)
            throws InterruptedException {
        return sessions().read(lsn, database, STALL, reading);
    }

    public List<DatabaseInfo> databases() throws SQLException {
        List<DatabaseInfo> open = new ArrayList<>();
        try (Connection session = connect("postgres")) {
            for (DatabaseInfo database : reader.databases(session)) {
                if (database.allowsConnections()) {
                    open.add(database);
                }
            }
        }
        return open;
    }

    public Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(source.jdbcUrl(database));
    }

    private List<String> superusers() {
        try (Connection session = connect("postgres")) {
            return reader.superusers(session);
        } catch (SQLException e) {
            throw new IllegalStateException("the source does not tell its superusers", e);
        }
    }

    private ReplicationConnection replication() {
        return ReplicationConnection.connect(ConnectionSettings.parse(source.url("postgres")));
    }

    public Path dataDirectory() {
        return root.resolve("shadow");
    }

    public Path archiveDirectory() {
        return root.resolve("archive");
    }

    private Path runDirectory() {
        return root.resolve("run");
    }

    public StreamPump pump() {
        return present(pump);
    }

    public WalSender sender() {
        return present(sender);
    }

    public ShadowCluster cluster() {
        return present(cluster);
    }

    public ShadowSessions sessions() {
        return present(sessions);
    }

    private static <T> T present(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("bootstrap() comes first");
        }
        return part;
    }

    @Override
    public void close() {
        if (pump != null) {
            pump.close();
        }
        if (sessions != null) {
            sessions.close();
        }
        if (cluster != null) {
            cluster.close();
        }
        if (sender != null) {
            sender.close();
        }
        try (ReplicationConnection connection = replication()) {
            connection.dropSlot(SLOT);
        } catch (WalshadowException e) {
            // the source may be gone already, and its slot with it
            return;
        }
    }
}
