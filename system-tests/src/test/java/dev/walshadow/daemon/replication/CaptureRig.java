package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.preflight.DatabaseSelection;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.source.CatalogBoundary;
import dev.walshadow.source.Decision;
import dev.walshadow.source.replication.ConnectionSettings;
import dev.walshadow.testkit.shadow.ShadowFiles;
import dev.walshadow.testkit.shadow.ShadowRig;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A source, its shadow, and the daemon's own capture into a descriptor log at every boundary. */
final class CaptureRig implements AutoCloseable {
    static final String DATABASE = "postgres";

    /** Work at a boundary, after it was captured. */
    interface AfterHold {
        void captured(CatalogBoundary boundary) throws InterruptedException;
    }

    private final Path root;
    private final EmbeddedPostgres source;
    private final ShadowRig rig;
    private final DescriptorLog log;
    private final CatalogReader reader = new CatalogReader();
    private volatile @Nullable CatalogCapture capture;
    private volatile AfterHold afterHold = boundary -> {};

    CaptureRig(int major) throws IOException {
        root = UnprivilegedUser.temporaryDirectory("walshadow-capture");
        source =
                EmbeddedPostgres.at(root.resolve("source"))
                        .version(major)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .setting("max_prepared_transactions", "10")
                        .setting("allow_in_place_tablespaces", "on")
                        .start();
        rig = new ShadowRig(source, root.resolve("mirror"));
        log = DescriptorLog.open(root.resolve("log"), 1);
        rig.onRecord(this::onRecord);
    }

    /** Attaches with what the source holds now. */
    void start() throws InterruptedException, SQLException {
        rig.bootstrap();
        rig.awaitStreamed();
        CatalogCapture made =
                new CatalogCapture(log, rig.sessions(), databases(), (_, _) -> {}, (_, _) -> {});
        rig.parked(lsn -> {
            made.captureAll(lsn, (_, _) -> {});
            capture = made;
            return lsn;
        });
    }

    private FollowedDatabases databases() throws SQLException {
        try (Connection session = rig.connect(DATABASE)) {
            return new FollowedDatabases(
                    new DatabaseSelection(List.of(), DATABASE),
                    new SourceDatabase(ConnectionSettings.parse(source.url(DATABASE))),
                    reader.databases(session));
        }
    }

    /** On the pump. */
    private void onRecord(WalRecord record, Decision decision, @Nullable CatalogBoundary boundary)
            throws InterruptedException {
        CatalogCapture current = capture;
        if (boundary != null && current != null) {
            current.hold(boundary);
            afterHold.captured(boundary);
        }
    }

    void afterHold(AfterHold work) {
        afterHold = work;
    }

    ShadowRig shadow() {
        return rig;
    }

    String url() {
        return source.jdbcUrl(DATABASE);
    }

    /** How often the pump was parked, by everything that the source has done so far. */
    long holds() throws SQLException, InterruptedException {
        rig.awaitStreamed();
        CatalogCapture current = capture;
        return current == null ? 0 : rig.parked(lsn -> current.holds());
    }

    /** What the log says now. */
    List<RelationDescriptor> known() throws SQLException, InterruptedException {
        rig.awaitStreamed();
        return sorted(List.copyOf(log.active(Long.MAX_VALUE)));
    }

    /** What the source says now. */
    List<RelationDescriptor> actual() throws SQLException {
        try (Connection session = rig.connect(DATABASE)) {
            return sorted(reader.readAll(session));
        }
    }

    private static List<RelationDescriptor> sorted(List<RelationDescriptor> relations) {
        return relations.stream().sorted(Comparator.comparingInt(RelationDescriptor::oid)).toList();
    }

    /** The statements one by one in one session, whose end the source has noticed on return. */
    void execute(String database, String... statements) throws SQLException {
        String process;
        try (Connection session = rig.connect(database);
                Statement statement = session.createStatement()) {
            process = value(statement, "SELECT pg_backend_pid()");
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
        String running = "SELECT count(*) FROM pg_stat_activity WHERE pid = " + process;
        try (Connection session = rig.connect(DATABASE);
                Statement statement = session.createStatement()) {
            String count = "1";
            while (!count.equals("0")) {
                count = value(statement, running);
            }
        }
    }

    private static String value(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @Override
    public void close() {
        rig.close();
        source.close();
        log.close();
        ShadowFiles.remove(root);
    }
}
