package dev.walshadow.cli.demo;

import dev.walshadow.base.FileTree;
import dev.walshadow.daemon.Daemon;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationLoader;
import dev.walshadow.daemon.control.ProcessControl;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.daemon.verify.VerifyProgress;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Real servers in a temporary directory, walshadow between them. */
public final class Demo implements AutoCloseable {
    /**
     * @param rowsPerSecond of the load
     * @param live redraw the view on a terminal
     */
    public record Options(int postgres, Duration duration, double rowsPerSecond, boolean live) {}

    private static final long SEED = 20_261_129;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Options options;
    private final PrintWriter out;
    private final Path directory;
    private @Nullable EmbeddedPostgres postgres;
    private @Nullable EmbeddedClickHouse clickhouse;
    private @Nullable Daemon daemon;
    private volatile boolean closed;

    public Demo(Options options, PrintWriter out) {
        this.options = options;
        this.out = out;
        try {
            directory = Files.createTempDirectory("walshadow-demo");
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a temporary directory", e);
        }
    }

    /** It was closed before its end, by Ctrl-C for one. */
    public static final class StoppedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        StoppedException(Exception cause) {
            super("the demo was stopped", cause);
        }
    }

    /**
     * Runs the whole demo; the outcome is that of the final comparison.
     *
     * @throws StoppedException if {@link #close} comes before the end
     */
    public Verification.Outcome run() throws InterruptedException, SQLException {
        try {
            return runToTheEnd();
        } catch (RuntimeException | SQLException | InterruptedException e) {
            if (closed || isShuttingDown()) {
                throw new StoppedException(e);
            }
            throw e;
        }
    }

    /** The servers have shutdown hooks of their own, which may come before {@link #close}. */
    private static boolean isShuttingDown() {
        try {
            Runtime.getRuntime().removeShutdownHook(Thread.currentThread());
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    private Verification.Outcome runToTheEnd() throws InterruptedException, SQLException {
        say("starting PostgreSQL " + options.postgres() + " and ClickHouse");
        EmbeddedPostgres source =
                EmbeddedPostgres.at(directory.resolve("postgres"))
                        .version(options.postgres())
                        .start();
        postgres = source;
        EmbeddedClickHouse target = EmbeddedClickHouse.start(directory.resolve("clickhouse"));
        clickhouse = target;
        try (Connection session = open(source)) {
            say("filling the shop with existing rows");
            say(number(ShopSchema.create(session)) + " rows in 4 tables");
        }
        Configuration configuration = configure(source, target);
        try (Daemon running = Daemon.open(configuration, ProcessControl.NONE)) {
            daemon = running;
            running.start();
            howToQuery(source, target);
            say("and watch it in a browser: " + running.status(false).path("http").asString(""));
            load(source, running);
            if (closed) {
                throw new InterruptedException("closed");
            }
            say("the load has ended; comparing both sides, every column of every row");
            Verification.Outcome outcome =
                    Verification.of(configuration, PATIENCE).run(null, VerifyProgress.NONE);
            daemon = null;
            return outcome;
        }
    }

    private Configuration configure(EmbeddedPostgres source, EmbeddedClickHouse target) {
        Path file = directory.resolve("walshadow.toml");
        String text =
                """
                [source]
                url = "postgres://postgres@127.0.0.1:%d/postgres"

                [clickhouse]
                url = "%s"

                [state]
                dir = "%s"

                [http]
                listen = "127.0.0.1:0"
                """
                        .formatted(source.port(), target.url(), directory.resolve("state"));
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
        return ConfigurationLoader.load(file, Map.of(), Map.of());
    }

    private static Connection open(EmbeddedPostgres source) throws SQLException {
        return DriverManager.getConnection(source.jdbcUrl("postgres"));
    }

    private void howToQuery(EmbeddedPostgres source, EmbeddedClickHouse target) {
        say("query both sides yourself while this runs:");
        out.printf(
                "    psql -h 127.0.0.1 -p %d -U postgres -c 'SELECT count(*) FROM shop.orders'%n",
                source.port());
        out.printf(
                "    curl '%s' --data-binary 'SELECT count() FROM shop.orders FINAL'%n",
                target.url());
        out.flush();
    }

    private void load(EmbeddedPostgres source, Daemon running)
            throws InterruptedException, SQLException {
        DemoView view = new DemoView(out, options.live());
        long end = System.nanoTime() + options.duration().toNanos();
        long step = options.live() ? 500 : 5_000;
        ShopLoad load = new ShopLoad(() -> open(source), options.rowsPerSecond(), SEED);
        load.start();
        try {
            for (long left = end - System.nanoTime();
                    left > 0 && !closed;
                    left = end - System.nanoTime()) {
                Thread.sleep(Math.min(step, Math.max(1, left / 1_000_000)));
                JsonNode status = running.status(true);
                view.show(
                        status,
                        load.rows(),
                        Math.max(0, (end - System.nanoTime()) / 1_000_000_000));
                SQLException failure = load.failure();
                if (failure != null) {
                    throw failure;
                }
            }
        } finally {
            load.stop();
        }
        say(
                "load: "
                        + number(load.rows())
                        + " rows in "
                        + number(load.transactions())
                        + " transactions committed");
    }

    private static String number(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }

    /** Stops the servers and removes their files; safe to call from a shutdown hook. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (daemon != null) {
            daemon.close();
        }
        if (postgres != null) {
            postgres.stopImmediate();
        }
        if (clickhouse != null) {
            clickhouse.kill();
        }
        try {
            FileTree.delete(directory);
        } catch (IOException e) {
            say("could not remove all of " + directory + ": " + e.getMessage());
        }
    }
}
