package dev.walshadow.source.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.WalChunk;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One physical replication connection: simple commands, the WAL stream (CopyBoth) and base backups.
 * pgjdbc cannot do these (docs/replication-protocol.md). Used by one thread; only {@link
 * #sendStatus}, {@link #nanosSinceReceived()} and {@link #close()} may be called by others at the
 * same time. The WAL stream reads into a reused buffer and makes no object per message.
 *
 * <p>Failures: {@link ReconnectException} when the connection is gone or cannot be made; the other
 * types as the server's SQLSTATE demands, with codes of {@link ReplicationCodes}.
 */
public final class ReplicationConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicationConnection.class);
    private static final Pattern SLOT_NAME = Pattern.compile("[a-z0-9_]{1,63}");

    /** What {@link #readCopy} found. */
    public enum CopyEvent {
        /** The chunk holds WAL. */
        WAL,
        /** Nothing has come in the time given. */
        NOTHING,
        /** Only the server's end position has moved. */
        KEEPALIVE,
        /** The server wants a status at once. */
        REPLY_REQUESTED,
        /** The historic timeline ends here: see {@link #timelineSwitch()}; commands work again. */
        END_OF_TIMELINE
    }

    private final Wire wire;
    private final MessageReader reader;
    private @Nullable TimelineSwitch timelineSwitch;

    /** Of the stream: behind the last byte that arrived. */
    private long position;

    private long serverEnd;
    private boolean streaming;
    private volatile boolean closed;

    ReplicationConnection(Wire wire) {
        this.wire = wire;
        this.reader = wire.reader();
    }

    /** Connects and logs in to the first of the setting's hosts that serves. */
    public static ReplicationConnection connect(ConnectionSettings settings) {
        return connect(settings, ConnectionOpener.SocketLayer.PLAIN);
    }

    static ReplicationConnection connect(
            ConnectionSettings settings, ConnectionOpener.SocketLayer layer) {
        return new ReplicationConnection(new ConnectionOpener(settings, layer).open());
    }

    public HostAddress host() {
        return wire.host();
    }

    /** E.g. 180001. */
    public int serverVersionNumber() {
        return wire.parameters().versionNumber();
    }

    public boolean isStandby() {
        return wire.parameters().value("in_hot_standby").equals("on");
    }

    public SystemIdentity identifySystem() {
        List<@Nullable String[]> rows = command("IDENTIFY_SYSTEM", "identify the system");
        String[] row = singleRow(rows, 3);
        try {
            return new SystemIdentity(
                    Long.parseUnsignedLong(row[0]),
                    Integer.parseUnsignedInt(row[1]),
                    Lsn.parse(row[2]));
        } catch (IllegalArgumentException e) {
            throw reader.notProtocol("an unreadable answer to IDENTIFY_SYSTEM");
        }
    }

    /** A server setting as SHOW prints it. */
    public String show(String parameter) {
        Invariant.check(
                parameter.matches("[a-z_0-9.]+"),
                "a parameter name needs no quoting: " + parameter);
        return singleRow(command("SHOW " + parameter, "show " + parameter), 1)[0];
    }

    /** Bytes per WAL segment. */
    public int walSegmentSize() {
        long bytes = Units.bytes(show("wal_segment_size"));
        if (bytes < 1 << 20 || bytes > 1 << 30 || Long.bitCount(bytes) != 1) {
            throw reader.notProtocol("wal_segment_size " + bytes);
        }
        return (int) bytes;
    }

    /** 0 = the server never gives up on a silent standby. */
    public long walSenderTimeoutMillis() {
        return Units.millis(show("wal_sender_timeout"));
    }

    /** Makes sure that the permanent physical slot exists and reserves WAL. */
    public SlotState createPhysicalSlot(String name) {
        checkSlotName(name);
        String doing = "create the replication slot " + name;
        ServerError error =
                run("CREATE_REPLICATION_SLOT \"" + name + "\" PHYSICAL RESERVE_WAL", _ -> {});
        boolean created = error == null;
        if (error != null && !error.sqlState().equals("42710")) {
            throw error.toException(doing, wire.peer());
        }
        SlotState found = readSlot(name);
        if (found == null || found.restartLsn() == Lsn.INVALID) {
            throw new ConfigurationException(
                    ReplicationCodes.SLOT_UNUSABLE,
                    "the replication slot "
                            + name
                            + " at "
                            + wire.peer()
                            + " reserves no WAL: it was made without reserving, or was"
                            + " invalidated by max_slot_wal_keep_size. Drop it with"
                            + " pg_drop_replication_slot('"
                            + name
                            + "') or choose another name in [source] slot");
        }
        return new SlotState(created, found.restartLsn());
    }

    /** The slot's position, 0 if it reserves nothing; null if there is no such slot. */
    public @Nullable SlotState readSlot(String name) {
        checkSlotName(name);
        List<@Nullable String[]> rows =
                command(
                        "READ_REPLICATION_SLOT \"" + name + "\"",
                        "read the replication slot " + name);
        if (rows.size() != 1 || rows.getFirst().length < 2) {
            throw reader.notProtocol("an unreadable answer to READ_REPLICATION_SLOT");
        }
        String kind = rows.getFirst()[0];
        String position = rows.getFirst()[1];
        if (kind == null) {
            return null;
        }
        return new SlotState(false, position == null ? Lsn.INVALID : parseLsn(position));
    }

    /** Drops the slot; it must not be in use. */
    public void dropSlot(String name) {
        checkSlotName(name);
        command("DROP_REPLICATION_SLOT \"" + name + "\"", "drop the replication slot " + name);
    }

    /** Fails unless it is a name that PostgreSQL takes for a slot. */
    public static void checkSlotName(String name) {
        if (!SLOT_NAME.matcher(name).matches()) {
            throw new ConfigurationException(
                    ReplicationCodes.BAD_SETTING,
                    "\"" + name + "\" is no slot name: 1 to 63 of a-z, 0-9 and _ are allowed");
        }
    }

    /** The content of a timeline history file. */
    public byte[] timelineHistory(int timeline) {
        String text = Integer.toUnsignedString(timeline);
        List<byte[]> content = new ArrayList<>();
        ServerError error =
                run(
                        "TIMELINE_HISTORY " + text,
                        row -> {
                            if (row.int16() != 2) {
                                throw row.notProtocol("a row of another width");
                            }
                            row.skip(row.int32());
                            content.add(row.bytes(row.int32()));
                        });
        if (error != null) {
            throw error.toException("read the history of timeline " + text, wire.peer());
        }
        if (content.size() != 1) {
            throw reader.unexpected("one row of TIMELINE_HISTORY");
        }
        return content.getFirst();
    }

    /**
     * Starts the WAL stream at exactly {@code lsn}; any byte position will do. If the timeline ends
     * at {@code lsn}, the first {@link #readCopy} says so.
     *
     * @param slot null to stream without one
     */
    public void startPhysical(@Nullable String slot, long lsn, int timeline) {
        if (slot != null) {
            checkSlotName(slot);
        }
        timelineSwitch = null;
        position = lsn;
        String from = Lsn.format(lsn) + " TIMELINE " + Integer.toUnsignedString(timeline);
        wire.writer()
                .query(
                        "START_REPLICATION "
                                + (slot == null ? "" : "SLOT \"" + slot + "\" ")
                                + "PHYSICAL "
                                + from);
        switch (nextMessage()) {
            case Protocol.COPY_BOTH_RESPONSE -> streaming = true;
            case Protocol.ROW_DESCRIPTION -> readSwitch();
            case Protocol.ERROR_RESPONSE -> {
                ServerError error = ServerError.read(reader);
                drainToReady();
                throw refusedStart(error, from, slot);
            }
            default -> throw reader.unexpected("an answer to START_REPLICATION");
        }
    }

    private WalshadowException refusedStart(ServerError error, String from, @Nullable String slot) {
        if (error.sqlState().equals("XX000")) {
            // The server gives no state of its own to a position that is not in its history.
            return new HaltException(
                    ReplicationCodes.TIMELINE_CHANGED,
                    "the server "
                            + wire.peer()
                            + " does not continue the WAL at "
                            + from
                            + ": "
                            + error.text()
                            + ". It was restored or promoted; load anew");
        }
        String doing =
                "stream WAL from "
                        + from
                        + (slot == null ? "" : " through the replication slot " + slot);
        return error.toException(doing, wire.peer());
    }

    /**
     * Waits for the stream's next message.
     *
     * @param into set for {@link CopyEvent#WAL} only, valid until the next call
     */
    public CopyEvent readCopy(WalChunk into) {
        return readCopy(into, 0);
    }

    /**
     * As {@link #readCopy(WalChunk)}, but waits only so long for a message to begin; on a Unix
     * socket without limit. 0 = no limit.
     */
    public CopyEvent readCopy(WalChunk into, int waitMillis) {
        if (!streaming) {
            Invariant.check(timelineSwitch != null, "the stream has been started");
            return CopyEvent.END_OF_TIMELINE;
        }
        if (waitMillis > 0 && !wire.awaitMessage(waitMillis)) {
            return CopyEvent.NOTHING;
        }
        return switch (nextMessage()) {
            case Protocol.COPY_DATA -> readCopyData(into);
            case Protocol.COPY_DONE -> {
                streaming = false;
                wire.writer().copyDone();
                expect(Protocol.ROW_DESCRIPTION, "the next timeline");
                readSwitch();
                yield CopyEvent.END_OF_TIMELINE;
            }
            case Protocol.COMMAND_COMPLETE ->
                    throw new ReconnectException(
                            ReplicationCodes.CONNECTION_LOST,
                            "the server " + wire.peer() + " is shutting down");
            case Protocol.ERROR_RESPONSE ->
                    throw ServerError.read(reader)
                            .toException("stream WAL from " + Lsn.format(position), wire.peer());
            default -> throw reader.unexpected("WAL");
        };
    }

    /** The last chunk stays valid; what follows is read into another buffer. */
    public void detachBuffer() {
        reader.detachBuffer();
    }

    private CopyEvent readCopyData(WalChunk into) {
        int kind = reader.int8();
        return switch (kind) {
            case Protocol.WAL_DATA -> {
                long start = reader.int64();
                serverEnd = reader.int64();
                reader.skip(8);
                position = start + reader.remaining();
                into.set(reader.buffer(), reader.cursor(), reader.remaining(), start, serverEnd);
                yield CopyEvent.WAL;
            }
            case Protocol.KEEPALIVE -> {
                serverEnd = reader.int64();
                reader.skip(8);
                yield reader.int8() != 0 ? CopyEvent.REPLY_REQUESTED : CopyEvent.KEEPALIVE;
            }
            default -> throw reader.notProtocol("copy data of kind " + kind);
        };
    }

    /** The row of the next timeline and what follows it, the row description being read. */
    private void readSwitch() {
        expect(Protocol.DATA_ROW, "the next timeline's row");
        @Nullable String[] row = readRow();
        String next = row.length == 2 ? row[0] : null;
        String position = row.length == 2 ? row[1] : null;
        if (next == null || position == null) {
            throw reader.notProtocol("an unreadable timeline switch");
        }
        try {
            timelineSwitch = new TimelineSwitch(Integer.parseUnsignedInt(next), parseLsn(position));
        } catch (NumberFormatException e) {
            throw reader.notProtocol("timeline " + next);
        }
        drainToReady();
    }

    /** Where the historic timeline ended; null before {@link CopyEvent#END_OF_TIMELINE}. */
    public @Nullable TimelineSwitch timelineSwitch() {
        return timelineSwitch;
    }

    /** How far the server's WAL reached by its last message. */
    public long serverEnd() {
        return serverEnd;
    }

    /** Thread safe. Positions of 0 say nothing. */
    public void sendStatus(long write, long flush, long apply, boolean replyRequested) {
        wire.writer().standbyStatus(write, flush, apply, replyRequested);
    }

    /** How long the server has been silent. Thread safe. */
    public long nanosSinceReceived() {
        return System.nanoTime() - reader.lastReceivedNanos();
    }

    /**
     * Takes a base backup and hands it to the sink as it comes. After a failure the connection is
     * closed.
     */
    public void baseBackup(BaseBackupOptions options, BaseBackupSink sink)
            throws InterruptedException {
        boolean complete = false;
        try {
            new BaseBackupReader(this, wire).run(options, sink);
            complete = true;
        } finally {
            if (!complete) {
                close();
            }
        }
    }

    /** The next message that is no notice and no parameter status. */
    int nextMessage() {
        while (true) {
            int type = reader.next();
            switch (type) {
                case Protocol.NOTICE_RESPONSE ->
                        LOG.debug("{}: {}", wire.peer(), ServerError.read(reader).text());
                case Protocol.PARAMETER_STATUS -> wire.parameters().read(reader);
                case Protocol.NOTIFICATION_RESPONSE -> {}
                default -> {
                    return type;
                }
            }
        }
    }

    void expect(int type, String what) {
        int found = nextMessage();
        if (found == Protocol.ERROR_RESPONSE) {
            throw ServerError.read(reader).toException("read " + what, wire.peer());
        }
        if (found != type) {
            throw reader.unexpected(what);
        }
    }

    private interface RowReader {
        void row(MessageReader row);
    }

    /** Runs a command to its end; returns the error it ended with, if any. */
    private @Nullable ServerError run(String command, RowReader rows) {
        Invariant.check(!streaming, "no command runs during the WAL stream");
        wire.writer().query(command);
        ServerError error = null;
        while (true) {
            switch (nextMessage()) {
                case Protocol.DATA_ROW -> rows.row(reader);
                case Protocol.ERROR_RESPONSE -> {
                    error = ServerError.read(reader);
                    if (error.severity().equals("FATAL") || error.severity().equals("PANIC")) {
                        return error;
                    }
                }
                case Protocol.READY_FOR_QUERY -> {
                    return error;
                }
                case Protocol.ROW_DESCRIPTION, Protocol.COMMAND_COMPLETE, Protocol.EMPTY_QUERY -> {}
                default -> throw reader.unexpected("an answer to " + command);
            }
        }
    }

    private List<@Nullable String[]> command(String command, String doing) {
        List<@Nullable String[]> rows = new ArrayList<>();
        ServerError error = run(command, _ -> rows.add(readRow()));
        if (error != null) {
            throw error.toException(doing, wire.peer());
        }
        return rows;
    }

    /** The columns of the DataRow just read, as text. */
    @Nullable String[] readRow() {
        int count = reader.int16();
        if (count > reader.remaining() / 4) {
            throw reader.notProtocol("a row of " + count + " columns");
        }
        @Nullable String[] row = new @Nullable String[count];
        for (int i = 0; i < count; i++) {
            int length = reader.int32();
            row[i] = length == -1 ? null : reader.string(length);
        }
        return row;
    }

    private String[] singleRow(List<@Nullable String[]> rows, int columns) {
        if (rows.size() != 1 || rows.getFirst().length < columns) {
            throw reader.unexpected("one row of " + columns + " columns");
        }
        String[] result = new String[columns];
        for (int i = 0; i < columns; i++) {
            String value = rows.getFirst()[i];
            if (value == null) {
                throw reader.notProtocol("a NULL where a value is due");
            }
            result[i] = value;
        }
        return result;
    }

    long parseLsn(String text) {
        try {
            return Lsn.parse(text);
        } catch (IllegalArgumentException e) {
            throw reader.notProtocol("the position " + text);
        }
    }

    void drainToReady() {
        ServerError error = null;
        while (true) {
            int type = nextMessage();
            if (type == Protocol.READY_FOR_QUERY) {
                break;
            }
            if (type == Protocol.ERROR_RESPONSE) {
                error = ServerError.read(reader);
            }
        }
        if (error != null) {
            throw error.toException("end the command", wire.peer());
        }
    }

    public boolean isClosed() {
        return closed;
    }

    /** Ends reads and writes of other threads too. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            wire.writer().terminate();
        } catch (WalshadowException e) {
            LOG.debug("{}: {}", wire.peer(), e.getMessage());
        }
        wire.closeSocket();
    }

    @Override
    public String toString() {
        return "replication connection to " + wire.peer();
    }

    /** Values of settings with units, as SHOW prints them. */
    static final class Units {
        private Units() {}

        static long bytes(String text) {
            return scaled(text, "B", 1, "kB", 1 << 10, "MB", 1 << 20, "GB", 1 << 30);
        }

        static long millis(String text) {
            return scaled(text, "ms", 1, "s", 1000, "min", 60_000, "h", 3_600_000, "d", 86_400_000);
        }

        private static long scaled(String text, Object... units) {
            String trimmed = text.trim().toLowerCase(Locale.ROOT);
            int digits = 0;
            while (digits < trimmed.length() && Character.isDigit(trimmed.charAt(digits))) {
                digits++;
            }
            String unit = trimmed.substring(digits);
            if (digits == 0 || digits > 12) {
                return 0;
            }
            long number = Long.parseLong(trimmed, 0, digits, 10);
            for (int i = 0; i < units.length; i += 2) {
                if (unit.equals(units[i].toString().toLowerCase(Locale.ROOT))) {
                    return number * ((Number) units[i + 1]).longValue();
                }
            }
            return number;
        }
    }
}
