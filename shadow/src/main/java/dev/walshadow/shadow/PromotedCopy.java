package dev.walshadow.shadow;

import dev.walshadow.base.FileTree;
import dev.walshadow.base.RetryException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.cluster.ControlFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A copy of the running shadow's files, promoted for one read. A standby that was restarted while a
 * transaction with more than 64 subtransactions is open does not know all running transactions, so
 * it accepts no connections before that one ends; a server that recovers the same WAL and then ends
 * recovery does at once, with the same catalogs.
 *
 * <p>The copy is what a crash could have left: nothing is replayed while it is made, so each of its
 * pages is as the last restartpoint left it or newer, and its pg_wal holds everything from that
 * restartpoint's redo position to where the shadow is. Recovery reads that only and so ends exactly
 * there, which the new timeline's history proves. The files stay for the next copy, which takes
 * over what has changed on neither side.
 */
final class PromotedCopy implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PromotedCopy.class);
    private static final Set<Path> LEFT_OUT =
            Stream.of(
                            "postmaster.pid",
                            "postmaster.opts",
                            "postgresql.auto.conf",
                            "standby.signal",
                            "recovery.signal",
                            "global/pg_control")
                    .map(Path::of)
                    .collect(Collectors.toSet());

    /** A copy, where to run it and as whom. */
    record Place(
            Path directory,
            Path log,
            Path binDirectory,
            int port,
            ServerUser user,
            @Nullable Path locales) {}

    private static final Path WAL = Path.of("pg_wal");
    private static final Pattern SEGMENT = Pattern.compile("[0-9A-F]{24}");
    private static final int TIMELINE_DIGITS = 8;
    private static final int IO_METHOD_MAJOR = 18;
    private static final int COPY_ATTEMPTS = 10;
    private static final long POLL_MILLIS = 5;

    private final Place place;
    private final ServerProcess server;

    private PromotedCopy(Place place, ServerProcess server) {
        this.place = place;
        this.server = server;
    }

    /** Ends a copy that a killed daemon may have left, and removes the files. */
    static void remove(Path directory) throws IOException, InterruptedException {
        if (!Files.exists(directory)) {
            return;
        }
        ServerProcess.endOrphan(directory);
        FileTree.delete(directory);
    }

    /**
     * Copies the files of a standby that replays nothing meanwhile.
     *
     * @param control reads its pg_control
     * @throws IOException also when it makes a restartpoint each time it is copied
     */
    static void copy(Path from, Supplier<byte[]> control, Place place)
            throws IOException, InterruptedException {
        Path to = place.directory();
        if (Files.exists(to)) {
            ServerProcess.endOrphan(to);
        }
        for (int attempt = 1; attempt <= COPY_ATTEMPTS; attempt++) {
            byte[] bytes = control.get();
            ControlFile begun = ControlFile.parse(bytes);
            String first =
                    withoutTimeline(Lsn.segmentFileName(1, begun.redo(), begun.walSegmentSize()));
            int files =
                    FileMirror.update(
                            from,
                            to,
                            new FileMirror.Options(
                                    file -> isWanted(file, first),
                                    PromotedCopy::isSegment,
                                    place.user()));
            if (ControlFile.parse(control.get()).redo() == begun.redo()) {
                LOG.debug("{} files of the shadow are copied", files);
                write("global/pg_control", bytes, place);
                configure(begun, place);
                return;
            }
        }
        throw new IOException("the shadow makes one restartpoint after the other");
    }

    private static void configure(ControlFile control, Place place) throws IOException {
        String text =
                """
                # The promoted copy.
                port = %d
                primary_conninfo = ''
                restore_command = 'false'
                hot_standby = off
                autovacuum = off
                fsync = off
                full_page_writes = off
                wal_recycle = off
                wal_init_zero = off
                """
                        .formatted(place.port());
        if (control.majorVersion() >= IO_METHOD_MAJOR) {
            text += "io_method = sync\n";
        }
        write("postgresql.auto.conf", text.getBytes(StandardCharsets.UTF_8), place);
        write("recovery.signal", new byte[0], place);
    }

    private static void write(String name, byte[] bytes, Place place) throws IOException {
        Path file = place.directory().resolve(name);
        Files.write(file, bytes);
        place.user().own(file);
    }

    private static boolean isWanted(Path file, String firstSegment) {
        if (LEFT_OUT.contains(file)) {
            return false;
        }
        return !isSegment(file)
                || withoutTimeline(file.getFileName().toString()).compareTo(firstSegment) >= 0;
    }

    /**
     * The copy writes to a timeline of its own and recycles none of the old one's segments; the
     * shadow gets no WAL while the copy is read.
     */
    private static boolean isSegment(Path file) {
        return file.startsWith(WAL) && SEGMENT.matcher(file.getFileName().toString()).matches();
    }

    private static String withoutTimeline(String segmentFileName) {
        return segmentFileName.substring(TIMELINE_DIGITS);
    }

    /**
     * Starts the server on the copied files and waits until it has been promoted.
     *
     * @param lsn up to which it must have recovered
     * @param stall how long it may do nothing that its log tells
     * @throws RetryException when it ends, stalls or recovers less
     */
    static PromotedCopy start(Place place, long lsn, Duration stall) throws InterruptedException {
        ServerLog log = new ServerLog(place.log());
        ServerProcess server;
        try {
            log.bound();
            server =
                    ServerProcess.start(
                            place.binDirectory(),
                            place.directory(),
                            place.user(),
                            log,
                            place.locales());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start a copy of the shadow", e);
        }
        PromotedCopy copy = new PromotedCopy(place, server);
        boolean ready = false;
        try {
            copy.awaitReady(log, stall);
            copy.requireRecovered(lsn);
            ready = true;
            return copy;
        } finally {
            if (!ready) {
                copy.close();
            }
        }
    }

    private void awaitReady(ServerLog log, Duration stall) throws InterruptedException {
        long deadline = System.nanoTime() + stall.toNanos();
        long told = -1;
        while (!server.acceptsConnections()) {
            if (server.awaitEnd(POLL_MILLIS)) {
                throw new RetryException(
                        ShadowCodes.PROMOTED_COPY,
                        "the promoted copy of the shadow does not start: " + server.obituary());
            }
            if (log.size() != told) {
                told = log.size();
                deadline = System.nanoTime() + stall.toNanos();
            } else if (System.nanoTime() - deadline >= 0) {
                throw new RetryException(
                        ShadowCodes.PROMOTED_COPY,
                        "the promoted copy of the shadow accepts no connections and has logged"
                                + " nothing for "
                                + stall.toSeconds()
                                + " s; its log is "
                                + place.log());
            }
        }
    }

    private void requireRecovered(long lsn) {
        long end;
        try {
            end = recoveryEnd(place.directory().resolve(WAL));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read where the copy's timeline begins", e);
        }
        if (end < lsn) {
            throw new RetryException(
                    ShadowCodes.PROMOTED_COPY,
                    "expected the promoted copy of the shadow to recover up to "
                            + Lsn.format(lsn)
                            + ", it has WAL up to "
                            + Lsn.format(end)
                            + " only; its log is "
                            + place.log());
        }
    }

    /**
     * The last line of the newest history file: the parent timeline, the position at which it was
     * left, the reason. Source: {@code src/backend/access/transam/timeline.c}, PostgreSQL 15-18.
     */
    private static long recoveryEnd(Path wal) throws IOException {
        try (Stream<Path> files = Files.list(wal)) {
            Path newest =
                    files.filter(file -> file.toString().endsWith(".history"))
                            .max(Comparator.naturalOrder())
                            .orElseThrow(() -> new NoSuchFileException(wal + "/*.history"));
            String line = Files.readString(newest).strip().lines().toList().getLast();
            return Lsn.parse(line.split("\t", -1)[1]);
        }
    }

    /** Names the socket beside the shadow's own. */
    int port() {
        return place.port();
    }

    /** Ends the server. */
    @Override
    public void close() {
        try {
            server.signal("QUIT");
            server.stop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
