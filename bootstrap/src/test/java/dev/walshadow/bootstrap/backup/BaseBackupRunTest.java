package dev.walshadow.bootstrap.backup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.shadow.CatalogReader;
import dev.walshadow.shadow.RewrittenCatalog;
import dev.walshadow.shadow.ShadowCluster;
import dev.walshadow.source.replication.ConnectionSettings;
import dev.walshadow.source.replication.ReplicationConnection;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
final class BaseBackupRunTest {
    private static final String CANARY = "CANARY-7f3a";

    private static final List<String> CATALOGS =
            List.of(
                    "pg_class",
                    "pg_attribute",
                    "pg_type",
                    "pg_index",
                    "pg_namespace",
                    "pg_proc",
                    "pg_database",
                    "pg_enum",
                    "pg_authid",
                    "pg_tablespace");

    /** Each catalog's content in one line. */
    private static String content() {
        return CATALOGS.stream()
                .map(name ->
                        "select '"
                                + name
                                + "', count(*), md5(string_agg(c::text, chr(10) order by"
                                + " c::text)) from "
                                + name
                                + " c")
                .collect(java.util.stream.Collectors.joining(" union all "));
    }

    @TempDir Path folder;

    private static EmbeddedPostgres start(int major, Path directory) {
        return EmbeddedPostgres.at(directory)
                .version(major)
                .setting("fsync", "off")
                .setting("autovacuum", "off")
                .start();
    }

    private static Connection open(ConnectionSettings settings) throws SQLException {
        return DriverManager.getConnection(settings.jdbcUrl(), settings.jdbcProperties());
    }

    private static void run(EmbeddedPostgres server, String database, String... statements)
            throws SQLException {
        try (Connection connection = open(ConnectionSettings.parse(server.url(database)));
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static List<String> ask(ConnectionSettings settings, String sql) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = open(settings);
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            int columns = result.getMetaData().getColumnCount();
            while (result.next()) {
                StringBuilder row = new StringBuilder();
                for (int i = 1; i <= columns; i++) {
                    row.append(i == 1 ? "" : "|").append(result.getString(i));
                }
                rows.add(row.toString());
            }
        }
        return rows;
    }

    private static void fill(EmbeddedPostgres server, Path space) throws SQLException {
        run(
                server,
                "postgres",
                "create tablespace far location '" + space + "'",
                "create database other",
                "create database remote tablespace far",
                "create table t(id int primary key, v text)",
                "insert into t select i, '"
                        + CANARY
                        + "' || repeat('x', 100) from"
                        + " generate_series(1, 20000) i",
                "create table wide(id int, v text)",
                "alter table wide alter v set storage external",
                "insert into wide select i, repeat('"
                        + CANARY
                        + "', 1000) from"
                        + " generate_series(1, 50) i",
                "create table away(id int) tablespace far",
                "insert into away select generate_series(1, 1000)",
                "create unlogged table fleeting(id int)",
                "create type mood as enum ('sad', 'ok')",
                "select lo_from_bytea(0, convert_to(repeat('" + CANARY + "', 5000), 'UTF8'))",
                "vacuum full pg_class",
                "vacuum full pg_proc",
                "reindex table pg_type",
                "vacuum full pg_authid");
        run(server, "remote", "create table r(id int)", "insert into r values (1)");
        run(server, "other", "create table o(id int)", "vacuum full pg_attribute");
        run(server, "postgres", "vacuum (freeze, analyze)", "checkpoint");
    }

