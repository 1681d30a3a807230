package dev.walshadow.daemon;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.ConfigurationChange;
import dev.walshadow.daemon.config.Setting;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.config.SourceLayer;
import dev.walshadow.daemon.control.ControlServer;
import dev.walshadow.daemon.control.ProcessControl;
import dev.walshadow.daemon.monitor.ApiToken;
import dev.walshadow.daemon.monitor.CommitLatency;
import dev.walshadow.daemon.monitor.EventLog;
import dev.walshadow.daemon.monitor.MonitorServer;
import dev.walshadow.daemon.replication.Replication;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One source, one target, one state directory: replicates from {@link #start} until {@link #close}
 * or a failure that ends it. The control socket answers from {@link #open} on.
 */
public final class Daemon implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Daemon.class);
    private static final JsonMapper JSON = new JsonMapper();

    private volatile Configuration configuration;
    private final StateDirectory state;
    private final ProcessControl process;
    private final Requests requests;
    private final ControlServer control;
    private final EventLog events = new EventLog();
    private final long startedNanos = System.nanoTime();
    private volatile @Nullable MonitorServer monitor;

    /** Completed by {@link #start}; another one when it has begun anew. */
    private volatile CompletableFuture<Replication> replication = new CompletableFuture<>();

    private volatile boolean refused;
    private final Object reloading = new Object();

    /** The newest. */
    private final AtomicReference<SourceLayer> fromSource = new AtomicReference<>(SourceLayer.NONE);

    private boolean closed;

    private Daemon(Configuration configuration, StateDirectory state, ProcessControl process)
            throws IOException {
        this.configuration = configuration;
        this.state = state;
        this.process = process;
        this.requests = new Requests(this, process);
        this.control = ControlServer.start(StateDirectory.controlSocket(state.root()), requests);
    }

    /**
     * Takes the state directory and opens the control socket.
     *
     * @throws dev.walshadow.base.ConfigurationException if another daemon uses it, or it cannot be
     *     used
     */
    public static Daemon open(Configuration configuration, ProcessControl process) {
        StateDirectory state = StateDirectory.open(configuration.get(Settings.STATE_DIR));
        try {
            return new Daemon(configuration, state, process);
        } catch (IOException e) {
            try {
                state.undo();
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
            listen();
            replication.complete(Replication.start(configuration, state, this::useSource));
        } catch (ConfigurationException e) {
            refused = true;
            replication.completeExceptionally(e);
            throw e;
        } catch (RuntimeException | Error e) {
            replication.completeExceptionally(e);
            throw e;
        }
    }

    private synchronized void listen() {
        ApiToken token = token(configuration);
        configuration
                .find(Settings.HTTP_LISTEN)
                .ifPresent(address ->
                        monitor = MonitorServer.start(address, new Shown(), requests, token));
    }

    private static @Nullable ApiToken token(Configuration configuration) {
        return configuration.find(Settings.HTTP_TOKEN_FILE).map(ApiToken::read).orElse(null);
    }

    /**
     * Reads the configuration again; what can change while the daemon runs changes at once, the
     * contents of password and token files too.
     *
     * @return keys that are {@code applied}, and that take effect at the next start, {@code later}
     * @throws WalshadowException with every fault; then nothing has changed
     */
    public ObjectNode reload() throws InterruptedException {
        Replication running = started();
        synchronized (reloading) {
            return use(running, process.reload());
        }
    }

    private ObjectNode use(Replication running, Configuration next) {
        ConfigurationChange change = ConfigurationChange.between(configuration, next);
        Configuration wanted = configuration.with(change.live(), next);
        ApiToken token = token(wanted);
        running.use(wanted);
        configuration = wanted;
        MonitorServer listening = monitor;
        if (listening != null) {
            listening.admit(token);
        }
        if (change.live().contains(Settings.LOG_LEVEL)) {
            process.logAt(wanted.get(Settings.LOG_LEVEL));
        }
        return tell(change, wanted);
    }

    /** The source says something else of settings; beside the stream, in the order of commits. */
    private void useSource(SourceLayer layer) {
        fromSource.set(layer);
        Thread.ofVirtual()
                .name("settings")
                .start(() -> {
                    try {
                        Replication running = started();
                        synchronized (reloading) {
                            Configuration next = configuration.withSource(fromSource.get());
                            if (!ConfigurationChange.between(configuration, next)
                                    .live()
                                    .isEmpty()) {
                                use(running, next);
                            }
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt(); // closing
                    } catch (WalshadowException e) {
                        LOG.warn(
                                "what the source says of settings is not applied: {}",
                                e.getMessage());
                    } catch (IllegalStateException e) {
                        LOG.debug("the daemon has not started", e);
                    }
                });
    }

    private static ObjectNode tell(ConfigurationChange change, Configuration wanted) {
        ObjectNode answer = JSON.createObjectNode().put("ok", true);
        ArrayNode applied = answer.putArray("applied");
        for (Setting<?> setting : change.live()) {
            applied.add(setting.key());
            LOG.info(
                    "reloaded: {} is {} ({})",
                    setting.key(),
                    wanted.shown(setting),
                    wanted.origin(setting).orElse("unset"));
        }
        ArrayNode later = answer.putArray("later");
        change.later().forEach(later::add);
        if (!change.later().isEmpty()) {
            LOG.warn(
                    "reloaded: needs a restart to take effect: {}",
                    String.join(", ", change.later()));
        }
        if (change.live().isEmpty() && change.later().isEmpty()) {
            LOG.info("reloaded: the settings are as they were");
        }
        return answer;
    }

    private final class Shown implements MonitorServer.View {
        private final CommitLatency nothingYet = new CommitLatency();

        @Override
        public ObjectNode status(boolean withTables) {
            return Daemon.this.status(withTables);
        }

        @Override
        public void describe(ObjectNode into) {
            Daemon.this.describe(into);
        }

        @Override
        public CommitLatency latency() {
            Replication running = running();
            return running == null ? nothingYet : running.latency();
        }
    }

    /** The effective settings without secrets, and the last messages of the log. */
    void describe(ObjectNode into) {
        configuration.describe(into.putArray("settings"));
        events.write(into.putArray("events"));
    }

    /** Where the log's messages are kept for the status page. */
    public EventLog events() {
        return events;
    }

    /** Returns after {@link #close}; throws what ended the replication. */
    public void awaitEnd() throws InterruptedException {
        while (true) {
            Replication running = started();
            try {
                running.awaitEnd();
                return;
            } catch (HaltException e) {
                if (!running.wasCutOff()) {
                    throw e;
                }
                LOG.warn(
                        "the source was promoted in the middle of a record that had been received"
                                + " in part: going on behind the last whole one");
                LOG.debug("received in part", e);
                beginAnew(running);
            }
        }
    }

    private synchronized void beginAnew(Replication old) {
        if (closed) {
            return;
        }
        old.close();
        CompletableFuture<Replication> next = new CompletableFuture<>();
        replication = next;
        try {
            next.complete(Replication.start(configuration, state, this::useSource));
        } catch (RuntimeException | Error e) {
            next.completeExceptionally(e);
            throw e;
        }
    }

    /** Waits until it has started. */
    Replication started() throws InterruptedException {
        try {
            return replication.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the daemon has not started", e.getCause());
        }
    }

    /**
     * What {@code walshadow status --json} prints; see docs/operations.md.
     *
     * @param withTables false: without {@code tables}, which of many tables is most of it
     */
    public ObjectNode status(boolean withTables) {
        Replication running = running();
        ObjectNode status =
                running == null
                        ? JSON.createObjectNode().put("ok", true).put("phase", "starting")
                        : running.status(JSON, withTables);
        status.put("uptime_seconds", (System.nanoTime() - startedNanos) / 1_000_000_000);
        MonitorServer listening = monitor;
        if (listening != null) {
            status.put("http", listening.url());
        }
        return status;
    }

    /** As soon as it has started; may fail. */
    CompletableFuture<Replication> replication() {
        return replication;
    }

    private @Nullable Replication running() {
        CompletableFuture<Replication> now = replication;
        return now.isDone() && !now.isCompletedExceptionally() ? now.join() : null;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            control.close();
            MonitorServer listening = monitor;
            if (listening != null) {
                listening.close();
            }
            Replication running = running();
            if (running != null) {
                running.close();
            }
        } catch (IOException e) {
            LOG.warn("the control socket cannot be removed: {}", e.toString());
        } catch (WalshadowException e) {
            LOG.warn("while stopping: {}", e.getMessage());
        } finally {
            try {
                if (refused) {
                    state.undo();
                } else {
                    state.close();
                }
            } catch (IOException e) {
                LOG.warn("the state directory's lock cannot be released: {}", e.toString());
            }
        }
    }
}
