package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** A standby of a whole copy, fed with unfiltered WAL: lifecycle and reads, without the filter. */
@Timeout(180)
@ParameterizedClass
@MethodSource("majors")
class ShadowClusterTest {
    private static final Map<Integer, EmbeddedPostgres> SOURCES = new HashMap<>();
    private static final Duration STALL = Duration.ofSeconds(60);

    private final int major;
    private final Path root;
    private final CatalogReader reader = new CatalogReader();
    private final EmbeddedPostgres source;
    private final Map<String, String> settings = new HashMap<>();
    private WalSender sender;
    private RawWalFeed feed;
    private ShadowCluster cluster;
    private ShadowSessions sessions;

    static Stream<Integer> majors() {
        return Boolean.getBoolean("walshadow.soak") ? Stream.of(15, 16, 17, 18) : Stream.of(15, 18);
    }

    ShadowClusterTest(int major) throws Exception {
        this.major = major;
        source = SOURCES.computeIfAbsent(major, ShadowClusterTest::startSource);
        root = UnprivilegedUser.temporaryDirectory("walshadow-cluster");
        copy(source.dataDirectory().resolveSibling("copy"), root.resolve("shadow"));
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
            copy(server.dataDirectory(), server.dataDirectory().resolveSibling("copy"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.start();
        return server;
    }

    @AfterAll
    static void stopSources() {
        SOURCES.values().forEach(EmbeddedPostgres::close);
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

    private WalSender openSender() throws IOException {
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

    private RawWalFeed openFeed() {
        return new RawWalFeed(
                source.dataDirectory().resolve("pg_wal"),
                root.resolve("archive it's 100% ok"),
                sender);
    }

    private ShadowCluster openCluster() {
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

    private ShadowSessions openSessions() {
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

    private long systemIdentifier() {
        try (Connection session = connect("postgres")) {
            return Long.parseLong(
                    text(session, "SELECT system_identifier FROM pg_control_system()"));
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(
                source.jdbcUrl(database).replace("user=postgres", "user=" + role));
    }

    private String role = "postgres";

    private static String text(Connection session, String sql) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private void execute(String database, String... statements) throws SQLException {
        try (Connection session = connect(database);
                Statement statement = session.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> paths = Files.walk(from)) {
            for (Path path : (Iterable<Path>) paths::iterator) {
                Files.copy(path, to.resolve(from.relativize(path).toString()));
            }
        }
    }

    /** Publishes all that the source has; returns the position. */
    private long publishAll() throws SQLException, IOException {
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

    private void assertSameCatalogs(String database, long lsn) throws Exception {
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

    @Test
    void followsTheSourceThroughRestartsOfEverything() throws Exception {
        execute(
                "postgres",
                "CREATE TABLE first (id int PRIMARY KEY, t text)",
                "CREATE DATABASE other",
                "INSERT INTO first SELECT i, repeat('x', 1000) FROM generate_series(1, 30000) i");
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().acceptingConnections()).isTrue();
        assertThat(cluster.health().restarts()).isZero();
        assertThat(cluster.majorVersion()).isEqualTo(major);

        long pid = cluster.health().pid();
        cluster.crash();
        execute("postgres", "ALTER TABLE first ADD COLUMN more numeric DEFAULT 1.50");
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().restarts()).isPositive();
        assertThat(cluster.health().pid()).isNotEqualTo(pid);
        assertThat(cluster.health().lastFailure()).contains("137");

        cluster.stop();
        assertThat(cluster.health().running()).isFalse();
        sender.close();
        execute("other", "CREATE TABLE second (id int)");
        sender = openSender();
        feed = openFeed();
        cluster = openCluster();
        sessions = openSessions();
        cluster.start();
        assertSameCatalogs("other", publishAll());
        long redo = cluster.restartRedoLsn();
        assertThat(redo).isBetween((long) RawWalFeed.SEGMENT, sender.appliedLsn());
        assertThat(cluster.oldestNeededLsn())
                .isBetween(redo - RawWalFeed.SEGMENT + 1, redo)
                .matches(lsn -> lsn % RawWalFeed.SEGMENT == 0);
    }

    @Test
    void keepsOneSessionUntilItCouldReadDuringReplay() throws Exception {
        String first = backend("postgres", publishAll());
        execute("postgres", "CREATE TABLE kept" + System.nanoTime() + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        assertThat(backend("postgres", publishAll())).isEqualTo(first);
        sessions.invalidates(600);
        assertThat(backend("postgres", publishAll())).isEqualTo(first);
        sessions.invalidates(600);
        assertThat(alive(first)).isTrue();
        sessions.invalidates(600);
        assertThat(alive(first)).isFalse();
        String second = backend("postgres", publishAll());
        assertThat(second).isNotEqualTo(first);

        cluster.crash();
        String third = backend("postgres", publishAll());
        assertThat(third).isNotEqualTo(second);
        assertThat(alive(second)).isFalse();
        SystemCommands.signal("TERM", Long.parseLong(third));
        String fourth = backend("postgres", publishAll());
        assertThat(fourth).isNotEqualTo(third);
        assertThatThrownBy(() ->
                        sessions.read(
                                sender.publishedLsn(),
                                "postgres",
                                STALL,
                                session -> {
                                    throw new IllegalStateException("of the caller");
                                }))
                .hasMessage("of the caller");
        assertThat(alive(fourth)).isFalse();
        String last = backend("postgres", publishAll());
        sessions.close();
        assertThat(alive(last)).isFalse();
    }

    @Test
    void readsAPromotedCopyWhileManySubtransactionsKeepTheShadowFromAnswering() throws Exception {
        String table = "behind" + System.nanoTime();
        execute("postgres", "CREATE TABLE " + table + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        try (Connection open = connect("postgres");
                Statement statement = open.createStatement()) {
            statement.execute("BEGIN");
            for (int i = 0; i < 70; i++) {
                statement.execute("SAVEPOINT s" + i);
                statement.execute("CREATE TABLE " + table + "_" + i + " (id int)");
            }
            execute("postgres", "CHECKPOINT");
            sender.awaitApplied(publishAll(), STALL);
            cluster.stop();
            cluster.start();
            sender.awaitApplied(sender.publishedLsn(), STALL);
            long pid = cluster.health().pid();
            long connection = sender.connectionNumber();
            for (int round = 0; round < 3; round++) {
                execute("postgres", "ALTER TABLE " + table + " ADD COLUMN c" + round + " int");
                assertSameCatalogs("postgres", publishAll());
            }
            assertThat(cluster.health().acceptingConnections()).isFalse();
            assertThat(cluster.health().pid()).isEqualTo(pid);
            assertThat(sender.connectionNumber()).isEqualTo(connection);
            statement.execute("COMMIT");
        }
        // its checkpoint tells the shadow which transactions run now
        publishAll();
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().acceptingConnections()).isTrue();
        assertThat(root.resolve("shadow-promoted")).doesNotExist();
    }

    private String backend(String database, long lsn) throws InterruptedException {
        return sessions.read(
                lsn, database, STALL, session -> text(session, "SELECT pg_backend_pid()"));
    }

    private static boolean alive(String pid) {
        return ProcessHandle.of(Long.parseLong(pid)).isPresent();
    }

    @Test
    void followsDatabasesThatAreRenamedAndDroppedUnderIdleSessions() throws Exception {
        execute("postgres", "CREATE DATABASE one", "CREATE DATABASE two");
        execute("one", "CREATE TABLE in_one (id int)");
        execute("two", "CREATE TABLE in_two (id int)");
        assertThat(tables("one", publishAll())).containsExactly("in_one");
        execute(
                "postgres",
                "ALTER DATABASE one RENAME TO three",
                "ALTER DATABASE two RENAME TO one");
        assertThat(tables("one", publishAll())).containsExactly("in_two");
        assertThat(tables("three", publishAll())).containsExactly("in_one");
        execute("postgres", "DROP DATABASE one", "DROP DATABASE three", "CREATE DATABASE one");
        execute("one", "CREATE TABLE anew (id int)");
        assertThat(tables("one", publishAll())).containsExactly("anew");
        execute("postgres", "DROP DATABASE one");
        assertSameCatalogs("postgres", publishAll());
    }

    private List<String> tables(String database, long lsn) throws InterruptedException {
        return sessions.read(lsn, database, STALL, reader::readAll).stream()
                .map(relation -> relation.name().name())
                .toList();
    }

    @Test
    void restartsWhenTheWalRaisesASetting() throws Exception {
        assertSameCatalogs("postgres", publishAll());
        source.setting("max_connections", "321");
        source.setting("max_locks_per_transaction", "77");
        source.restart();
        execute("postgres", "CREATE TABLE later" + System.nanoTime() + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        String setting =
                sessions.read(
                        sender.publishedLsn(),
                        "postgres",
                        STALL,
                        session -> text(session, "SHOW max_connections"));
        assertThat(setting).isEqualTo("321");
        assertThat(cluster.health().restarts()).isPositive();
    }

    @Test
    void readsWhateverTheSourceHasSetForItsUsers() throws Exception {
        execute("postgres", "CREATE ROLE boss SUPERUSER LOGIN", "CREATE DATABASE hostile");
        execute(
                "hostile",
                "CREATE TABLE b (id int)",
                "ALTER TABLE b ADD COLUMN raw bytea DEFAULT '\\x00ff'");
        if (major >= 17) {
            execute(
                    "hostile",
                    "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
                            + " $$ BEGIN RAISE EXCEPTION 'no entry'; END $$",
                    "CREATE EVENT TRIGGER gate ON login EXECUTE FUNCTION refuse()",
                    "ALTER EVENT TRIGGER gate ENABLE ALWAYS");
        }
        execute(
                "postgres",
                "ALTER DATABASE hostile SET session_preload_libraries = 'no_such_library'",
                "ALTER DATABASE hostile SET search_path = 'nowhere'",
                "ALTER DATABASE hostile SET bytea_output = 'escape'",
                "ALTER ROLE boss IN DATABASE hostile SET role = 'pg_monitor'",
                "ALTER ROLE postgres IN DATABASE hostile SET statement_timeout = '1ms'");
        assertThatThrownBy(() -> connect("hostile")).isInstanceOf(SQLException.class);
        assertHostileIsRead(publishAll());
        role = "boss";
        execute("postgres", "ALTER ROLE postgres RENAME TO admin", "ALTER ROLE admin NOLOGIN");
        assertHostileIsRead(publishAll());
        execute(
                "postgres",
                "ALTER ROLE admin RENAME TO postgres",
                "ALTER ROLE postgres LOGIN",
                "DROP DATABASE hostile");
        role = "postgres";
        execute("postgres", "DROP ROLE boss");
        assertSameCatalogs("postgres", publishAll());
    }

    private void assertHostileIsRead(long lsn) throws Exception {
        assertThat(sessions.read(lsn, "hostile", STALL, reader::readAll))
                .filteredOn(relation -> relation.kind() == 'r')
                .singleElement()
                .satisfies(relation ->
                        assertThat(relation.attributes().get(1).missingValue())
                                .isEqualTo("\\x00ff"));
    }

    @Test
    void standsInForALocaleThatThisHostLacks() throws Exception {
        execute(
                "postgres",
                "CREATE DATABASE far",
                "UPDATE pg_database SET datcollate = 'xx_YY.UTF-8', datctype = 'xx_YY.UTF-8'"
                        + " WHERE datname = 'far'");
        assertThat(sessions.read(publishAll(), "far", STALL, reader::namespaces))
                .contains(new NamespaceInfo(11, "pg_catalog"));
        assertThat(cluster.health().restarts()).isPositive();
    }

    @Test
    void stopsTheServerThatAKilledDaemonLeft() throws Exception {
        assertSameCatalogs("postgres", publishAll());
        cluster.stop();
        ServerUser user = ServerUser.of(null);
        ServerProcess orphan =
                ServerProcess.start(
                        source.binDirectory(),
                        root.resolve("shadow"),
                        user,
                        new ServerLog(root.resolve("run/postgres.log")),
                        null);
        while (!orphan.acceptsConnections()) {
            assertThat(orphan.awaitEnd(10)).isFalse();
        }
        cluster.start();
        assertThat(orphan.alive()).isFalse();
        execute("postgres", "CREATE TABLE later" + System.nanoTime() + " (id int)");
        assertSameCatalogs("postgres", publishAll());
        assertThat(cluster.health().restarts()).isZero();
    }

    @Test
    void saysWhyItDoesNotStart() throws Exception {
        cluster.stop();
        settings.put("shared_buffers", "nonsense");
        cluster = openCluster();
        cluster.start();
        assertThatThrownBy(() -> cluster.awaitAcceptingConnections(STALL))
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("invalid value for parameter \"shared_buffers\"");
        cluster.stop();
        Files.writeString(root.resolve("shadow/PG_VERSION"), "14\n");
        assertThatThrownBy(() -> openCluster().start())
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("PostgreSQL 14");
        Files.delete(root.resolve("shadow/PG_VERSION"));
        assertThatThrownBy(() -> openCluster().start())
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("no PG_VERSION");
    }
}
