package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.FileTree;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A standby of a whole copy, fed with unfiltered WAL, and its source. */
abstract class ShadowClusterRig {
    private static final Map<Integer, EmbeddedPostgres> SOURCES = new HashMap<>();
    static final Duration STALL = Duration.ofSeconds(60);

    final int major;
    final Path root;
    final CatalogReader reader = new CatalogReader();
    final EmbeddedPostgres source;
    final Map<String, String> settings = new HashMap<>();
    WalSender sender;
    RawWalFeed feed;
    ShadowCluster cluster;
    ShadowSessions sessions;

    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak") ? Stream.of(15, 16, 17, 18) : Stream.of(15, 18);
    }

    ShadowClusterRig(int major) throws Exception {
        this.major = major;
        source = SOURCES.computeIfAbsent(major, ShadowClusterRig::startSource);
        root = UnprivilegedUser.temporaryDirectory("walshadow-cluster");
        FileTree.copy(
                source.dataDirectory().resolveSibling("copy"),
                root.resolve("shadow"),
                file -> true);
        Files.createDirectory(root.resolve("archive it's 100% ok"));
        sender = openSender();
        feed = openFeed();
        cluster = openCluster();
        sessions = openSessions();
    }

    /** A source whose WAL is kept from the first segment on, and a copy from before its start. */
    private static EmbeddedPostgres startSource(int major) {
        Path directory = UnprivilegedUser.temporaryDirectory("walshadow-source");
        EmbeddedPostgres server =
                EmbeddedPostgres.at(directory)
                        .version(major)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .setting("wal_keep_size", "1GB")
                        .setting("allow_system_table_mods", "on")
                        .start();
        server.stop();
        try {
            Path copy = server.dataDirectory().resolveSibling("copy");
            FileTree.copy(server.dataDirectory(), copy, file -> true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.start();
        return server;
    }

    @AfterAll
    static void stopSources() {
        SOURCES.values().forEach(EmbeddedPostgres::close);
        SOURCES.clear();
    }

    @BeforeEach
    void start() throws InterruptedException {
        cluster.start();
    }

    @AfterEach
    void stop() {
        cluster.close();
        sender.close();
    }

    WalSender openSender() throws IOException {
        Path run = RuntimeDirectory.prepare(root.resolve("run"), ServerUser.of(null));
        return new WalSender(
                new WalSender.Options(
                        systemIdentifier(),
                        1,
                        RawWalFeed.SEGMENT,
                        RawWalFeed.SEGMENT,
                        root.resolve("archive it's 100% ok"),
                        run,
                        5433,
                        major + ".0"));
    }

    RawWalFeed openFeed() {
        return new RawWalFeed(
                source.dataDirectory().resolve("pg_wal"),
                root.resolve("archive it's 100% ok"),
                sender);
    }

    ShadowCluster openCluster() {
        return new ShadowCluster(
                new ShadowCluster.Options(
                        root.resolve("shadow"),
                        root.resolve("run"),
                        source.binDirectory(),
                        root.resolve("archive it's 100% ok"),
                        sender.connectionInfo(),
                        5432,
                        null,
                        Set.of(),
                        settings));
    }

    ShadowSessions openSessions() {
        return new ShadowSessions(
                cluster,
                sender,
                () -> {
                    try (Connection session = connect("postgres")) {
                        return reader.superusers(session);
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    long systemIdentifier() {
        try (Connection session = connect("postgres")) {
            return Long.parseLong(
                    text(session, "SELECT system_identifier FROM pg_control_system()"));
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(
                source.jdbcUrl(database).replace("user=postgres", "user=" + role));
    }

    String role = "postgres";

    static String text(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    void execute(String database, String... statements) throws SQLException {
        try (Connection session = connect(database);
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    /** Publishes all that the source has; returns the position. */
    long publishAll() throws SQLException, IOException {
        long lsn;
        try (Connection session = connect("postgres")) {
            text(session, "SELECT pg_logical_emit_message(false, 'walshadow', 'x')::text");
            lsn = Lsn.parse(text(session, "SELECT pg_current_wal_insert_lsn()::text"));
            text(session, "SELECT txid_current()");
            execute("postgres", "CHECKPOINT");
        }
        feed.publishUpTo(lsn);
        return lsn;
    }

    void assertSameCatalogs(String database, long lsn) throws Exception {
        List<RelationDescriptor> expected;
        List<String> differences;
        try (Connection session = connect(database)) {
            expected = reader.readAll(session);
            differences =
                    sessions.read(
                            lsn,
                            database,
                            STALL,
                            shadow -> CatalogComparison.differences(session, shadow, 5));
        }
        assertThat(differences).isEmpty();
        assertThat(sessions.read(lsn, database, STALL, reader::readAll)).isEqualTo(expected);
    }
}
