package dev.walshadow.source.replication;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.source.WalChunk;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A server that answers with any bytes: the typed failure, never more memory than its messages. */
final class ProtocolFuzzTest {
    private static final String PEER = "fuzzer";

    /** First byte: what was asked. */
    @FuzzTest(maxDuration = "1m")
    void answers(byte[] bytes) throws InterruptedException {
        if (bytes.length == 0) {
            return;
        }
        Wire wire = wire(bytes);
        ReplicationConnection connection = new ReplicationConnection(wire);
        try {
            switch (bytes[0] & 7) {
                case 0 -> connection.identifySystem();
                case 1 -> connection.walSegmentSize();
                case 2 -> connection.walSenderTimeoutMillis();
                case 3 -> connection.createPhysicalSlot("walshadow");
                case 4 -> connection.timelineHistory(2);
                case 5 -> connection.readSlot("walshadow");
                case 6 -> stream(connection);
                default ->
                        new BaseBackupReader(connection, wire)
                                .run(BaseBackupOptions.DEFAULT, new Backup());
            }
        } catch (WalshadowException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    private static void stream(ReplicationConnection connection) {
        connection.startPhysical("walshadow", 1L << 24, 1);
        WalChunk chunk = new WalChunk();
        while (true) {
            switch (connection.readCopy(chunk)) {
                case WAL ->
                        Invariant.check(
                                chunk.length() >= 0
                                        && chunk.offset() + chunk.length() <= chunk.buffer().length,
                                "WAL lies inside its message");
                case END_OF_TIMELINE -> {
                    return;
                }
                case KEEPALIVE, NOTHING, REPLY_REQUESTED -> {}
            }
        }
    }

    private static final class Backup implements BaseBackupSink {
        @Override
        public void start(long startLsn, int timeline, List<Tablespace> tablespaces) {}

        @Override
        public void archive(String name, String path) {}

        @Override
        public void data(byte[] bytes, int offset, int length) {
            Invariant.check(
                    length >= 0 && offset + length <= bytes.length, "data lies in its message");
        }

        @Override
        public void end(long endLsn, int timeline) {}
    }

    @FuzzTest(maxDuration = "1m")
    void login(byte[] bytes) {
        Wire wire = wire(bytes);
        Authentication login = new Authentication("user", "password", PEER, null);
        try {
            wire.reader().next();
            while (!login.answer(wire.reader(), wire.writer())) {
                wire.reader().next();
            }
        } catch (WalshadowException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }

    private static Wire wire(byte[] bytes) {
        int from = Math.min(1, bytes.length);
        return new Wire(
                new HostAddress("/fuzzer", 5432),
                PEER,
                () -> {},
                null,
                new MessageReader(new ByteArrayInputStream(bytes, from, bytes.length - from), PEER),
                new MessageWriter(OutputStream.nullOutputStream(), PEER),
                new ServerParameters());
    }

    /** {@code [source] url}, as URL and as keywords. */
    @FuzzTest(maxDuration = "1m")
    void connectionString(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        try {
            ConnectionSettings settings =
                    ConnectionSettings.parse(text, Map.of(), Path.of("/nonexistent"));
            Invariant.check(!settings.hosts().isEmpty(), "a connection has a host");
            Invariant.check(!settings.jdbcUrl().isEmpty(), "and an address for SQL");
        } catch (WalshadowException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
