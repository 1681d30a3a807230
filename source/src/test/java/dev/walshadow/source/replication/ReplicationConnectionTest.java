package dev.walshadow.source.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.Code;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.embedded.FreePort;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.WalChunk;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ReplicationConnectionTest {
    private static final int SEGMENT = 16 << 20;

    @TempDir static Path folder;
    private static EmbeddedPostgres server;

    @BeforeAll
    static void startServer() throws Exception {
        server = start(17, folder.resolve("shared"));
        Sql.run(
                server,
                "create table t(id int, filler text)",
                "insert into t select i, repeat('x', 300) from generate_series(1, 20000) i");
    }

    @AfterAll
    static void stopServer() {
        server.close();
    }

    private static EmbeddedPostgres start(int major, Path directory) {
        return EmbeddedPostgres.at(directory)
                .version(major)
                .setting("fsync", "off")
                .setting("autovacuum", "off")
                .start();
    }

    private static ConnectionSettings settings(EmbeddedPostgres server) {
        return ConnectionSettings.parse(server.url("postgres"));
    }

    /** Delivers one byte per read. */
    private static InputStream dripping(InputStream in) {
        return new FilterInputStream(in) {
            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return super.read(bytes, offset, Math.min(1, length));
            }
        };
    }

    private static void assertFails(
            ThrowingCallable action, Class<? extends WalshadowException> kind, Code code) {
        assertThatThrownBy(action)
                .isInstanceOfSatisfying(
                        kind, e -> assertThat(e.code()).as(e.getMessage()).isEqualTo(code));
    }

    @Test
    void identifiesTheSystemAndItsSettings() throws Exception {
        try (ReplicationConnection connection = ReplicationConnection.connect(settings(server))) {
            SystemIdentity identity = connection.identifySystem();
            assertThat(Long.toUnsignedString(identity.systemIdentifier()))
                    .isEqualTo(
                            Sql.ask(server, "select system_identifier from pg_control_system()"));
            assertThat(identity.timeline()).isEqualTo(1);
            assertThat(identity.flushLsn()).isPositive();
            assertThat(connection.walSegmentSize()).isEqualTo(SEGMENT);
            assertThat(connection.walSenderTimeoutMillis()).isEqualTo(60_000);
            assertThat(connection.serverVersionNumber()).isBetween(170_000, 179_999);
            assertThat(connection.isStandby()).isFalse();
            assertThat(connection.show("wal_level")).isEqualTo("logical");
        }
    }

    @Test
    void worksOverAUnixSocket() {
        ConnectionSettings unix =
                ConnectionSettings.parse(
                        "host="
                                + server.socketDirectory()
                                + " port="
                                + server.port()
                                + " user=postgres");
        try (ReplicationConnection connection = ReplicationConnection.connect(unix)) {
            assertThat(connection.identifySystem().timeline()).isEqualTo(1);
        }
    }

    @Test
    void slotIsCreatedOnceAndReservesWal() throws Exception {
        try (ReplicationConnection connection = ReplicationConnection.connect(settings(server))) {
            assertThat(connection.readSlot("s1")).isNull();
            SlotState first = connection.createPhysicalSlot("s1");
            assertThat(first.created()).isTrue();
            assertThat(first.restartLsn()).isPositive();
            SlotState second = connection.createPhysicalSlot("s1");
            assertThat(second).isEqualTo(new SlotState(false, first.restartLsn()));
            connection.dropSlot("s1");
            assertThat(connection.readSlot("s1")).isNull();
            assertThatThrownBy(() -> connection.createPhysicalSlot("Robert'); drop"))
                    .isInstanceOf(ConfigurationException.class);
            Sql.run(server, "select pg_create_logical_replication_slot('lo', 'pgoutput')");
            assertFails(
                    () -> connection.createPhysicalSlot("lo"),
                    ConfigurationException.class,
                    ReplicationCodes.SLOT_UNUSABLE);
            Sql.run(server, "select pg_drop_replication_slot('lo')");
            Sql.run(server, "select pg_create_physical_replication_slot('unreserved')");
            assertFails(
                    () -> connection.createPhysicalSlot("unreserved"),
                    ConfigurationException.class,
                    ReplicationCodes.SLOT_UNUSABLE);
            Sql.run(server, "select pg_drop_replication_slot('unreserved')");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 16, 17, 18})
    void walIsTheServersByteForByteAndTheBackupComes(int major) throws Exception {
        try (EmbeddedPostgres own = start(major, folder.resolve("v" + major));
                ReplicationConnection connection = ReplicationConnection.connect(settings(own))) {
            Sql.run(
                    own,
                    "create table t(id int, filler text)",
                    "insert into t select i, repeat('x', 300) from generate_series(1, 60000) i");
            connection.createPhysicalSlot("w");
            SystemIdentity identity = connection.identifySystem();
            long from = identity.flushLsn() & -SEGMENT;
            readAndCompare(connection, own, from + 12_345, identity.flushLsn());
        }
        try (EmbeddedPostgres own = start(major, folder.resolve("v" + major));
                ReplicationConnection connection = ReplicationConnection.connect(settings(own))) {
            CollectingSink sink = new CollectingSink();
            connection.baseBackup(new BaseBackupOptions("it's", true, 0), sink);
            assertThat(sink.steps.getFirst()).isEqualTo("start");
            assertThat(sink.steps.getLast()).isEqualTo("end");
            assertThat(sink.steps).contains("archive base.tar ");
            assertThat(sink.startLsn).isPositive();
            assertThat(sink.endLsn).isGreaterThan(sink.startLsn);
            assertThat(new String(sink.head, StandardCharsets.US_ASCII)).startsWith("backup_label");
            assertThat(sink.bytes % 512).isZero();
            assertThat(sink.bytes).isGreaterThan(20L << 20);
            assertThat(sink.progress).isGreaterThan(20L << 20);
            assertThat(sink.tablespaces).hasSize(1);
            assertThat(sink.tablespaces.getFirst().kilobytes()).isGreaterThan(20_000);
            assertThat(connection.identifySystem().timeline()).isEqualTo(1);
        }
    }

    private static void readAndCompare(
            ReplicationConnection connection, EmbeddedPostgres own, long from, long to)
            throws Exception {
        connection.startPhysical("w", from, 1);
        WalChunk chunk = new WalChunk();
        long position = from;
        while (position < to) {
            if (connection.readCopy(chunk) == ReplicationConnection.CopyEvent.WAL) {
                assertThat(chunk.startLsn()).isEqualTo(position);
                compareWithFiles(own, chunk);
                position = chunk.endLsn();
            }
        }
        assertThat(connection.serverEnd()).isGreaterThanOrEqualTo(to);
    }

    private static void compareWithFiles(EmbeddedPostgres own, WalChunk chunk) throws IOException {
        int done = 0;
        while (done < chunk.length()) {
            long lsn = chunk.startLsn() + done;
            int inSegment = (int) (lsn & (SEGMENT - 1));
            int count = Math.min(chunk.length() - done, SEGMENT - inSegment);
            Path file =
                    own.dataDirectory()
                            .resolve("pg_wal")
                            .resolve(Lsn.segmentFileName(1, lsn, SEGMENT));
            byte[] expected = new byte[count];
            try (var raw = new java.io.RandomAccessFile(file.toFile(), "r")) {
                raw.seek(inSegment);
                raw.readFully(expected);
            }
            int at = chunk.offset() + done;
            assertThat(Arrays.equals(expected, 0, count, chunk.buffer(), at, at + count))
                    .as("WAL at " + Lsn.format(lsn))
                    .isTrue();
            done += count;
        }
    }

    @Test
    void worksWhenTheSocketDeliversSingleBytes() throws Exception {
        try (ReplicationConnection connection =
                ReplicationConnection.connect(
                        settings(server), ReplicationConnectionTest::dripping)) {
            connection.createPhysicalSlot("w");
            long from = connection.identifySystem().flushLsn();
            Sql.run(server, "insert into t select i, 'y' from generate_series(1, 3000) i");
            long to = connection.identifySystem().flushLsn();
            readAndCompare(connection, server, from, to);
        }
        try (ReplicationConnection connection = ReplicationConnection.connect(settings(server))) {
            connection.dropSlot("w");
        }
    }

    @Test
    void endOfAHistoricTimelineIsReportedAndTheConnectionServesOn() throws Exception {
        Path directory = folder.resolve("promoted");
        try (EmbeddedPostgres own = start(16, directory)) {
            Sql.run(own, "create table t as select generate_series(1, 1000) i");
            own.stop();
            Path signal = own.dataDirectory().resolve("recovery.signal");
            Files.createFile(signal);
            dev.walshadow.embedded.UnprivilegedUser.own(signal);
            own.setting("restore_command", "/bin/false");
            own.start();
            while (Sql.ask(own, "select pg_is_in_recovery()").equals("t")) {
                Thread.onSpinWait();
            }
            Sql.run(own, "create table u as select generate_series(1, 1000) i");
            try (ReplicationConnection connection = ReplicationConnection.connect(settings(own))) {
                SystemIdentity identity = connection.identifySystem();
                assertThat(identity.timeline()).isEqualTo(2);
                String history =
                        new String(connection.timelineHistory(2), StandardCharsets.US_ASCII);
                assertThat(history).startsWith("1\t");
                long switchLsn = Lsn.parse(history.split("\t", -1)[1].trim());

                connection.startPhysical(null, switchLsn - 5_000, 1);
                WalChunk chunk = new WalChunk();
                long position = switchLsn - 5_000;
                ReplicationConnection.CopyEvent event;
                while ((event = connection.readCopy(chunk))
                        != ReplicationConnection.CopyEvent.END_OF_TIMELINE) {
                    if (event == ReplicationConnection.CopyEvent.WAL) {
                        position = chunk.endLsn();
                    }
                }
                assertThat(position).isEqualTo(switchLsn);
                assertThat(connection.timelineSwitch()).isEqualTo(new TimelineSwitch(2, switchLsn));
                connection.startPhysical(null, switchLsn, 1);
                assertThat(connection.readCopy(chunk))
                        .isEqualTo(ReplicationConnection.CopyEvent.END_OF_TIMELINE);
                assertThat(connection.timelineSwitch()).isEqualTo(new TimelineSwitch(2, switchLsn));
                assertFails(
                        () -> connection.startPhysical(null, switchLsn + 1_000, 1),
                        HaltException.class,
                        ReplicationCodes.TIMELINE_CHANGED);
                connection.startPhysical(null, switchLsn, 2);
                assertThat(connection.readCopy(chunk))
                        .isEqualTo(ReplicationConnection.CopyEvent.WAL);
            }
        }
    }

    @Test
    void failuresOfTheStreamAreTyped() throws Exception {
        try (ReplicationConnection one = ReplicationConnection.connect(settings(server));
                ReplicationConnection two = ReplicationConnection.connect(settings(server))) {
            Sql.run(
                    server,
                    "select pg_switch_wal()",
                    "checkpoint",
                    "create table if not exists z()",
                    "select pg_switch_wal()",
                    "checkpoint");
            long now = one.identifySystem().flushLsn();
            assertFails(
                    () -> one.startPhysical("absent", now, 1),
                    ConfigurationException.class,
                    ReplicationCodes.SLOT_MISSING);
            one.createPhysicalSlot("busy");
            one.startPhysical("busy", now, 1);
            assertFails(
                    () -> two.startPhysical("busy", now, 1),
                    RetryException.class,
                    ReplicationCodes.SLOT_ACTIVE);
            assertFails(
                    () -> {
                        two.startPhysical(null, SEGMENT, 1);
                        WalChunk chunk = new WalChunk();
                        do {
                            two.readCopy(chunk);
                        } while (chunk.length() == 0);
                    },
                    HaltException.class,
                    ReplicationCodes.WAL_REMOVED);
        }
        try (ReplicationConnection connection = ReplicationConnection.connect(settings(server))) {
            Sql.run(
                    server,
                    "select pg_terminate_backend(active_pid) from pg_replication_slots"
                            + " where active");
            awaitInactive("busy");
            connection.dropSlot("busy");
        }
    }

    private static void awaitInactive(String slot) throws Exception {
        String question =
                "select active from pg_replication_slots where slot_name = '" + slot + "'";
        while (!Sql.ask(server, question).equals("f")) {
            Thread.onSpinWait();
        }
    }

    @Test
    void streamingMakesNoGarbage() throws Exception {
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean)
                        java.lang.management.ManagementFactory.getThreadMXBean();
        try (ReplicationConnection connection = ReplicationConnection.connect(settings(server))) {
            long from = connection.identifySystem().flushLsn();
            Sql.run(
                    server,
                    "insert into t select i, repeat('x', 900) from generate_series(1, 30000) i");
            long to = connection.identifySystem().flushLsn();
            connection.startPhysical(null, from, 1);
            WalChunk chunk = new WalChunk();
            long position = from;
            long before = threads.getCurrentThreadAllocatedBytes();
            while (position < to) {
                if (connection.readCopy(chunk, 100) == ReplicationConnection.CopyEvent.WAL) {
                    position = chunk.endLsn();
                }
            }
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            assertThat(to - from).isGreaterThan(20L << 20);
            assertThat(allocated).isLessThan(100_000);
        }
    }

    @Test
    void unreachableHostsAreNamedAndTheNextOneServes() {
        int dead = FreePort.next();
        assertThatThrownBy(() ->
                        ReplicationConnection.connect(
                                ConnectionSettings.parse(
                                        "postgres://u@127.0.0.1:"
                                                + dead
                                                + ",no-such-host.invalid/d")))
                .isInstanceOfSatisfying(
                        ReconnectException.class,
                        e -> assertThat(e.code()).isEqualTo(ReplicationCodes.UNREACHABLE))
                .hasMessageContaining("127.0.0.1:" + dead)
                .hasMessageContaining("no-such-host.invalid");
        String both =
                "postgres://postgres@127.0.0.1:" + dead + ",127.0.0.1:" + server.port() + "/d";
        try (ReplicationConnection connection =
                ReplicationConnection.connect(ConnectionSettings.parse(both))) {
            assertThat(connection.host().port()).isEqualTo(server.port());
        }
    }

    private static final class CollectingSink implements BaseBackupSink {
        final List<String> steps = new ArrayList<>();
        List<Tablespace> tablespaces = List.of();
        byte[] head = {};
        long startLsn;
        long endLsn;
        long bytes;
        long progress;

        @Override
        public void start(long lsn, int timeline, List<Tablespace> found) {
            steps.add("start");
            startLsn = lsn;
            tablespaces = found;
            assertThat(timeline).isEqualTo(1);
        }

        @Override
        public void archive(String name, String path) {
            steps.add("archive " + name + " " + path);
        }

        @Override
        public void data(byte[] data, int offset, int length) {
            if (bytes == 0) {
                head = Arrays.copyOfRange(data, offset, offset + Math.min(length, 100));
            }
            bytes += length;
        }

        @Override
        public void progress(long bytesDone) {
            assertThat(bytesDone).isGreaterThanOrEqualTo(progress);
            progress = bytesDone;
        }

        @Override
        public void end(long lsn, int timeline) {
            steps.add("end");
            endLsn = lsn;
        }
    }
}
