package dev.walshadow.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.Invariant.BrokenInvariantError;
import dev.walshadow.base.RetryException;
import dev.walshadow.postgres.Lsn;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class WalSenderTest {
    private static final int SEGMENT = 1 << 20;
    private static final long START = 5L * SEGMENT;
    private static final int PAGE = 8192;
    private static final int LENGTH = 3 * SEGMENT + 12_345;

    private final byte[] wal = new byte[LENGTH];
    private final WalSender sender;
    private final Path directory;
    private final Path socket;

    WalSenderTest(@TempDir Path directory) {
        this.directory = directory;
        new Random(42).nextBytes(wal);
        socket = directory.resolve(".s.PGSQL.5433");
        sender =
                new WalSender(
                        new WalSender.Options(
                                7_123_456_789_012_345_678L,
                                1,
                                SEGMENT,
                                START,
                                directory,
                                directory,
                                5433,
                                "17.6"));
    }

    @AfterEach
    void close() {
        sender.close();
    }

    private static String lsn(long offset) {
        return Lsn.format(START + offset);
    }

    /** Publishes [from, to) in pieces that end where the ends set says. */
    private void publish(int from, int to, Random random, Set<Long> ends) {
        int position = from;
        while (position < to) {
            int next =
                    Math.min(
                            to,
                            position + 1 + random.nextInt(random.nextInt(20) == 0 ? 300_000 : 900));
            sender.publish(START + position, wal, position, next - position);
            for (int segment = position / SEGMENT; segment < next / SEGMENT; segment++) {
                archive(segment);
                sender.segmentComplete(START + (long) segment * SEGMENT);
            }
            position = next;
            ends.add(START + position);
        }
    }

    private void archive(int segment) {
        try {
            Files.write(
                    directory.resolve(
                            Lsn.segmentFileName(1, START + (long) segment * SEGMENT, SEGMENT)),
                    Arrays.copyOfRange(wal, segment * SEGMENT, (segment + 1) * SEGMENT));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void answersWhatAWalreceiverAsks() throws IOException {
        Files.writeString(directory.resolve("00000002.history"), "1\t0/5000000\tno reason\n");
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
            List<TestWalReceiver.Message> identity = receiver.query("IDENTIFY_SYSTEM");
            assertThat(identity)
                    .extracting(TestWalReceiver.Message::type)
                    .containsExactly('T', 'D', 'C', 'Z');
            String row = new String(identity.get(1).body(), StandardCharsets.ISO_8859_1);
            assertThat(row).contains("7123456789012345678", lsn(0));
            List<TestWalReceiver.Message> history = receiver.query("TIMELINE_HISTORY 2");
            assertThat(new String(history.get(1).body(), StandardCharsets.UTF_8))
                    .contains("00000002.history", "no reason");
            assertThat(receiver.query("TIMELINE_HISTORY 3").getFirst().type()).isEqualTo('E');
            assertThat(receiver.query("SELECT 1").getFirst().type()).isEqualTo('E');
            assertThat(receiver.query("START_REPLICATION 0/0 TIMELINE 1").getFirst().type())
                    .isEqualTo('E');
            assertThat(
                            receiver.query("START_REPLICATION " + lsn(0) + " TIMELINE 2")
                                    .getFirst()
                                    .type())
                    .isEqualTo('E');
            receiver.start(lsn(0), 1);
            receiver.send('c', new byte[0]);
            assertThat(receiver.untilReady())
                    .extracting(TestWalReceiver.Message::type)
                    .containsExactly('c', 'C', 'Z');
            assertThat(receiver.query("IDENTIFY_SYSTEM")).hasSize(4);
        }
    }

    @Test
    void deliversExactlyThePublishedBytesInSafePieces() throws Exception {
        Set<Long> safe = new TreeSet<>();
        List<Long> ends = new ArrayList<>();
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
            receiver.start(lsn(0), 1);
            CompletableFuture<byte[]> received =
                    CompletableFuture.supplyAsync(() -> {
                        try {
                            return receiver.walUntil(START + LENGTH, ends);
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    });
            publish(0, LENGTH, new Random(7), safe);
            assertThat(received.get(30, TimeUnit.SECONDS)).isEqualTo(wal);
        }
        assertThat(ends).allMatch(end -> end % PAGE == 0 || safe.contains(end));
    }

    @Test
    void servesLateJoinersFromArchiveAndMemory() throws IOException {
        Set<Long> safe = new TreeSet<>();
        publish(0, LENGTH - 5000, new Random(3), safe);
        for (int start : new int[] {0, SEGMENT, 2 * SEGMENT + 3 * PAGE, 3 * SEGMENT}) {
            List<Long> ends = new ArrayList<>();
            try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
                receiver.start(lsn(start), 1);
                assertThat(receiver.walUntil(START + LENGTH - 5000, ends))
                        .isEqualTo(Arrays.copyOfRange(wal, start, LENGTH - 5000));
            }
            assertThat(ends).allMatch(end -> end % PAGE == 0 || safe.contains(end));
        }
    }

    @Test
    void neverGoesBeyondThePublishedPosition() throws IOException {
        sender.publish(START, wal, 0, 1000);
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket);
                TestWalReceiver early = TestWalReceiver.connected(socket)) {
            early.start(lsn(PAGE), 1);
            receiver.start(lsn(0), 1);
            assertThat(receiver.walUntil(START + 1000, new ArrayList<>())).hasSize(1000);
            receiver.reply(START + 1000, START + 1000, START + 1000, true);
            TestWalReceiver.Frame answer = receiver.frame();
            assertThat(answer.kind()).isEqualTo('k');
            assertThat(answer.end()).isEqualTo(START + 1000);
            early.reply(0, 0, 0, true);
            assertThat(early.frame().kind()).isEqualTo('k');
            sender.publish(START + 1000, wal, 1000, PAGE);
            TestWalReceiver.Frame first = early.frame();
            assertThat(first.start()).isEqualTo(START + PAGE);
            assertThat(first.data()).isEqualTo(Arrays.copyOfRange(wal, PAGE, 1000 + PAGE));
        }
        assertThatThrownBy(() -> sender.publish(START, wal, 0, 10))
                .isInstanceOf(BrokenInvariantError.class);
    }

    @Test
    void saysThatASegmentIsGone() throws IOException {
        publish(0, 2 * SEGMENT, new Random(1), new TreeSet<>());
        Files.delete(directory.resolve(Lsn.segmentFileName(1, START, SEGMENT)));
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
            receiver.start(lsn(0), 1);
            TestWalReceiver.Message answer = receiver.read();
            assertThat(answer.type()).isEqualTo('E');
            assertThat(new String(answer.body(), StandardCharsets.UTF_8))
                    .contains("58P01", "has already been removed");
            assertThatThrownBy(receiver::read).isInstanceOf(EOFException.class);
        }
    }

    @Test
    void waitsForTheShadowToApply() throws Exception {
        sender.publish(START, wal, 0, 2000);
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
            receiver.start(lsn(0), 1);
            receiver.walUntil(START + 2000, new ArrayList<>());
            CompletableFuture<Long> applied = awaiting(START + 2000, Duration.ofSeconds(20));
            assertThat(receiver.frame().replyRequested()).isTrue();
            receiver.reply(START + 2000, START + 2000, START + 1000, false);
            assertThat(receiver.frame().replyRequested()).isTrue();
            assertThat(applied).isNotDone();
            receiver.reply(START + 2000, START + 2000, START + 2000, false);
            long connection = applied.get(10, TimeUnit.SECONDS);
            assertThat(connection).isEqualTo(sender.connectionNumber()).isPositive();
            assertThat(sender.appliedLsn()).isEqualTo(START + 2000);
            assertThat(sender.flushedLsn()).isEqualTo(START + 2000);
        }
        while (sender.connected()) {
            Thread.onSpinWait();
        }
        CompletableFuture<Long> again = awaiting(START + 2000, Duration.ofSeconds(20));
        try (TestWalReceiver restarted = TestWalReceiver.connected(socket)) {
            restarted.start(lsn(0), 1);
            restarted.reply(START, START, START, false);
            restarted.walUntil(START + 2000, new ArrayList<>());
            assertThat(again).isNotDone();
            restarted.reply(START + 2000, START + 2000, START + 2000, false);
            assertThat(again.get(10, TimeUnit.SECONDS)).isEqualTo(sender.connectionNumber());
        }
        assertThatThrownBy(() -> sender.awaitApplied(START + 3000, Duration.ofMillis(50)))
                .isInstanceOf(RetryException.class)
                .hasMessageContaining(Lsn.format(START + 3000));
    }

    private CompletableFuture<Long> awaiting(long lsn, Duration stall) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return sender.awaitApplied(lsn, stall);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Test
    void outlivesAnyBytesOfAClient() throws IOException {
        sender.publish(START, wal, 0, 100_000);
        Random random = new Random(11);
        for (int round = 0; round < 300; round++) {
            try (TestWalReceiver receiver =
                    round % 2 == 0
                            ? new TestWalReceiver(socket)
                            : TestWalReceiver.connected(socket)) {
                if (round % 4 == 3) {
                    receiver.start(lsn(0), 1);
                }
                byte[] bytes = new byte[1 + random.nextInt(200)];
                random.nextBytes(bytes);
                if (round % 3 == 0) {
                    Arrays.fill(bytes, 1, Math.min(4, bytes.length), (byte) 0);
                }
                receiver.raw(bytes);
            } catch (IOException e) {
                assertThat(e)
                        .hasMessageMatching("(?i).*(broken pipe|reset|closed|not connected).*");
            }
        }
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
            receiver.start(lsn(0), 1);
            assertThat(receiver.walUntil(START + 100_000, new ArrayList<>()))
                    .isEqualTo(Arrays.copyOf(wal, 100_000));
        }
    }

    @Test
    void doesNotRunOutOfPlacesForTheShadow() throws IOException {
        List<TestWalReceiver> idle = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            idle.add(new TestWalReceiver(socket));
        }
        try (TestWalReceiver receiver = TestWalReceiver.connected(socket)) {
            assertThat(receiver.query("IDENTIFY_SYSTEM")).hasSize(4);
        }
        for (TestWalReceiver receiver : idle) {
            receiver.close();
        }
    }
}
