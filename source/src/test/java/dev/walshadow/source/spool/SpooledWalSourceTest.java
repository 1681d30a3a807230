package dev.walshadow.source.spool;

import static dev.walshadow.source.spool.RawWal.PAGES;
import static dev.walshadow.source.spool.RawWal.SEGMENT;
import static dev.walshadow.source.spool.RawWal.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.HaltException;
import dev.walshadow.source.SourceCodes;
import dev.walshadow.source.WalChunk;
import dev.walshadow.source.WalSource;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A pump that comes and goes, over a live stream that reuses its buffer. */
@Timeout(120)
final class SpooledWalSourceTest {
    private static final long SEED = Long.getLong("walshadow.seed", System.nanoTime() & 0xFFFFFF);
    private static final long PLENTY = 64L * SEGMENT;

    @TempDir private Path directory = Path.of("");

    private final RawWal wal = new RawWal(24, SEED);
    private final AtomicLong told = new AtomicLong();
    private final WalChunk chunk = new WalChunk();

    /** Gives WAL up to {@link #available}, in place in one buffer, as a connection does. */
    private final class Live implements WalSource {
        private final Random random = new Random(SEED);
        private final CountDownLatch closed = new CountDownLatch(1);
        private volatile long available;
        private volatile long failsAt = Long.MAX_VALUE;
        private volatile long startedAt;
        private volatile long position;
        private byte[] buffer = new byte[128 << 10];

        Live(long available) {
            this.available = available;
        }

        @Override
        public void start(int timeline, long lsn) {
            startedAt = lsn;
            position = lsn;
        }

        @Override
        public boolean next(WalChunk into) throws InterruptedException {
            if (position >= failsAt) {
                throw new HaltException(SourceCodes.WAL_GAP, "the server says no");
            }
            int count = (int) Math.min(1 + random.nextInt(buffer.length), available - position);
            if (count <= 0) {
                into.set(buffer, 0, 0, position, available);
                return !closed.await(1, TimeUnit.MILLISECONDS);
            }
            System.arraycopy(wal.bytes(), (int) (position - START), buffer, 0, count);
            into.set(buffer, 0, count, position, available);
            position = into.endLsn();
            return closed.getCount() > 0;
        }

        void detachBuffer() {
            buffer = new byte[buffer.length];
        }

        @Override
        public void close() {
            closed.countDown();
        }
    }

    private WalSpool spool(long resume, long limit) {
        return WalSpool.open(new WalSpool.Options(directory, PAGES, limit), resume);
    }

