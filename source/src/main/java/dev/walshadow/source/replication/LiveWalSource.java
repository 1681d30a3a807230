package dev.walshadow.source.replication;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.UpstreamWal;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.store.SegmentReader;
import dev.walshadow.source.store.TimelineHistory;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The live stream of the source's WAL. Reconnects for ever at the exact byte position; before each
 * stream it checks that the same cluster answers. A thread of its own sends the floors on a timer,
 * also while the pump is parked: PostgreSQL's {@code wal_sender_timeout} counts what it receives,
 * not what we read, so a parked pump keeps its connection.
 *
 * <p>{@link #start}, {@link #next} and {@link #detachBuffer} belong to one thread at a time, the
 * pump as a rule; the rest is thread safe.
 */
public final class LiveWalSource implements UpstreamWal {
    private static final Logger LOG = LoggerFactory.getLogger(LiveWalSource.class);
    private static final byte[] NOTHING = {};
    private static final long BACKOFF_CEILING_MILLIS = 5_000;

    /**
     * @param slot permanent physical slot
     * @param createSlot make the slot when it is missing at the start, as is done after a loss in
     *     any case: the stream then still starts at the exact position or is refused because the
     *     WAL is gone
     * @param systemIdentifier the cluster that must answer
     * @param statusInterval upper bound between two statuses; shortened below the server's
     *     wal_sender_timeout
     * @param reached what an earlier run has received, of the timeline that {@link #start} is told
     * @param receiveTimeout a server that is silent for so long while it is being read counts as
     *     lost (it is asked for a reply at half of it)
     */
    public record Options(
            ConnectionSettings settings,
            String slot,
            boolean createSlot,
            long systemIdentifier,
            long reached,
            Duration statusInterval,
            Duration receiveTimeout) {
        public Options(
                ConnectionSettings settings,
                String slot,
                boolean createSlot,
                long systemIdentifier) {
            this(
                    settings,
                    slot,
                    createSlot,
                    systemIdentifier,
                    0,
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(60));
        }
    }

    /** Told about the connection's state, on the thread that reads. */
    public interface Listener {
        /** The stream runs again, from {@code position}. */
        void connected(HostAddress host, long position);

        /** The stream is gone, or another attempt to have it back failed; it goes on trying. */
        void lost(WalshadowException reason);
    }

    private final Options options;
    private final StandbyStatus status;
    private final Listener listener;
    private final @Nullable SegmentReader archive;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Backoff backoff = new Backoff(BACKOFF_CEILING_MILLIS);

    private final Lineage lineage;

    private volatile long position;
    private boolean started;
    private volatile boolean wasConnected;
    private volatile @Nullable ReplicationConnection connection;
    private @Nullable FutureTask<Stream> attempt;
    private volatile boolean reading;
    private volatile long readingSinceNanos;
    private long readReturnedNanos;
    private volatile long serverEnd;
    private volatile long statusIntervalMillis;

    /** Serves the bytes at the position, which are of this timeline. */
    private record Stream(ReplicationConnection connection, int timeline) {}

    /** The archive is read, since the source has removed the WAL of this position. */
    private boolean filling;

    /** Where the archive had nothing, either; -1 if there is no such position. */
    private long missingAt = -1;

    public LiveWalSource(Options options, StandbyStatus status, Listener listener) {
        this(options, status, listener, null);
    }

    /**
     * @param archive asked for WAL that the source has removed, by the thread that reads, and
     *     closed by its owner; null if there is none
     */
    public LiveWalSource(
            Options options,
            StandbyStatus status,
            Listener listener,
            @Nullable SegmentReader archive) {
        this.options = options;
        this.status = status;
        this.listener = listener;
        this.archive = archive;
        this.lineage = new Lineage(options.systemIdentifier(), options.reached());
        this.statusIntervalMillis = options.statusInterval().toMillis();
    }

    /**
     * Connects at once. What an operator must mend (password, slot, foreign cluster) is thrown; a
     * server that is merely away is left to {@link #next}.
     */
    @Override
    public void start(int timeline, long lsn) throws InterruptedException {
        Invariant.check(!started, "a WAL source is started once");
        started = true;
        lineage.start(timeline);
        this.position = lsn;
        Thread.ofPlatform().daemon().name("walshadow-status").start(this::sendStatuses);
        try {
            connected(open());
        } catch (ReconnectException | RetryException e) {
            lost(e);
        } catch (HaltException e) {
            removed(e);
        }
    }

    @Override
    public boolean next(WalChunk into) throws InterruptedException {
        Invariant.check(started, "the source has been started");
        while (!isClosed()) {
            if (filling && fill(into)) {
                return true;
            }
            ReplicationConnection current = connection;
            if (current == null) {
                if (!reconnect()) {
                    return idle(into);
                }
                continue;
            }
            try {
                return read(current, into);
            } catch (ReconnectException | RetryException e) {
                connection = null;
                current.close();
                if (!isClosed()) {
                    lost(e);
                }
            } catch (HaltException e) {
                connection = null;
                current.close();
                removed(e);
            }
        }
        return false;
    }

    /**
     * Goes on with the archive if the source has removed the WAL of this position and the archive
     * has not been asked for it in vain; throws the reason otherwise.
     */
    private void removed(HaltException reason) {
        SegmentReader other = archive;
        if (!reason.code().equals(ReplicationCodes.WAL_REMOVED) || other == null) {
            throw reason;
        }
        if (missingAt == position) {
            throw missing(other, reason);
        }
        LOG.warn(
                "the source has removed the WAL at {}; reading it from {}",
                Lsn.format(position),
                other.address());
        listener.lost(reason);
        filling = true;
    }

    private HaltException missing(SegmentReader other, HaltException reason) {
        String what =
                "neither the source nor the archive "
                        + other.address()
                        + " has the WAL of timeline "
                        + Integer.toUnsignedString(lineage.timeline())
                        + " at "
                        + Lsn.format(position);
        return new HaltException(
                ReplicationCodes.WAL_REMOVED, what + ": " + reason.getMessage(), reason);
    }

    /** False when the archive has no more, or cannot be read now: the source is next. */
    private boolean fill(WalChunk into) {
        SegmentReader other = Objects.requireNonNull(archive, "what is read has been opened");
        try {
            TimelineHistory known = lineage.history();
            int name = known == null ? lineage.timeline() : other.nameOf(known, position);
            if (other.next(name, position, serverEnd, into)) {
                accept(into);
                if (known != null) {
                    lineage.reached(position, known.timelineOf(position));
                }
                return true;
            }
            missingAt = position;
            LOG.info("the archive ends at {}: back to the source", Lsn.format(position));
        } catch (RetryException e) {
            lost(e);
        }
        filling = false;
        return false;
    }

    @Override
    public void detachBuffer() {
        ReplicationConnection current = connection;
        if (current != null) {
            current.detachBuffer();
        }
    }

    /**
     * Lets the server go. It would wait for a flush position that open work may hold back for days
     * (a prepared transaction, ClickHouse being away), and never end.
     */
    @Override
    public void serverStops() {
        ReplicationConnection current = connection;
        if (current != null) {
            connection = null;
            current.close();
            lost(
                    new ReconnectException(
                            ReplicationCodes.CONNECTION_LOST,
                            "the source shuts down at " + Lsn.format(position)));
        }
    }

    private boolean idle(WalChunk into) {
        into.set(NOTHING, 0, 0, position, serverEnd);
        return !isClosed();
    }

    /** Reads one message, or waits for none; the chunk is empty if it brought no WAL. */
    private boolean read(ReplicationConnection current, WalChunk into) {
        long now = System.nanoTime();
        if (now - readReturnedNanos > TimeUnit.MILLISECONDS.toNanos(IDLE_MILLIS)) {
            readingSinceNanos = now;
        }
        reading = true;
        ReplicationConnection.CopyEvent event;
        try {
            event = current.readCopy(into, IDLE_MILLIS);
        } finally {
            reading = false;
            readReturnedNanos = System.nanoTime();
        }
        serverEnd = Math.max(serverEnd, current.serverEnd());
        switch (event) {
            case WAL -> {
                accept(into);
                return true;
            }
            case REPLY_REQUESTED -> sendStatus(current, false);
            case KEEPALIVE, NOTHING -> {}
            case END_OF_TIMELINE -> timelineEnds(current);
        }
        return idle(into);
    }

    private void accept(WalChunk chunk) {
        if (chunk.startLsn() != position) {
            throw new ReconnectException(
                    ReplicationCodes.PROTOCOL,
                    "expected WAL at "
                            + Lsn.format(position)
                            + ", the server sent "
                            + Lsn.format(chunk.startLsn()));
        }
        long end = chunk.endLsn();
        position = end;
        status.advanceWrite(end);
        backoff.reset();
    }

    /** The source was promoted: the next stream goes on with the timeline that begins here. */
    private void timelineEnds(ReplicationConnection ended) {
        TimelineSwitch next = ended.timelineSwitch();
        LOG.info(
                "the source's timeline ends at {}{}",
                Lsn.format(position),
                next == null
                        ? ""
                        : ", timeline "
                                + Integer.toUnsignedString(next.nextTimeline())
                                + " begins");
        connection = null;
        ended.close();
        // what the old primary had beyond is no measure any more
        serverEnd = 0;
        backoff.reset();
    }

    /**
     * Moves the reconnection on by at most {@link #IDLE_MILLIS}; true when it is done. A thread of
     * its own connects, since that may take as long as the network likes.
     */
    private boolean reconnect() throws InterruptedException {
        FutureTask<Stream> current = attempt;
        if (current == null) {
            long delay = backoff.nextDelayMillis();
            current =
                    new FutureTask<>(() -> {
                        if (closed.await(delay, TimeUnit.MILLISECONDS)) {
                            throw new CancellationException("closed");
                        }
                        return open();
                    });
            attempt = current;
            Thread.ofVirtual().name("walshadow-reconnect").start(current);
        }
        try {
            Stream fresh = current.get(IDLE_MILLIS, TimeUnit.MILLISECONDS);
            attempt = null;
            connected(fresh);
            return true;
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            attempt = null;
            failed(e.getCause());
            return false;
        }
    }

    private void failed(@Nullable Throwable cause) {
        switch (cause) {
            case ReconnectException e -> lost(e);
            case RetryException e -> lost(e);
            case ConfigurationException e when e.code().equals(ReplicationCodes.SLOT_UNUSABLE) ->
                    throw slotLost(e);
            case HaltException e -> removed(e);
            // Also what an operator must mend: a password that changes under way must not kill us.
            case ConfigurationException e -> lost(e);
            case RuntimeException e when isClosed() -> LOG.debug("not connected any more", e);
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> throw new IllegalStateException("connecting failed", cause);
        }
    }

    /** The slot was invalidated, and nothing gives its WAL back. */
    private HaltException slotLost(ConfigurationException reason) {
        return new HaltException(
                ReplicationCodes.WAL_REMOVED,
                "the WAL from "
                        + Lsn.format(position)
                        + " on is not kept for this stream any more: "
                        + reason.getMessage()
                        + ". Load anew; raise max_slot_wal_keep_size",
                reason);
    }

    private void lost(WalshadowException reason) {
        LOG.debug("no WAL stream at {}: {}", Lsn.format(position), reason.getMessage());
        listener.lost(reason);
    }

    private void connected(Stream stream) {
        ReplicationConnection fresh = stream.connection();
        connection = fresh;
        lineage.reached(position, stream.timeline());
        wasConnected = true;
        if (isClosed()) {
            fresh.close();
            return;
        }
        LOG.debug("WAL stream from {} at {}", fresh.host(), Lsn.format(position));
        listener.connected(fresh.host(), position);
        sendStatus(fresh, false);
    }

    /** A connection that streams from the exact position; reads no state that changes meanwhile. */
    private Stream open() {
        ReplicationConnection fresh = ReplicationConnection.connect(options.settings());
        boolean streaming = false;
        try {
            lineage.check(fresh, fresh.identifySystem(), position);
            long timeout = fresh.walSenderTimeoutMillis();
            long wanted = options.statusInterval().toMillis();
            statusIntervalMillis = timeout == 0 ? wanted : Math.clamp(timeout / 4, 1, wanted);
            int from = lineage.timelineOf(position);
            startStream(fresh, from);
            streaming = true;
            return new Stream(fresh, from);
        } finally {
            if (!streaming) {
                fresh.close();
            }
        }
    }

    /**
     * A slot that was dropped under way is made again: the source then still has the WAL of the
     * exact position, or refuses.
     */
    private void startStream(ReplicationConnection fresh, int from) {
        if (archive != null) {
            remakeLostSlot(fresh);
        }
        try {
            fresh.startPhysical(options.slot(), position, from);
        } catch (ConfigurationException e) {
            boolean make = options.createSlot() || wasConnected;
            if (!make || !e.code().equals(ReplicationCodes.SLOT_MISSING)) {
                throw e;
            }
            LOG.warn("the replication slot {} is missing and is made again", options.slot());
            fresh.createPhysicalSlot(options.slot());
            fresh.startPhysical(options.slot(), position, from);
        }
    }

    /**
     * A physical slot that has lost its WAL keeps none for anybody any more, though 15 to 17 still
     * stream for it. A new one keeps what is written from now on; the archive has the rest.
     */
    private void remakeLostSlot(ReplicationConnection fresh) {
        SlotState found = fresh.readSlot(options.slot());
        if (found != null && found.restartLsn() == Lsn.INVALID) {
            LOG.warn("the replication slot {} has lost its WAL: made again", options.slot());
            fresh.dropSlot(options.slot());
            fresh.createPhysicalSlot(options.slot());
        }
    }

    @Override
    public int timeline() {
        return lineage.timeline();
    }

    private long waitMillis() {
        ReplicationConnection current = connection;
        return current != null && current.host().isUnixSocket()
                ? IDLE_MILLIS
                : statusIntervalMillis;
    }

    /** The status thread. */
    private void sendStatuses() {
        boolean asked = false;
        try {
            while (!closed.await(waitMillis(), TimeUnit.MILLISECONDS)) {
                ReplicationConnection current = connection;
                if (current == null || current.isClosed()) {
                    asked = false;
                    continue;
                }
                if (current.host().isUnixSocket()) {
                    // Its reads have no limit: the server's replies wake the pump.
                    sendStatus(current, true);
                    continue;
                }
                long limit = options.receiveTimeout().toNanos();
                long silence = silenceNanos(current);
                if (silence > limit) {
                    LOG.warn("{} is silent for too long", current);
                    current.close();
                    continue;
                }
                boolean ask = silence > limit / 2 && !asked;
                asked = silence > limit / 2;
                sendStatus(current, ask);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** How long the pump has waited for the server in vain; a parked pump does not wait. */
    private long silenceNanos(ReplicationConnection current) {
        return reading
                ? Math.min(current.nanosSinceReceived(), System.nanoTime() - readingSinceNanos)
                : 0;
    }

    private void sendStatus(ReplicationConnection current, boolean replyRequested) {
        try {
            current.sendStatus(
                    status.writeLsn(), status.flushLsn(), status.applyLsn(), replyRequested);
        } catch (ReconnectException e) {
            // The reading side meets the same broken connection and reconnects.
            LOG.debug("status not sent: {}", e.getMessage());
            current.close();
        }
    }

    /** Sends the floors at once, e.g. before a stop. */
    public void sendStatusNow() {
        ReplicationConnection current = connection;
        if (current != null) {
            sendStatus(current, false);
        }
    }

    /** Position of the next byte. */
    public long position() {
        return position;
    }

    /** By its last message; 0 before the first. */
    @Override
    public long serverEnd() {
        return serverEnd;
    }

    @Override
    public long leftAt() {
        return lineage.leftAt();
    }

    @Override
    public boolean isConnected() {
        return connection != null;
    }

    private boolean isClosed() {
        return closed.getCount() == 0;
    }

    /** Ends a waiting {@link #next}; the slot stays. */
    @Override
    public void close() {
        closed.countDown();
        ReplicationConnection current = connection;
        if (current != null) {
            current.close();
        }
    }
}
