package dev.walshadow.shadow;

import dev.walshadow.postgres.Lsn;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client of the {@link WalSender}. Its own thread reads: the handshake, commands, and during
 * streaming the standby's replies. While it streams a second thread writes; before and after, the
 * reading thread does. Whatever a client sends ends at worst this connection.
 */
final class SenderConnection implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(SenderConnection.class);
    private static final long KEEPALIVE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long HISTORY_BYTES_LIMIT = 64 * 1024;

    private static final Pattern START =
            Pattern.compile(
                    "START_REPLICATION\\s+(?:SLOT\\s+\\S+\\s+)?(?:PHYSICAL\\s+)?"
                            + "([0-9A-F]{1,8}/[0-9A-F]{1,8})(?:\\s+TIMELINE\\s+(\\d{1,10}))?",
                    Pattern.CASE_INSENSITIVE);
    private static final Pattern HISTORY =
            Pattern.compile("TIMELINE_HISTORY\\s+(\\d{1,10})", Pattern.CASE_INSENSITIVE);

    private final WalSender sender;
    private final WalSender.Options options;
    private final PublishedWal wal;
    private final SocketChannel channel;
    private final ReplicationMessages messages;
    private final int number;

    private volatile boolean streaming;
    private volatile boolean ending;
    private volatile boolean replyWanted;
    private volatile boolean answerWanted;
    private volatile long flushed;
    private volatile long applied;

    SenderConnection(WalSender sender, SocketChannel channel, int number) {
        this.sender = sender;
        this.options = sender.options();
        this.wal = sender.wal();
        this.channel = channel;
        this.messages = new ReplicationMessages(channel);
        this.number = number;
    }

    int number() {
        return number;
    }

    boolean streaming() {
        return streaming;
    }

    /** 0 before the first report. */
    long flushedLsn() {
        return flushed;
    }

    /** 0 before the first report. */
    long appliedLsn() {
        return applied;
    }

    /** Asks the standby to report at once. */
    void requestReply() {
        replyWanted = true;
        wal.wake();
    }

    /** Ends the connection from any thread. */
    void close() {
        ending = true;
        closeChannel();
        wal.wake();
    }

    private void closeChannel() {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("closing a replication connection: {}", e.toString());
        }
    }

    @Override
    public void run() {
        try {
            if (handshake()) {
                serve();
            }
        } catch (IOException | BufferUnderflowException | IllegalArgumentException e) {
            if (!ending) {
                LOG.debug("replication connection {} ended: {}", number, e.toString());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            close();
            sender.ended(this);
        }
    }

    private boolean handshake() throws IOException {
        while (true) {
            ByteBuffer packet = messages.readStartup();
            if (packet == null) {
                return false;
            }
            int code = packet.getInt();
            if (code == ReplicationMessages.SSL_REQUEST
                    || code == ReplicationMessages.GSS_REQUEST) {
                messages.refuseEncryption();
            } else if (code >>> 16 == ReplicationMessages.PROTOCOL_3_0 >>> 16) {
                messages.welcome(options.serverVersion(), number);
                return true;
            } else {
                if (code != ReplicationMessages.CANCEL_REQUEST) {
                    messages.error("0A000", "unsupported frontend protocol", false);
                }
                return false;
            }
        }
    }

    private void serve() throws IOException, InterruptedException {
        while (true) {
            ReplicationMessages.Message message = messages.readMessage();
            if (message == null || message.type() == 'X') {
                return;
            }
            if (message.type() == 'Q') {
                if (!command(ReplicationMessages.text(message.body()).strip())) {
                    return;
                }
            } else if ("dcf".indexOf(message.type()) < 0) {
                messages.error("08P01", "unexpected message type", false);
                return;
            }
        }
    }

    /** False when the connection is over. */
    private boolean command(String text) throws IOException, InterruptedException {
        Matcher start = START.matcher(text);
        Matcher history = HISTORY.matcher(text);
        if (start.lookingAt()) {
            return startReplication(start);
        } else if (history.lookingAt()) {
            timelineHistory(Long.parseLong(history.group(1)));
        } else if (text.toUpperCase(Locale.ROOT).startsWith("IDENTIFY_SYSTEM")) {
            messages.row(
                    "IDENTIFY_SYSTEM",
                    new String[] {"systemid", "timeline", "xlogpos", "dbname"},
                    new @Nullable String[] {
                        Long.toUnsignedString(options.systemIdentifier()),
                        Integer.toString(options.timeline()),
                        Lsn.format(wal.publishedLsn()),
                        null
                    });
        } else {
            messages.error("0A000", "walshadow's WAL sender does not know this command", true);
        }
        return true;
    }

    private void timelineHistory(long timeline) throws IOException {
        String name = String.format(Locale.ROOT, "%08X.history", timeline);
        Path file = options.archiveDirectory().resolve(name);
        if (!Files.isRegularFile(file) || Files.size(file) > HISTORY_BYTES_LIMIT) {
            messages.error("58P01", "could not open file \"" + name + "\"", true);
            return;
        }
        messages.row(
                "TIMELINE_HISTORY",
                new String[] {"filename", "content"},
                new String[] {name, Files.readString(file)});
    }

    private boolean startReplication(Matcher start) throws IOException, InterruptedException {
        long lsn = Lsn.parse(start.group(1));
        String timeline = start.group(2);
        if (lsn <= 0) {
            messages.error("22023", "invalid WAL location", true);
            return true;
        }
        if (timeline != null && Long.parseLong(timeline) != options.timeline()) {
            messages.error(
                    "22023",
                    "requested timeline "
                            + timeline
                            + ", this stream is on timeline "
                            + options.timeline(),
                    true);
            return true;
        }
        messages.copyBoth();
        streaming = true;
        sender.streams(this);
        Thread writer = Thread.ofVirtual().name("wal-sender-" + number).start(() -> stream(lsn));
        boolean open = false;
        try {
            open = readReplies();
        } finally {
            ending = true;
            streaming = false;
            if (!open) {
                closeChannel();
            }
            wal.wake();
            writer.join();
        }
        if (open) {
            messages.copyDoneAndReady();
            ending = false;
        }
        return open;
    }

    /** True when the standby ended the copy and may send commands again. */
    private boolean readReplies() throws IOException {
        while (true) {
            ReplicationMessages.Message message = messages.readMessage();
            if (message == null || message.type() == 'X' || message.type() == 'f') {
                return false;
            }
            if (message.type() == 'c') {
                return true;
            }
            if (message.type() != 'd') {
                return false;
            }
            if (ReplicationMessages.isStatusReply(message.body())) {
                statusReply(message.body());
            }
        }
    }

    private void statusReply(ByteBuffer reply) {
        flushed = reply.getLong(9);
        applied = reply.getLong(17);
        if (reply.get(33) != 0) {
            answerWanted = true;
            wal.wake();
        }
        sender.reported();
    }

    /** The writing thread. */
    private void stream(long startLsn) {
        try (PublishedWal.Cursor cursor = wal.new Cursor(startLsn)) {
            while (!ending) {
                sendNext(cursor);
            }
        } catch (NoSuchFileException e) {
            LOG.warn("the shadow asks for the WAL segment {}, which is gone", e.getMessage());
            refuse("requested WAL segment " + e.getMessage() + " has already been removed");
        } catch (IOException e) {
            if (!ending) {
                LOG.debug("replication connection {} ended: {}", number, e.toString());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (!ending) {
                close();
            }
        }
    }

    private void sendNext(PublishedWal.Cursor cursor) throws IOException, InterruptedException {
        long lsn = cursor.lsn();
        int count =
                cursor.read(
                        messages.walFrame(),
                        ReplicationMessages.WAL_HEADER,
                        ReplicationMessages.WAL_PAYLOAD_LIMIT);
        if (count > 0) {
            messages.sendWal(lsn, count);
            return;
        }
        if (replyWanted || answerWanted) {
            boolean ask = replyWanted;
            replyWanted = false;
            answerWanted = false;
            messages.sendKeepalive(lsn, ask);
        }
        long before = System.nanoTime();
        wal.await(lsn, () -> ending || replyWanted || answerWanted, KEEPALIVE_NANOS);
        if (System.nanoTime() - before >= KEEPALIVE_NANOS) {
            replyWanted = true;
        }
    }

    private void refuse(String message) {
        try {
            messages.error("58P01", message, false);
        } catch (IOException e) {
            LOG.debug("replication connection {} ended: {}", number, e.toString());
        }
    }
}
