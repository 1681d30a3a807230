package dev.walshadow.shadow;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.cluster.ControlFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shadow's server process over its data directory: configuration, start, supervision, stop.
 *
 * <p>A supervising thread owns the process. It starts it, starts it again with backoff whenever it
 * ends, and restarts it when the WAL has raised one of the settings that a standby may not undercut
 * (pg_control then says more than the running server has; recovery has paused or ended because of
 * it). It never makes, replaces or repairs a data directory (I12), and it never connects (I14).
 * Thread safe.
 */
public final class ShadowCluster implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ShadowCluster.class);
    private static final long RESTART_CEILING_MILLIS = 10_000;
    private static final long WATCH_MILLIS = 500;
    private static final long POLL_MILLIS = 10;
    private static final int CONTROL_FILE_TRIES = 20;
    private static final int PROMOTED_PORT_DISTANCE = 100;

    /** An end sooner than this after the start counts towards giving up a wait. */
    private static final int HOPELESS_ENDS = 4;

    private final Options options;
    private final ServerUser user;
    private final Path socketDirectory;
    private final ServerLog log;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Set<String> locales;

    private @Nullable Thread supervisor;
    private @Nullable ServerProcess server;
    private @Nullable String lastFailure;
    private volatile ControlFile.@Nullable WalSettings configured;
    private volatile @Nullable Path locpath;

    /** The server of which it is known that it accepts no connections yet. */
    private volatile long silentPid;

    private volatile boolean promotedCopyKept;
    private boolean stopping;
    private boolean restartWanted;
    private int restarts;
    private int endsBeforeReady;

    /**
     * @param dataDirectory laid from a base backup, never created here
     * @param runDirectory the server's Unix socket and log; sockets move to a short directory under
     *     /tmp when the path would be too long, see {@link RuntimeDirectory}
     * @param binDirectory holds {@code postgres} of the source's major
     * @param archiveDirectory what restore_command copies from
     * @param primaryConnectionInfo {@link WalSender#connectionInfo()}
     * @param port names the Unix socket only; nothing listens on TCP
     * @param user whom the server runs as when the daemon is root; null: {@code postgres}
     * @param locales of the source's databases (datcollate, datctype)
     * @param settings appended to postgresql.conf
     */
    public record Options(
            Path dataDirectory,
            Path runDirectory,
            Path binDirectory,
            Path archiveDirectory,
            String primaryConnectionInfo,
            int port,
            @Nullable String user,
            Set<String> locales,
            Map<String, String> settings) {}

    /**
     * @param pid 0 when not running
     * @param restarts by the supervisor since {@link #start()}
     * @param lastFailure why the last process ended, with the end of its log; null if none did
     */
    public record Health(
            boolean running,
            boolean acceptingConnections,
            long pid,
            int restarts,
            @Nullable String lastFailure) {}

    /** Touches no server; makes the run directory if it is missing. */
    public ShadowCluster(Options options) {
        this.options = options;
        this.user = ServerUser.of(options.user());
        this.socketDirectory = RuntimeDirectory.prepare(options.runDirectory(), user);
        this.log = new ServerLog(options.runDirectory().resolve("postgres.log"));
        this.locales = new TreeSet<>(options.locales());
    }

    /**
     * Takes the laid files over (owner, modes), stops an orphaned server of this data directory,
     * writes the configuration and starts the server and its supervision. Returns when the first
     * process runs; see {@link #awaitAcceptingConnections} for more.
     *
     * @throws ConfigurationException when the directory holds no cluster of the binaries' major
     */
    public void start() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            if (supervisor != null) {
                return;
            }
            checkVersions();
            takeOver();
            PromotedCopy.remove(promotedDirectory());
            ServerProcess.endOrphan(options.dataDirectory());
            stopping = false;
            restarts = 0;
            endsBeforeReady = 0;
            launch();
            supervisor =
                    Thread.ofPlatform().daemon().name("shadow-supervisor").start(this::supervise);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start the shadow", e);
        } finally {
            lock.unlock();
        }
    }

    /** Stops a server that a killed daemon left on this data directory; there may be none. */
    public static void stopOrphan(Path dataDirectory) throws InterruptedException {
        try {
            ServerProcess.endOrphan(dataDirectory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot stop the server in " + dataDirectory, e);
        }
    }

    private void checkVersions() throws IOException {
        Path file = options.dataDirectory().resolve("PG_VERSION");
        if (!Files.isRegularFile(file)) {
            throw new ConfigurationException(
                    ShadowCodes.DATA_DIRECTORY,
                    "expected the shadow's cluster in "
                            + options.dataDirectory()
                            + ", found no PG_VERSION there; it is laid by the bootstrap");
        }
        String version = Files.readString(file).strip();
        OptionalInt major = ShadowBinaries.major(options.binDirectory());
        if (major.isEmpty() || !version.equals(Integer.toString(major.getAsInt()))) {
            throw new ConfigurationException(
                    ShadowCodes.DATA_DIRECTORY,
                    "the shadow in "
                            + options.dataDirectory()
                            + " is of PostgreSQL "
                            + version
                            + ", the binaries in "
                            + options.binDirectory()
                            + " are "
                            + (major.isEmpty() ? "none" : "of " + major.getAsInt())
                            + "; name binaries of "
                            + version);
        }
    }

    private void takeOver() throws IOException {
        user.ownDirectory(options.runDirectory());
        user.ownDirectory(options.dataDirectory());
        user.ownTree(options.dataDirectory());
        user.ownDirectory(options.archiveDirectory());
        user.requireEnterable(options.dataDirectory());
        user.requireEnterable(options.archiveDirectory());
        user.requireEnterable(options.binDirectory());
    }

    /** Under the lock. */
    private void launch() throws IOException, InterruptedException {
        ControlFile control = controlFile();
        new ShadowConfiguration(options, socketDirectory, user).write(control);
        configured = control.wal();
        log.bound();
        locpath = LocaleDirectory.prepare(locales, options.runDirectory().resolve("locale"), user);
        server =
                ServerProcess.start(
                        options.binDirectory(), options.dataDirectory(), user, log, locpath);
        changed.signalAll();
    }

    private void supervise() {
        Backoff backoff = new Backoff(RESTART_CEILING_MILLIS);
        try {
            while (true) {
                boolean atOnce = watch(backoff);
                lock.lockInterruptibly();
                try {
                    if (!atOnce) {
                        pause(backoff.nextDelayMillis());
                    }
                    if (stopping) {
                        return;
                    }
                    restarts++;
                    ServerProcess.endOrphan(options.dataDirectory());
                    launch();
                } catch (IOException | UncheckedIOException | WalshadowException e) {
                    failed("it cannot be started: " + e.getMessage());
                } finally {
                    lock.unlock();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until the process has ended; true when the next shall start without a pause. */
    private boolean watch(Backoff backoff) throws InterruptedException {
        ServerProcess running = current();
        if (running == null) {
            return false;
        }
        boolean planned = false;
        while (!running.awaitEnd(WATCH_MILLIS)) {
            if (running.acceptsConnections()) {
                backoff.reset();
                resetEnds();
            }
            if (!planned && (takeRestartWish() || floorRaised())) {
                planned = true;
                LOG.info("restarting the shadow with other settings");
                running.stop();
            }
        }
        lock.lockInterruptibly();
        try {
            server = null;
            boolean atOnce = stopping || planned || floorRaised();
            if (!atOnce) {
                failed(running.obituary());
            }
            return atOnce;
        } finally {
            lock.unlock();
        }
    }

    /** Under the lock: waits, but not once the cluster is to stop. */
    private void pause(long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        long left = end - System.nanoTime();
        while (left > 0 && !stopping) {
            changed.awaitNanos(left);
            left = end - System.nanoTime();
        }
    }

    /** The WAL has raised a setting that the running server was started with. */
    private boolean floorRaised() {
        ControlFile.WalSettings have = configured;
        return have != null && !covers(have, controlFile().wal());
    }

    private static boolean covers(ControlFile.WalSettings have, ControlFile.WalSettings floor) {
        return have.maxConnections() >= floor.maxConnections()
                && have.maxWorkerProcesses() >= floor.maxWorkerProcesses()
                && have.maxWalSenders() >= floor.maxWalSenders()
                && have.maxPreparedTransactions() >= floor.maxPreparedTransactions()
                && have.maxLocksPerTransaction() >= floor.maxLocksPerTransaction();
    }

    private @Nullable ServerProcess current() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            return server;
        } finally {
            lock.unlock();
        }
    }

    private boolean takeRestartWish() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            boolean wanted = restartWanted && !stopping;
            restartWanted = false;
            return wanted;
        } finally {
            lock.unlock();
        }
    }

    private void resetEnds() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            endsBeforeReady = 0;
        } finally {
            lock.unlock();
        }
    }

    /** Under the lock. */
    private void failed(String why) {
        lastFailure = why;
        endsBeforeReady++;
        LOG.warn("the shadow is down and will be started again: {}", why);
        changed.signalAll();
    }

    /**
     * Waits until the server accepts connections: recovery has reached a consistent point and knows
     * all running transactions. The wait has no limit as long as its log or pg_control move.
     *
     * @throws RetryException when nothing moved for {@code stall}, or the server ended several
     *     times in a row; the message carries the end of its log
     */
    public void awaitAcceptingConnections(Duration stall) throws InterruptedException {
        long deadline = System.nanoTime() + stall.toNanos();
        long seen = -1;
        while (true) {
            Health health = health();
            if (health.acceptingConnections()) {
                return;
            }
            lock.lockInterruptibly();
            try {
                if (endsBeforeReady >= HOPELESS_ENDS && lastFailure != null) {
                    throw new RetryException(
                            ShadowCodes.START_FAILED, "the shadow does not start: " + lastFailure);
                }
                changed.await(POLL_MILLIS, TimeUnit.MILLISECONDS);
            } finally {
                lock.unlock();
            }
            long position =
                    health.restarts() == 0 ? log.size() + controlFile().minRecoveryPoint() : 0;
            if (position != seen) {
                seen = position;
                deadline = System.nanoTime() + stall.toNanos();
            } else if (System.nanoTime() - deadline >= 0) {
                throw new RetryException(
                        ShadowCodes.NOT_READY,
                        "the shadow accepts no connections and has made no progress for "
                                + stall.toSeconds()
                                + " s; the end of "
                                + log.file()
                                + ":\n"
                                + log.end(0));
            }
        }
    }

    public Health health() {
        lock.lock();
        try {
            ServerProcess process = server;
            if (process == null || !process.alive()) {
                return new Health(false, false, 0, restarts, lastFailure);
            }
            return new Health(
                    true, process.acceptsConnections(), process.pid(), restarts, lastFailure);
        } finally {
            lock.unlock();
        }
    }

    /**
     * False if the server is up and accepts no connections for all of {@code patience}, or still
     * accepts none since that was so; true as soon as it does, or when it is down.
     */
    boolean awaitHotStandby(Duration patience) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            Health health = health();
            if (health.acceptingConnections() || !health.running()) {
                removePromotedCopy();
                return true;
            }
            if (health.pid() == silentPid || System.nanoTime() - deadline >= 0) {
                silentPid = health.pid();
                return false;
            }
            lock.lockInterruptibly();
            try {
                changed.await(POLL_MILLIS, TimeUnit.MILLISECONDS);
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Copies the server's files while it runs, and promotes the copy. Nothing may be published
     * meanwhile; one copy at a time.
     *
     * @param lsn up to which everything has been applied
     * @param stall how long the copy may do nothing that its log tells
     * @throws RetryException when the copy does not come up
     */
    PromotedCopy promotedCopy(long lsn, Duration stall) throws InterruptedException {
        PromotedCopy.Place place =
                new PromotedCopy.Place(
                        promotedDirectory(),
                        options.runDirectory().resolve("promoted.log"),
                        options.binDirectory(),
                        options.port() + PROMOTED_PORT_DISTANCE,
                        user,
                        locpath);
        promotedCopyKept = true;
        boolean started = false;
        try {
            PromotedCopy.copy(options.dataDirectory(), this::controlFileBytes, place);
            PromotedCopy copy = PromotedCopy.start(place, lsn, stall);
            started = true;
            return copy;
        } catch (IOException | UncheckedIOException e) {
            throw new RetryException(
                    ShadowCodes.PROMOTED_COPY,
                    "cannot copy the shadow to " + place.directory() + ": " + e.getMessage(),
                    e);
        } finally {
            if (!started) {
                removePromotedCopy();
            }
        }
    }

    /** It is kept as long as it may be asked again. */
    private void removePromotedCopy() throws InterruptedException {
        if (promotedCopyKept) {
            try {
                PromotedCopy.remove(promotedDirectory());
                promotedCopyKept = false;
            } catch (IOException e) {
                throw new UncheckedIOException("cannot remove " + promotedDirectory(), e);
            }
        }
    }

    private Path promotedDirectory() {
        return options.dataDirectory().resolveSibling("shadow-promoted");
    }

    /** Major version of the data directory. */
    public int majorVersion() {
        return controlFile().majorVersion();
    }

    /** Where the server's socket is: {@code <directory>/.s.PGSQL.<port>}. */
    public Path socketDirectory() {
        return socketDirectory;
    }

    public int port() {
        return options.port();
    }

    /** The redo position of the last restartpoint: where recovery starts after a restart. */
    public long restartRedoLsn() {
        return controlFile().redo();
    }

    /**
     * Start of the oldest segment that the shadow can still ask for: it recovers from its last
     * restartpoint, from its own pg_wal as far as that is whole and from the archive where it is
     * not. What lies before may be deleted from the archive.
     */
    public long oldestNeededLsn() {
        ControlFile control = controlFile();
        return control.redo() & -(long) control.walSegmentSize();
    }

    /** {@code global/pg_control}, which the server may be writing. */
    public ControlFile controlFile() {
        return ControlFile.parse(controlFileBytes());
    }

    private byte[] controlFileBytes() {
        Path file = options.dataDirectory().resolve("global/pg_control");
        for (int attempt = 1; ; attempt++) {
            try {
                byte[] bytes = Files.readAllBytes(file);
                ControlFile.parse(bytes);
                return bytes;
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read " + file, e);
            } catch (HaltException e) {
                if (attempt == CONTROL_FILE_TRIES) {
                    throw e;
                }
                Thread.onSpinWait();
            }
        }
    }

    /**
     * Makes the server know another locale, by a restart where that is needed; see docs/shadow.md.
     *
     * @return false when it knew the name already
     */
    public boolean addLocale(String name) {
        lock.lock();
        try {
            boolean added = locales.add(name);
            restartWanted = restartWanted || added;
            return added;
        } finally {
            lock.unlock();
        }
    }

    /** Fast shutdown; leaves a data directory that resumes. */
    public void stop() throws InterruptedException {
        Thread thread;
        ServerProcess running;
        lock.lockInterruptibly();
        try {
            thread = supervisor;
            running = server;
            stopping = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (running != null) {
            running.stop();
        }
        if (thread != null) {
            thread.join();
        }
        lock.lockInterruptibly();
        try {
            supervisor = null;
        } finally {
            lock.unlock();
        }
    }

    /** Kills the postmaster with signal 9; the supervisor brings the server up again. For tests. */
    public void crash() throws InterruptedException {
        ServerProcess running = current();
        if (running != null) {
            running.signal("KILL");
            running.awaitEnd(TimeUnit.SECONDS.toMillis(10));
        }
    }

    @Override
    public void close() {
        try {
            stop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
