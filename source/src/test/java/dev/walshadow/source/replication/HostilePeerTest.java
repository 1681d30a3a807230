package dev.walshadow.source.replication;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.BigEndian;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.source.WalChunk;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whatever a peer sends, only typed failures come out, and never an endless loop. */
@Timeout(60)
final class HostilePeerTest {
    private static final String TYPES = "RKSZENATDCIWHdcvG1x";
    private static final int ROUNDS = 20_000;

    private interface Act {
        void on(ReplicationConnection connection, Wire wire) throws InterruptedException;
    }

    @Test
    void anyBytesEndInTypedFailures() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        List<Act> acts =
                List.of(
                        (connection, _) -> connection.identifySystem(),
                        (connection, _) -> connection.show("wal_level"),
                        (connection, _) -> connection.walSegmentSize(),
                        (connection, _) -> connection.createPhysicalSlot("s"),
                        (connection, _) -> connection.timelineHistory(2),
                        (connection, _) -> {
                            connection.startPhysical("s", 1 << 24, 1);
                            WalChunk chunk = new WalChunk();
                            ReplicationConnection.CopyEvent event;
                            do {
                                event = connection.readCopy(chunk);
                            } while (event != ReplicationConnection.CopyEvent.END_OF_TIMELINE);
                        },
                        (connection, _) ->
                                connection.baseBackup(BaseBackupOptions.DEFAULT, new NoSink()),
                        (_, wire) -> {
                            Authentication login = new Authentication("u", "p", "peer", null);
                            do {
                                wire.reader().next();
                            } while (!login.answer(wire.reader(), wire.writer()));
                        });
        for (int round = 0; round < ROUNDS; round++) {
            byte[] bytes = dialogue(random);
            Act act = acts.get(random.nextInt(acts.size()));
            try {
                Wire wire = wire(bytes);
                act.on(new ReplicationConnection(wire), wire);
            } catch (WalshadowException e) {
                assertThat(e.getMessage()).startsWith("WS-14");
            } catch (RuntimeException e) {
                throw new AssertionError("seed " + seed + ", round " + round, e);
            }
        }
    }

    /** Mostly well-formed messages with any content, sometimes plain noise. */
    private static byte[] dialogue(Random random) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int messages = random.nextInt(12);
        for (int i = 0; i < messages; i++) {
            byte[] body = body(random);
            byte[] header = new byte[5];
            header[0] =
                    (byte)
                            (random.nextInt(20) == 0
                                    ? random.nextInt(256)
                                    : TYPES.charAt(random.nextInt(TYPES.length())));
            int length = random.nextInt(30) == 0 ? random.nextInt() : body.length + 4;
            BigEndian.putInt(header, 1, length);
            out.writeBytes(header);
            out.writeBytes(body);
        }
        return out.toByteArray();
    }

    private static byte[] body(Random random) {
        byte[] body = new byte[random.nextInt(60)];
        random.nextBytes(body);
        if (body.length > 8 && random.nextBoolean()) {
            // A plausible row or authentication message.
            BigEndian.putShort(body, 0, random.nextInt(4));
            BigEndian.putInt(body, 2, random.nextInt(-1, 12));
        }
        if (body.length > 0 && random.nextInt(3) == 0) {
            body[0] = (byte) "wknpdmr".charAt(random.nextInt(7));
        }
        if (body.length > 4 && random.nextInt(4) == 0) {
            BigEndian.putInt(body, 0, random.nextInt(13));
        }
        return body;
    }

    private static Wire wire(byte[] bytes) {
        return new Wire(
                new HostAddress("peer", 1),
                "peer",
                () -> {},
                null,
                new MessageReader(new ByteArrayInputStream(bytes), "peer"),
                new MessageWriter(OutputStream.nullOutputStream(), "peer"),
                new ServerParameters());
    }

    private static final class NoSink implements BaseBackupSink {
        @Override
        public void start(long startLsn, int timeline, List<Tablespace> tablespaces) {}

        @Override
        public void archive(String name, String path) {}

        @Override
        public void data(byte[] bytes, int offset, int length) {
            assertThat(offset + length).isLessThanOrEqualTo(bytes.length);
        }

        @Override
        public void end(long endLsn, int timeline) {}
    }
}
