package dev.walshadow.source;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.UnprivilegedUser;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.WalPages;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The WAL of a real server of one major version under {@link Workload}, in segments of 1 MB, with
 * what is needed to replay it: a copy of the data directory as of its first record, without user
 * data, and the catalogs at its end. Made once per JVM and version.
 */
final class RealWal {
    static final int SEGMENT_SIZE = 1 << 20;

    private static final int CONTROL_REDO = 40;
    private static final Map<Integer, RealWal> MADE = new ConcurrentHashMap<>();

    final int majorVersion;
    final WalPages pages;
    final long redo;

    /** Position of the first byte of {@link #bytes}. */
    final long start;

    /** Whole segments; the last record is followed by filler. */
    final byte[] bytes;

    /** The insert position when the catalogs were read. */
    final long end;

    final List<CatalogSeed> seeds;
    final List<String> databases;
    final List<String> catalogs;

    /** A data directory from which {@link #redo} can be replayed. Copy it before use. */
    final Path base;

    static RealWal of(int majorVersion) {
        return MADE.computeIfAbsent(majorVersion, RealWal::new);
    }

    private RealWal(int majorVersion) {
        this.majorVersion = majorVersion;
        Path root = UnprivilegedUser.temporaryDirectory("walshadow-real-wal-");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(root)));
        base = root.resolve("base");
        Path tablespace = UnprivilegedUser.createDirectory(root.resolve("tablespace"));
        EmbeddedPostgres server =
                EmbeddedPostgres.at(root.resolve("source"))
                        .version(majorVersion)
                        .initdbOption("--wal-segsize=1")
                        .setting("autovacuum", "off")
                        .setting("fsync", "off")
                        .setting("lock_timeout", "20s")
                        .setting("wal_keep_size", "2GB")
                        .setting("max_wal_size", "2GB")
                        .setting("wal_compression", "pglz")
                        .build();
        try {
            server.start();
            Workload.before(server);
            seeds = seeds(server);
            server.stop();
            byte[] control =
                    Files.readAllBytes(server.dataDirectory().resolve("global/pg_control"));
            redo = LittleEndian.getLong(control, CONTROL_REDO);
            pages = new WalPages(majorVersion, LittleEndian.getLong(control, 0), 1, SEGMENT_SIZE);
            copyBase(server.dataDirectory());
            server.start();
            Workload.run(server, tablespace);
            databases = databases(server);
            catalogs = Catalog.dump(server, databases);
            end = position(server, "select pg_current_wal_insert_lsn()");
            position(server, "select pg_switch_wal()");
            server.stop();
            start = pages.segmentStart(redo);
            bytes = readSegments(server.dataDirectory().resolve("pg_wal"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        } finally {
            server.close();
        }
    }

    StreamSnapshot initial() {
        return StreamSnapshot.initial(pages, redo, seeds);
    }

    private static List<CatalogSeed> seeds(EmbeddedPostgres server) throws SQLException {
        List<CatalogSeed> seeds = new ArrayList<>();
        for (String database : databases(server)) {
            try (Connection connection = connect(server, database);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(CatalogSeed.QUERY)) {
                while (rows.next()) {
                    seeds.add(
                            new CatalogSeed(
                                    new RelationLocator(
                                            (int) rows.getLong(1),
                                            (int) rows.getLong(2),
                                            (int) rows.getLong(3)),
                                    (int) rows.getLong(4)));
                }
            }
        }
        return seeds;
    }

    static List<String> databases(EmbeddedPostgres server) throws SQLException {
        List<String> names = new ArrayList<>();
        try (Connection connection = connect(server, "postgres");
                Statement statement = connection.createStatement();
                ResultSet rows =
                        statement.executeQuery(
                                "select datname from pg_database where datallowconn order by 1")) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }

    private static long position(EmbeddedPostgres server, String sql) throws SQLException {
        try (Connection connection = connect(server, "postgres");
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return Lsn.parse(rows.getString(1));
        }
    }

    static Connection connect(EmbeddedPostgres server, String database) throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl(database));
    }

    /** As the bootstrap does: everything but user relations, large objects and WAL. */
    private void copyBase(Path data) throws IOException {
        execute("cp", "-a", data.toString(), base.toString());
        List<String> kept =
                seeds.stream()
                        .map(seed ->
                                Integer.toUnsignedString(seed.locator().databaseOid())
                                        + "/"
                                        + Integer.toUnsignedString(seed.locator().relationNumber()))
                        .toList();
        try (Stream<Path> files = Files.walk(base.resolve("base"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = file.getFileName().toString().replaceFirst("[._].*", "");
                if (!name.matches("\\d+")) {
                    continue;
                }
                long number = Long.parseLong(name);
                String parent = Objects.requireNonNull(file.getParent()).getFileName().toString();
                if ((number >= 16384 && !kept.contains(parent + "/" + name))
                        || number == Catalogs.PG_LARGEOBJECT
                        || number == Catalogs.PG_LARGEOBJECT_LOID_PN_INDEX) {
                    Files.delete(file);
                }
            }
        }
        try (Stream<Path> files = Files.list(base.resolve("pg_wal"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.delete(file);
            }
        }
    }

    private byte[] readSegments(Path directory) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (long at = start; at <= end; at += SEGMENT_SIZE) {
            out.write(
                    Files.readAllBytes(
                            directory.resolve(Lsn.segmentFileName(1, at, SEGMENT_SIZE))));
        }
        return out.toByteArray();
    }

    static void execute(String... command) throws IOException {
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            if (process.waitFor() != 0) {
                throw new IOException(String.join(" ", command) + " failed");
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    private static void delete(Path root) {
        try {
            execute("rm", "-rf", root.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
