package dev.walshadow.daemon;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlServer;
import dev.walshadow.daemon.replication.Replication;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * One source, one target, one state directory: replicates from {@link #start} until {@link #close}
 * or a failure that ends it. The control socket answers from {@link #open} on.
 */
public final class Daemon implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Daemon.class);
    private static final JsonMapper JSON = new JsonMapper();

    private final Configuration configuration;
    private final StateDirectory state;
    private final ControlServer control;

    /** Completed by {@link #start}. */
    private final CompletableFuture<Replication> replication = new CompletableFuture<>();

    private boolean closed;

    private Daemon(Configuration configuration, StateDirectory state) throws IOException {
        this.configuration = configuration;
        this.state = state;
        this.control =
                ControlServer.start(StateDirectory.controlSocket(state.root()), this::answer);
    }

    /**
     * Takes the state directory and opens the control socket.
     *
     * @throws dev.walshadow.base.ConfigurationException if another daemon uses it, or it cannot be
     *     used
     */
    public static Daemon open(Configuration configuration) {
        StateDirectory state = StateDirectory.open(configuration.get(Settings.STATE_DIR));
        try {
            return new Daemon(configuration, state);
        } catch (IOException e) {
            try (state) {
                throw new ConfigurationException(
                        DaemonCodes.STATE_UNUSABLE,
                        "the control socket "
                                + StateDirectory.controlSocket(state.root())
                                + " cannot be opened ("
                                + e
                                + "); give [state] dir a directory that this user may write",
                        e);
            } catch (IOException closing) {
                throw new UncheckedIOException(closing);
            }
        }
    }

    /**
     * Checks everything, then starts to replicate; the initial load goes on after the return.
     *
     * @throws dev.walshadow.base.ConfigurationException with every finding; nothing was changed
     */
    public void start() throws InterruptedException {
        try {
            replication.complete(Replication.start(configuration, state));
        } catch (RuntimeException | Error e) {
            replication.completeExceptionally(e);
            throw e;
        }
    }

    /** Returns after {@link #close}; throws what ended the replication. */
    public void awaitEnd() throws InterruptedException {
        started().awaitEnd();
    }

    private Replication started() throws InterruptedException {
        try {
            return replication.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the daemon has not started", e.getCause());
        }
    }

    /** What {@code walshadow status --json} prints; see docs/operations.md. */
    public ObjectNode status() {
        Replication running = replication.isDone() ? replication.getNow(null) : null;
        if (running == null) {
            return JSON.createObjectNode().put("ok", true).put("phase", "starting");
        }
        return running.status(JSON);
    }

    private ObjectNode answer(JsonNode request) throws InterruptedException {
        String command = request.path("command").asString("");
        return switch (command) {
            case "status" -> status();
            case "wait" -> await(Duration.ofMillis(request.path("timeout_millis").asLong(60_000)));
            case "resync" -> started().resync(JSON, request.path("table").asString(""));
            default ->
                    throw new IllegalArgumentException(
                            "unknown command '" + command + "'; there are status, wait, resync");
        };
    }

    private ObjectNode await(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        try {
            Replication running = replication.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return running.await(JSON, deadline);
        } catch (TimeoutException e) {
            return JSON.createObjectNode()
                    .put("durable", false)
                    .put("message", "the daemon is still starting");
        } catch (ExecutionException e) {
            throw new IllegalStateException("the daemon could not start: " + e.getCause(), e);
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            control.close();
            if (replication.isDone() && !replication.isCompletedExceptionally()) {
                replication.join().close();
            }
        } catch (IOException e) {
            LOG.warn("the control socket cannot be removed: {}", e.toString());
        } catch (WalshadowException e) {
            LOG.warn("while stopping: {}", e.getMessage());
        } finally {
            try {
                state.close();
            } catch (IOException e) {
                LOG.warn("the state directory's lock cannot be released: {}", e.toString());
            }
        }
    }
}
