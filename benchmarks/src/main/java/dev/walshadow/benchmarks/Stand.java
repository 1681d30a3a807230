package dev.walshadow.benchmarks;

import dev.walshadow.base.FileTree;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;

/**
 * A fresh PostgreSQL with one empty table, {@code bench.orders}, a fresh ClickHouse and walshadow
 * attached to both. Everything lies in one temporary directory, removed at the end.
 */
final class Stand implements AutoCloseable {
    static final String TABLE = "bench.orders";
    private static final Duration ATTACH_LIMIT = Duration.ofMinutes(3);

    private final Path directory;
    private final EmbeddedPostgres postgres;
    private final EmbeddedClickHouse clickhouse;

    private Stand(Path directory, int major) {
        this.directory = directory;
        this.postgres =
                EmbeddedPostgres.at(directory.resolve("postgres"))
                        .version(major)
                        .setting("autovacuum", "off")
                        .setting("max_wal_size", "16GB")
                        .setting("checkpoint_timeout", "1h")
                        .build();
        this.clickhouse = EmbeddedClickHouse.at(directory.resolve("clickhouse"), 0);
    }

    static Stand start(int major) throws SQLException {
        Stand stand = new Stand(temporaryDirectory(), major);
        try {
            stand.startServers();
            return stand;
        } catch (RuntimeException | SQLException e) {
            stand.close();
            throw e;
        }
    }

    private void startServers() throws SQLException {
        postgres.start();
        clickhouse.start();
        configure();
        try (Connection session = source();
                Statement statement = session.createStatement()) {
            statement.execute("create schema bench");
            statement.execute(
                    "create table "
                            + TABLE
                            + " (id bigint primary key, quantity int, customer text,"
                            + " price numeric(12, 2), placed timestamptz, note text)");
        }
    }

    static Path temporaryDirectory() {
        try {
            Path made = Files.createTempDirectory("walshadow-benchmark-");
            Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rwxr-xr-x"));
            return made;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void configure() {
        String text =
                """
                [source]
                url = "%s"

                [clickhouse]
                url = "%s"

                [state]
                dir = "%s"
                """
                        .formatted(sourceUrl(), clickhouse.url(), state());
        try {
            Files.writeString(config(), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Adds lines to the configuration, before the daemon starts. */
    void configure(String more) {
        try {
            Files.writeString(config(), more, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path config() {
        return directory.resolve("walshadow.toml");
    }

    private Path state() {
        return directory.resolve("state");
    }

    DaemonProcess startDaemon() {
        return DaemonProcess.start(config(), state(), log());
    }

    /** By another start script than the checkout's. */
    DaemonProcess startDaemon(Path command, Map<String, String> environment) {
        return DaemonProcess.start(command, environment, config(), state(), log());
    }

    private Path log() {
        return directory.resolve("daemon.log");
    }

    /** Started for the first time, and through with its first attach. */
    DaemonProcess attach() throws InterruptedException {
        DaemonProcess daemon = startDaemon();
        try {
            daemon.awaitAll(ATTACH_LIMIT);
            return daemon;
        } catch (RuntimeException | InterruptedException e) {
            daemon.close();
            throw e;
        }
    }

    Connection source() throws SQLException {
        return DriverManager.getConnection(postgres.jdbcUrl("postgres"));
    }

    String sourceUrl() {
        return "postgres://postgres@127.0.0.1:" + postgres.port() + "/postgres";
    }

    Path sourceDirectory() {
        return postgres.dataDirectory();
    }

    /** Where everything of this stand lies. */
    Path folder() {
        return directory;
    }

    EmbeddedClickHouse target() {
        return clickhouse;
    }

    @Override
    public void close() {
        postgres.stopImmediate();
        clickhouse.kill();
        clickhouse.close();
        delete(directory);
    }

    static void delete(Path directory) {
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove all of " + directory, e);
        }
    }
}