    private static Set<RelationLocator> rewritten(EmbeddedPostgres server) throws SQLException {
        Set<RelationLocator> found = new HashSet<>();
        for (String database : List.of("postgres", "other", "remote", "template1")) {
            try (Connection session = open(ConnectionSettings.parse(server.url(database)))) {
                for (RewrittenCatalog catalog : new CatalogReader().rewrittenCatalogs(session)) {
                    found.add(catalog.locator());
                }
            }
        }
        assertThat(found).hasSizeGreaterThan(10);
        return found;
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void laysACatalogOnlyClusterAndHandsHeapFilesOnExactly(int major) throws Exception {
        Path space = UnprivilegedUser.createDirectory(folder.resolve("space"));
        UnprivilegedUser.requireEnterable(folder.getRoot());
        try (EmbeddedPostgres server = start(major, folder.resolve("source"))) {
            fill(server, openUp(space));
            ConnectionSettings settings = ConnectionSettings.parse(server.url("postgres"));
            long systemIdentifier;
            BackupOutcome outcome;
            Collector heap = new Collector();
            Steps steps = new Steps();
            Path shadow = folder.resolve("shadow");
            try (ReplicationConnection connection = ReplicationConnection.connect(settings)) {
                systemIdentifier = connection.identifySystem().systemIdentifier();
                outcome =
                        BaseBackupRun.run(
                                connection,
                                new BaseBackupRun.Options(
                                        shadow, systemIdentifier, rewritten(server), "test", 0),
                                heap,
                                steps);
            }
            assertThat(outcome.startLsn()).isEqualTo(steps.startLsn);
            assertThat(outcome.endLsn()).isGreaterThan(outcome.startLsn());
            assertThat(outcome.filesTapped()).isEqualTo(heap.files.size());
            assertThat(steps.last().bytesDone()).isEqualTo(outcome.bytes());
            assertThat(steps.last().percent()).isEqualTo(100);
            heapFilesEqual(server, heap);
            nothingElseIsLaid(shadow);
            assertThat(ShadowMarkers.inspect(shadow)).isEqualTo(ShadowMarkers.State.INCOMPLETE);
            catalogsEqual(server, shadow);
        }
    }

    /** The server's user must reach the tablespace below JUnit's private folder. */
    private Path openUp(Path space) throws Exception {
        Files.setPosixFilePermissions(
                folder, java.nio.file.attribute.PosixFilePermissions.fromString("rwxr-xr-x"));
        return space;
    }

    private static void heapFilesEqual(EmbeddedPostgres server, Collector heap) throws Exception {
        ConnectionSettings settings = ConnectionSettings.parse(server.url("postgres"));
        for (String table : List.of("t", "away", "wide", "toast")) {
            String relation =
                    table.equals("toast")
                            ? "(select reltoastrelid from pg_class where relname = 'wide')"
                            : "'" + table + "'::regclass";
            String path = ask(settings, "select pg_relation_filepath(" + relation + ")").getFirst();
            byte[] expected = Files.readAllBytes(server.dataDirectory().resolve(path));
            RelationLocator locator =
                    parse(
                            ask(
                                            settings,
                                            "select coalesce(nullif(reltablespace, 0), 1663),"
                                                    + " d.oid, pg_relation_filenode(c.oid) from"
                                                    + " pg_class c, pg_database d where datname ="
                                                    + " current_database() and c.oid = "
                                                    + relation)
                                    .getFirst());
            assertThat(heap.files.get(locator)).as(table).isEqualTo(expected);
            assertThat(expected.length).isPositive();
        }
    }

    private static RelationLocator parse(String row) {
        String[] parts = row.split("\\|", -1);
        return new RelationLocator(
                Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    }

    private static void nothingElseIsLaid(Path shadow) throws Exception {
        try (Stream<Path> paths = Files.walk(shadow)) {
            for (Path path : paths.filter(Files::isRegularFile).toList()) {
                String name = shadow.relativize(path).toString();
                assertThat(name).doesNotContain("conf").doesNotStartWith("pg_wal/");
                if (!name.endsWith("/2619")) {
                    // pg_statistic holds samples of column values: the shadow's known exception.
                    assertThat(new String(Files.readAllBytes(path), StandardCharsets.ISO_8859_1))
                            .as(name)
                            .doesNotContain(CANARY);
                }
            }
        }
        assertThat(shadow.resolve("tablespace_map")).doesNotExist();
        assertThat(shadow.resolve("backup_label")).exists();
    }

    private void catalogsEqual(EmbeddedPostgres server, Path shadow) throws Exception {
        run(server, "postgres", "select pg_switch_wal()");
        Path archive = Files.createDirectory(folder.resolve("archive"));
        try (Stream<Path> segments = Files.list(server.dataDirectory().resolve("pg_wal"))) {
            for (Path segment : segments.filter(Files::isRegularFile).toList()) {
                Files.copy(segment, archive.resolve(segment.getFileName()));
            }
        }
        UnprivilegedUser.ownTree(archive);
        try (ShadowCluster cluster =
                new ShadowCluster(
                        new ShadowCluster.Options(
                                shadow,
                                folder.resolve("run"),
                                server.binDirectory(),
                                archive,
                                "host=/nonexistent",
                                5432,
                                null,
                                Set.of(),
                                Map.of()))) {
            cluster.start();
            cluster.awaitAcceptingConnections(Duration.ofSeconds(60));
            for (String database : List.of("postgres", "other", "remote")) {
                ConnectionSettings there =
                        ConnectionSettings.parse(
                                "host="
                                        + cluster.socketDirectory()
                                        + " port="
                                        + cluster.port()
                                        + " user=postgres dbname="
                                        + database);
                ConnectionSettings here = ConnectionSettings.parse(server.url(database));
                assertThat(ask(there, content())).isEqualTo(ask(here, content())).hasSize(10);
            }
        }
    }

    @Test
    void aBackupThatBreaksLeavesTheDirectoryIncompleteAndCanBeginAnew() throws Exception {
        try (EmbeddedPostgres server = start(17, folder.resolve("source"))) {
            run(server, "postgres", "create table t as select generate_series(1, 1000) id");
            ConnectionSettings settings = ConnectionSettings.parse(server.url("postgres"));
            Path shadow = folder.resolve("shadow");
            BaseBackupRun.Options options =
                    new BaseBackupRun.Options(shadow, 1, Set.of(), "test", 0);
            Collector heap = new Collector();
            try (ReplicationConnection connection = ReplicationConnection.connect(settings)) {
                HeapFileSink failing = new Failing();
                assertThatThrownBy(
                                () -> BaseBackupRun.run(connection, options, failing, new Steps()))
                        .hasMessage("the loader failed");
                assertThat(connection.isClosed()).isTrue();
            }
            assertThat(ShadowMarkers.inspect(shadow)).isEqualTo(ShadowMarkers.State.INCOMPLETE);
            try (ReplicationConnection connection = ReplicationConnection.connect(settings)) {
                assertThatThrownBy(() -> BaseBackupRun.run(connection, options, heap, new Steps()))
                        .isInstanceOf(ConfigurationException.class);
                ShadowMarkers.discard(shadow);
                BackupOutcome outcome = BaseBackupRun.run(connection, options, heap, new Steps());
                ShadowMarkers.complete(
                        shadow,
                        new ShadowMarkers.Completion(
                                1, outcome.timeline(), outcome.startLsn(), outcome.endLsn()));
                assertThat(ShadowMarkers.inspect(shadow)).isEqualTo(ShadowMarkers.State.COMPLETE);
            }
        }
    }

    private static final class Steps implements BackupListener {
        private final List<BackupProgress> seen = new ArrayList<>();
        long startLsn;

        @Override
        public void started(long startLsn, int timeline) {
            assertThat(seen).isEmpty();
            this.startLsn = startLsn;
            assertThat(timeline).isEqualTo(1);
        }

        @Override
        public void progress(BackupProgress progress) {
            assertThat(startLsn).isPositive();
            assertThat(progress.bytesTotal()).isGreaterThanOrEqualTo(progress.bytesDone());
            assertThat(progress.percent()).isBetween(0.0, 100.0);
            assertThat(progress.remaining()).isGreaterThanOrEqualTo(Duration.ZERO);
            seen.add(progress);
        }

        BackupProgress last() {
            return seen.getLast();
        }
    }

    private static final class Collector implements HeapFileSink {
        final Map<RelationLocator, byte[]> files = new HashMap<>();
        private final ByteArrayOutputStream content = new ByteArrayOutputStream();
        private RelationLocator open = new RelationLocator(0, 0, 0);
        private long expected;

        @Override
        public boolean wants(RelationLocator locator) {
            return true;
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize) {
            assertThat(segmentNumber).isZero();
            open = locator;
            expected = fileSize;
            content.reset();
        }

        @Override
        public void data(byte[] bytes, int offset, int length) {
            content.write(bytes, offset, length);
        }

        @Override
        public void end() {
            assertThat(content.size()).isEqualTo((int) expected);
            assertThat(files.put(open, content.toByteArray())).isNull();
        }
    }

    private static final class Failing implements HeapFileSink {
        @Override
        public boolean wants(RelationLocator locator) {
            return true;
        }

        @Override
        public void begin(RelationLocator locator, int segmentNumber, long fileSize) {}

        @Override
        public void data(byte[] bytes, int offset, int length) {
            throw new IllegalStateException("the loader failed");
        }

        @Override
        public void end() {}
    }
}
