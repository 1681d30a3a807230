package dev.walshadow.embedded.engine;

import com.sun.net.httpserver.HttpServer;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.embedded.ChdbLibrary;
import dev.walshadow.embedded.DirectoryLock;
import dev.walshadow.embedded.EmbeddedCodes;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The engine and its front, one per process. As a program: {@code --dir D --port P [--switches]};
 * prints {@code ready URL}, runs until SIGTERM or until its standard input ends, stops cleanly with
 * exit code 0 and keeps the data.
 */
public final class EngineServer implements AutoCloseable {
    /** Queries run on the calling thread; the engine's own default for its threads. */
    private static final long STACK_BYTES = 8L << 20;

    private static final int STOP_ROUNDS = 200;

    private final DirectoryLock lock;
    private final Engine engine;
    private final HttpServer http;
    private final ExecutorService requests;
    private final Phaser running = new Phaser(1);
    private boolean stopped;

    /**
     * What to serve.
     *
     * @param directory where the data lives
     * @param port on 127.0.0.1; 0 takes a free one
     * @param login {@code user:password} that every request must carry, or null
     * @param switches whether tests may inject faults
     */
    public record Options(Path directory, int port, @Nullable String login, boolean switches) {}

    private EngineServer(DirectoryLock lock, Engine engine, HttpServer http) {
        this.lock = lock;
        this.engine = engine;
        this.http = http;
        this.requests =
                Executors.newCachedThreadPool(
                        Thread.ofPlatform()
                                .daemon()
                                .stackSize(STACK_BYTES)
                                .name("clickhouse-request-", 0)
                                .factory());
    }

    /** Returns when requests are served. */
    public static EngineServer start(Options options) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.idleInterval", "3600");
        Path directory = options.directory.toAbsolutePath().normalize();
        Path library = ChdbLibrary.find();
        HttpServer http = listen(options.port);
        DirectoryLock lock;
        Engine engine;
        try {
            // makes the directory, too
            lock = DirectoryLock.take(directory.resolve("lock"));
            engine = Engine.start(library, directory.resolve("data"));
        } catch (RuntimeException e) {
            http.stop(0);
            throw e;
        }
        Switches switches = new Switches();
        switches.requireLogin(options.login);
        EngineServer server = new EngineServer(lock, engine, http);
        HttpFront front = new HttpFront(engine, switches, options.switches);
        http.createContext(
                "/",
                exchange -> {
                    if (server.running.register() < 0) {
                        throw new IOException("stopping");
                    }
                    try {
                        front.handle(exchange);
                    } finally {
                        server.running.arriveAndDeregister();
                    }
                });
        http.setExecutor(server.requests);
        http.start();
        return server;
    }

    private static HttpServer listen(int port) throws IOException {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        try {
            return HttpServer.create(address, 128);
        } catch (BindException e) {
            throw new ConfigurationException(
                    EmbeddedCodes.START_FAILED,
                    "expected port " + port + " of 127.0.0.1 to be free: " + e.getMessage(),
                    e);
        }
    }

    public int port() {
        return http.getAddress().getPort();
    }

    public String url() {
        return "http://127.0.0.1:" + port();
    }

    /** Ends every query and every insert under way, then the engine. */
    @Override
    public synchronized void close() {
        if (stopped) {
            return;
        }
        stopped = true;
        http.stop(0);
        int phase = running.arriveAndDeregister();
        boolean quiet = false;
        for (int round = 0; round < STOP_ROUNDS && !quiet; round++) {
            engine.killQueries();
            quiet = awaitQuiet(phase);
        }
        if (quiet) {
            engine.stop();
        }
        requests.shutdown();
        lock.close();
    }

    private boolean awaitQuiet(int phase) {
        try {
            running.awaitAdvanceInterruptibly(phase, 100, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(".");
        int port = 0;
        boolean switches = false;
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--dir" -> directory = Path.of(arguments[++i]);
                case "--port" -> port = Integer.parseInt(arguments[++i]);
                case "--switches" -> switches = true;
                default -> throw new IllegalArgumentException(arguments[i]);
            }
        }
        EngineServer server = start(new Options(directory, port, null, switches));
        server.stopAtExit();
        System.out.println("ready " + server.url());
        while (System.in.read() >= 0) {
            // Whoever started this process holds the other end.
        }
        System.exit(0);
    }

    /** On SIGTERM, SIGINT and exit: a clean stop, then exit code 0. */
    public void stopAtExit() {
        Runtime.getRuntime()
                .addShutdownHook(
                        new Thread(
                                () -> {
                                    close();
                                    Runtime.getRuntime().halt(0);
                                },
                                "clickhouse-stop"));
    }
}
