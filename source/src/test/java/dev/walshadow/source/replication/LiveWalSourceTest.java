package dev.walshadow.source.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.WalChunk;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class LiveWalSourceTest {
    private static final int SEGMENT = 16 << 20;

    @TempDir static Path folder;
    private static EmbeddedPostgres server;
    private static long systemIdentifier;

    private final StandbyStatus status = new StandbyStatus();
    private final RecordingListener listener = new RecordingListener();

    @BeforeAll
    static void startServer() throws Exception {
        server =
                EmbeddedPostgres.at(folder.resolve("server"))
                        .version(18)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .setting("max_wal_size", "2GB")
                        .setting("wal_sender_timeout", "1s")
                        .start();
        Sql.run(server, "create table t(id int, filler text)");
        systemIdentifier =
                Long.parseUnsignedLong(
                        Sql.ask(server, "select system_identifier from pg_control_system()"));
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private static LiveWalSource.Options options(int port, String slot) {
        return new LiveWalSource.Options(
                ConnectionSettings.parse("postgres://postgres@127.0.0.1:" + port + "/postgres"),
                slot,
                true,
                systemIdentifier,
                0,
                Duration.ofMillis(200),
                Duration.ofSeconds(20));
    }

    private static long reserve(String slot) {
        try (ReplicationConnection connection =
                ReplicationConnection.connect(ConnectionSettings.parse(server.url("x")))) {
            connection.createPhysicalSlot(slot);
            return connection.identifySystem().flushLsn();
        }
    }

    private static void write(int rows) throws Exception {
        Sql.run(
                server,
                "insert into t select i, repeat('x', 200) from generate_series(1, " + rows + ") i");
    }

    private static long currentLsn() throws Exception {
        return Lsn.parse(Sql.ask(server, "select pg_current_wal_flush_lsn()"));
    }

    /** Reads up to {@code to}, checks that nothing is missing, and returns the bytes' checksum. */
    private static CRC32C readTo(LiveWalSource source, long from, long to) throws Exception {
        CRC32C sum = new CRC32C();
        WalChunk chunk = new WalChunk();
        long position = from;
        while (position < to) {
            assertThat(source.next(chunk)).isTrue();
            assertThat(chunk.startLsn()).isEqualTo(position);
            int count = (int) Math.min(chunk.length(), to - position);
            sum.update(chunk.buffer(), chunk.offset(), count);
            position += chunk.length();
        }
        return sum;
    }

    private static CRC32C fileSum(long from, long to) throws Exception {
        CRC32C sum = new CRC32C();
        byte[] bytes = new byte[SEGMENT];
        for (long at = from; at < to; ) {
            int inSegment = (int) (at & (SEGMENT - 1));
            int count = (int) Math.min(SEGMENT - inSegment, to - at);
            Path file =
                    server.dataDirectory()
                            .resolve("pg_wal")
                            .resolve(Lsn.segmentFileName(1, at, SEGMENT));
            try (RandomAccessFile raw = new RandomAccessFile(file.toFile(), "r")) {
                raw.seek(inSegment);
                raw.readFully(bytes, 0, count);
            }
            sum.update(bytes, 0, count);
            at += count;
        }
        return sum;
    }

    @Test
    void resumesAtTheExactByteWhereverTheConnectionIsCut() throws Exception {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        long from = reserve("cut");
        write(60_000);
        long to = currentLsn();
        try (CuttingProxy proxy =
                        new CuttingProxy(server.port(), () -> 600 + random.nextInt(3_000_000));
                LiveWalSource source =
                        new LiveWalSource(options(proxy.port(), "cut"), status, listener)) {
            source.start(1, from);
            CRC32C sum = readTo(source, from, to);
            assertThat(sum.getValue()).as("seed " + seed).isEqualTo(fileSum(from, to).getValue());
            assertThat(proxy.cuts()).as("seed " + seed).isGreaterThan(2);
            assertThat(listener.lost).isNotEmpty();
            assertThat(status.writeLsn()).isGreaterThanOrEqualTo(to);
        }
    }

    @Test
    void survivesKilledWalsendersAndServerRestarts() throws Exception {
        long from = reserve("restart");
        try (LiveWalSource source =
                new LiveWalSource(options(server.port(), "restart"), status, listener)) {
            source.start(1, from);
            CRC32C sum = new CRC32C();
            long position = from;
            for (int round = 0; round < 4; round++) {
                write(3_000);
                long to = currentLsn();
                WalChunk chunk = new WalChunk();
                while (position < to) {
                    assertThat(source.next(chunk)).isTrue();
                    sum.update(chunk.buffer(), chunk.offset(), chunk.length());
                    position += chunk.length();
                }
                switch (round) {
                    case 0 ->
                            Sql.run(
                                    server,
                                    "select pg_terminate_backend(active_pid) from"
                                            + " pg_replication_slots where active");
                    case 1 -> {
                        // A clean stop waits for the standby to confirm the shutdown checkpoint.
                        Thread reader = Thread.ofVirtual().start(server::restart);
                        while (reader.isAlive()) {
                            assertThat(source.next(chunk)).isTrue();
                            sum.update(chunk.buffer(), chunk.offset(), chunk.length());
                            position += chunk.length();
                        }
                    }
                    case 2 -> {
                        server.kill();
                        server.start();
                    }
                    default -> {}
                }
            }
            assertThat(sum.getValue()).isEqualTo(fileSum(from, position).getValue());
            assertThat(listener.connected).hasSizeGreaterThanOrEqualTo(4);
        }
    }

    @Test
    void parkedPumpKeepsItsConnectionAndItsFloorsApart() throws Exception {
        long from = reserve("parked");
        try (LiveWalSource source =
                new LiveWalSource(options(server.port(), "parked"), status, listener)) {
            source.start(1, from);
            write(80_000);
            long to = currentLsn();
            status.advanceApply(from + 8);
            status.advanceFlush(from + 16);
            // Nobody reads for three times wal_sender_timeout while the server has 16 MB to send.
            String parkedFor =
                    "select extract(epoch from now() - backend_start) > 3 and flush_lsn = '"
                            + Lsn.format(from + 16)
                            + "' and replay_lsn = '"
                            + Lsn.format(from + 8)
                            + "' from pg_stat_replication where application_name = 'walshadow'";
            while (!Sql.ask(server, parkedFor).equals("t")) {
                Thread.onSpinWait();
            }
            assertThat(listener.lost).isEmpty();
            assertThat(
                            Sql.ask(
                                    server,
                                    "select restart_lsn from pg_replication_slots where slot_name ="
                                            + " 'parked'"))
                    .isEqualTo(Lsn.format(from + 16));
            readTo(source, from, to);
            assertThat(listener.lost).isEmpty();
            assertThat(listener.connected).hasSize(1);
        }
    }

    @Test
    void idleStreamsAndAbsentServersReturnEmptyChunks() throws Exception {
        long from = reserve("idle");
        try (CuttingProxy proxy = new CuttingProxy(server.port(), () -> Integer.MAX_VALUE);
                LiveWalSource source =
                        new LiveWalSource(options(proxy.port(), "idle"), status, listener)) {
            source.start(1, from);
            WalChunk chunk = new WalChunk();
            awaitEmpty(source, chunk);
            proxy.refuse(true);
            while (listener.lost.size() < 3) {
                assertThat(source.next(chunk)).isTrue();
                assertThat(chunk.startLsn()).isEqualTo(source.position());
            }
            assertThat(source.isConnected()).isFalse();
            proxy.refuse(false);
            write(10);
            long to = currentLsn();
            while (source.position() < to) {
                assertThat(source.next(chunk)).isTrue();
            }
            assertThat(chunk.serverEnd()).isGreaterThanOrEqualTo(to);
        }
    }

    private static void awaitEmpty(LiveWalSource source, WalChunk chunk) throws Exception {
        int empty = 0;
        while (empty < 3) {
            assertThat(source.next(chunk)).isTrue();
            empty = chunk.length() == 0 ? empty + 1 : 0;
        }
    }

    @Test
    void closeEndsAWaitingReader() throws Exception {
        long from = reserve("closing");
        LiveWalSource source =
                new LiveWalSource(options(server.port(), "closing"), status, listener);
        source.start(1, from);
        Thread closer =
                Thread.ofVirtual()
                        .start(() -> {
                            while (!source.isConnected()) {
                                Thread.onSpinWait();
                            }
                            source.close();
                        });
        WalChunk chunk = new WalChunk();
        while (source.next(chunk)) {
            assertThat(chunk.length()).isGreaterThanOrEqualTo(0);
        }
        assertThat(source.next(chunk)).isFalse();
        closer.join();
    }

    @Test
    void foreignClustersAndMissingSlotsAreRefused() {
        long from = reserve("foreign");
        LiveWalSource.Options good = options(server.port(), "foreign");
        try (LiveWalSource source =
                new LiveWalSource(
                        new LiveWalSource.Options(good.settings(), "foreign", true, 4711),
                        status,
                        listener)) {
            assertThatThrownBy(() -> source.start(1, from))
                    .isInstanceOfSatisfying(
                            HaltException.class,
                            e -> assertThat(e.code()).isEqualTo(ReplicationCodes.FOREIGN_SYSTEM));
        }
        try (LiveWalSource source =
                new LiveWalSource(
                        new LiveWalSource.Options(
                                good.settings(), "absent", false, systemIdentifier),
                        status,
                        listener)) {
            assertThatThrownBy(() -> source.start(1, from))
                    .isInstanceOfSatisfying(
                            ConfigurationException.class,
                            e -> assertThat(e.code()).isEqualTo(ReplicationCodes.SLOT_MISSING));
        }
        try (LiveWalSource source = new LiveWalSource(good, status, listener)) {
            assertThatThrownBy(() -> source.start(1, from + (1L << 40)))
                    .isInstanceOfSatisfying(
                            HaltException.class,
                            e -> assertThat(e.code()).isEqualTo(ReplicationCodes.SERVER_BEHIND));
        }
    }

    private static final class RecordingListener implements LiveWalSource.Listener {
        final List<Long> connected = new CopyOnWriteArrayList<>();
        final List<WalshadowException> lost = new CopyOnWriteArrayList<>();

        @Override
        public void connected(HostAddress host, long position) {
            connected.add(position);
        }

        @Override
        public void lost(WalshadowException reason) {
            lost.add(reason);
        }
    }
}
