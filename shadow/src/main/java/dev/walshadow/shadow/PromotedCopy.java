package dev.walshadow.shadow;

import dev.walshadow.base.RetryException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.cluster.ControlFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A copy of the stopped shadow, promoted and thrown away after one read. A standby that was
 * restarted while a transaction with more than 64 subtransactions is open does not know all running
 * transactions, so it accepts no connections before that one ends; a server that recovers the same
 * WAL and then ends recovery does at once, with the same catalogs.
 *
 * <p>Recovery reads the copied pg_wal only and so ends exactly where the shadow did.
 */
final class PromotedCopy implements AutoCloseable {
    private static final Set<String> LEFT_OUT =
            Set.of("postmaster.pid", "postmaster.opts", "standby.signal", "recovery.signal");

    /** A copy, where to run it and as whom. */
    record Place(
            Path directory,
            Path log,
            Path binDirectory,
            int port,
            ServerUser user,
            @Nullable Path locales) {}

    private final Place place;
    private final ServerProcess server;

    private PromotedCopy(Place place, ServerProcess server) {
        this.place = place;
        this.server = server;
    }

    /** Ends and removes what a killed daemon may have left. */
    static void remove(Path directory) throws IOException, InterruptedException {
        if (!Files.exists(directory)) {
            return;
        }
        ServerProcess.endOrphan(directory);
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /**
     * Copies the files of a stopped standby.
     *
     * @param lsn up to which it has WAL
     */
    static void copy(Path from, ControlFile control, long lsn, Place place)
            throws IOException, InterruptedException {
        remove(place.directory());
        String first = segment(control, control.redo());
        String last = segment(control, lsn - 1);
        try (Stream<Path> files = Files.walk(from, FileVisitOption.FOLLOW_LINKS)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Path relative = from.relativize(file);
                if (isWanted(relative, first, last)) {
                    Files.copy(file, place.directory().resolve(relative.toString()));
                }
            }
        }
        Files.writeString(place.directory().resolve("recovery.signal"), "");
        Files.writeString(
                place.directory().resolve("postgresql.conf"),
                """

                # The promoted copy.
                port = %d
                primary_conninfo = ''
                restore_command = 'false'
                hot_standby = off
                autovacuum = off
                fsync = off
                """
                        .formatted(place.port()),
                StandardOpenOption.APPEND);
        place.user().ownDirectory(place.directory());
        place.user().ownTree(place.directory());
    }

    private static String segment(ControlFile control, long lsn) {
        int size = control.walSegmentSize();
        return withoutTimeline(Lsn.segmentFileName(1, lsn, size));
    }

    private static String withoutTimeline(String segmentFileName) {
        return segmentFileName.substring(8);
    }

    private static boolean isWanted(Path relative, String first, String last) {
        String name = relative.getFileName().toString();
        if (relative.getNameCount() == 1) {
            return !LEFT_OUT.contains(name);
        }
        if (!relative.startsWith("pg_wal") || !name.matches("[0-9A-F]{24}")) {
            return true;
        }
        String number = withoutTimeline(name);
        return number.compareTo(first) >= 0 && number.compareTo(last) <= 0;
    }

    /**
     * Starts the server on the copied files and waits until it has been promoted.
     *
     * @throws RetryException when it ends instead, or takes longer than {@code limit}
     */
    static PromotedCopy start(Place place, Duration limit) throws InterruptedException {
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
            copy.awaitReady(limit);
            ready = true;
            return copy;
        } finally {
            if (!ready) {
                copy.close();
            }
        }
    }

    private void awaitReady(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!server.acceptsConnections()) {
            if (server.awaitEnd(5)) {
                throw new RetryException(
                        ShadowCodes.PROMOTED_COPY,
                        "the promoted copy of the shadow does not start: " + server.obituary());
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new RetryException(
                        ShadowCodes.PROMOTED_COPY,
                        "the promoted copy of the shadow accepts no connections after "
                                + limit.toSeconds()
                                + " s; its log is "
                                + place.log());
            }
        }
    }

    /** Names the socket beside the shadow's own. */
    int port() {
        return place.port();
    }

    /** Ends the server and removes its files. */
    @Override
    public void close() {
        try {
            server.signal("QUIT");
            server.stop();
            remove(place.directory());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + place.directory(), e);
        }
    }
}