    private SpooledWalSource source(Live live, WalSpool spool) {
        return new SpooledWalSource(
                live, live::detachBuffer, spool, lsn -> told.accumulateAndGet(lsn, Math::max));
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static void end(SpooledWalSource source, WalSpool spool) {
        source.close();
        source.awaitEnd();
        spool.close();
    }

    /** Reads one chunk and compares it; returns its end. */
    private long readOne(SpooledWalSource source, long from) throws InterruptedException {
        assertThat(source.next(chunk)).isTrue();
        requireRight(from);
        return chunk.endLsn();
    }

    private void requireRight(long from) {
        assertThat(chunk.startLsn()).isEqualTo(from);
        int begin = (int) (from - START);
        assertThat(
                        Arrays.equals(
                                chunk.buffer(),
                                chunk.offset(),
                                chunk.offset() + chunk.length(),
                                wal.bytes(),
                                begin,
                                begin + chunk.length()))
                .as("seed %d", SEED)
                .isTrue();
    }

    private long readTo(SpooledWalSource source, long from, long to) throws InterruptedException {
        long at = from;
        while (at < to) {
            at = readOne(source, at);
        }
        return at;
    }

    @Test
    void aPumpThatKeepsUpReadsTheLiveStreamInPlace() throws Exception {
        Live live = new Live(wal.end());
        WalSpool spool = spool(START, PLENTY);
        SpooledWalSource source = source(live, spool);
        source.start(1, START);
        long at = START;
        while (at < START + SEGMENT) {
            byte[] buffer = live.buffer;
            at = readOne(source, at);
            assertThat(chunk.buffer()).isSameAs(buffer);
            assertThat(spool.end()).isEqualTo(at);
        }
        end(source, spool);
    }

    @Test
    void theStreamIsReadOnWhileThePumpIsAwayAndItsChunkStaysAsItIs() throws Exception {
        Live live = new Live(START + 20L * SEGMENT);
        WalSpool spool = spool(START, PLENTY);
        SpooledWalSource source = source(live, spool);
        source.start(1, START);
        long at = readOne(source, START);
        await(() -> spool.end() == live.available && told.get() > START + 15L * SEGMENT);
        requireRight(START);
        assertThat(source.received()).isEqualTo(live.available);
        live.available = wal.end();
        assertThat(readTo(source, at, wal.end())).isEqualTo(wal.end());
        assertThat(live.startedAt).isEqualTo(START);
        end(source, spool);
    }

    @Test
    void aRestartReadsTheSpoolAndThenGoesOnLive() throws Exception {
        Live first = new Live(START + 10L * SEGMENT + 4711);
        WalSpool spool = spool(START, PLENTY);
        SpooledWalSource source = source(first, spool);
        source.start(1, START);
        await(() -> told.get() > START + 8L * SEGMENT);
        end(source, spool);
        long promised = told.get();
        told.set(0);

        Live second = new Live(wal.end());
        WalSpool again = spool(START, PLENTY);
        SpooledWalSource resumed = source(second, again);
        resumed.start(1, START);
        assertThat(second.startedAt).isGreaterThanOrEqualTo(promised);
        assertThat(told.get()).as("told again at once").isGreaterThanOrEqualTo(promised);
        assertThat(readTo(resumed, START, wal.end())).isEqualTo(wal.end());
        end(resumed, again);
    }

    @Test
    void whatEndsTheStreamReachesThePumpBehindWhatWasStored() throws Exception {
        Live live = new Live(wal.end());
        live.failsAt = START + 5L * SEGMENT;
        WalSpool spool = spool(START, PLENTY);
        SpooledWalSource source = source(live, spool);
        source.start(1, START);
        await(() -> spool.end() >= live.failsAt);
        long at = readTo(source, START, spool.end());
        assertThat(at).isEqualTo(live.position);
        assertThatThrownBy(() -> source.next(chunk)).hasMessageContaining("the server says no");
        end(source, spool);
    }

    @Test
    void nothingIsLostWhereTheSpoolIsFull() throws Exception {
        Live live = new Live(wal.end());
        WalSpool spool = spool(START, 4L * SEGMENT);
        SpooledWalSource source = source(live, spool);
        source.start(1, START);
        await(() -> spool.status().state().equals("full"));
        assertThat(spool.status().bytes()).isLessThanOrEqualTo(4L * SEGMENT);
        assertThat(told.get()).isLessThanOrEqualTo(spool.end());
        assertThat(readTo(source, START, wal.end())).isEqualTo(wal.end());
        end(source, spool);
    }

    @Test
    void aPumpThatComesAndGoesMissesNothing() throws Exception {
        Random random = new Random(SEED);
        Live live = new Live(START);
        WalSpool spool = spool(START, 5L * SEGMENT);
        SpooledWalSource source = source(live, spool);
        source.start(1, START);
        long at = START;
        while (at < wal.end()) {
            live.available = Math.min(wal.end(), live.available + random.nextInt(3 * SEGMENT));
            long to = at + random.nextInt((int) (live.available - at) + 1);
            at = readTo(source, at, to);
            spool.retain(at - random.nextInt((int) Math.min(2L * SEGMENT, at - START) + 1));
            if (random.nextInt(3) == 0) {
                long before = live.position;
                live.available = Math.min(wal.end(), live.available + SEGMENT / 2);
                await(() ->
                        live.position == live.available
                                || !spool.status().reason().isEmpty()
                                || spool.end() < before);
            }
        }
        end(source, spool);
    }

    @Test
    void aCloseEndsAWaitingPump() throws Exception {
        Live live = new Live(START);
        WalSpool spool = spool(START, PLENTY);
        SpooledWalSource source = source(live, spool);
        source.start(1, START);
        Thread closer = Thread.ofPlatform().start(source::close);
        while (source.next(chunk)) {
            assertThat(chunk.length()).isZero();
        }
        closer.join();
        end(source, spool);
    }
}
