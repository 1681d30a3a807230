package dev.walshadow.source.spool;

import dev.walshadow.base.Code;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.XLogLayout;
import dev.walshadow.source.SourceCodes;
import dev.walshadow.source.WalChunk;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A run of the source's WAL on disk, without gaps, as segment files under PostgreSQL's own names:
 * from the segment of the resume floor to where the stream is, or to where the limit was met.
 *
 * <pre>
 * &lt;directory&gt;/000000010000000000000003   the source's bytes, up to where they were received
 * &lt;directory&gt;/spool.state                {@link SpoolState}: how far they are durable
 * </pre>
 *
 * What is written stays in the page cache while the floor follows; it is made durable in batches of
 * a segment once the floor lags by two. Only the durable part counts, for the source and after a
 * restart: a tail that may be torn is cut off unseen, since the source still has it.
 *
 * <p>Where bytes cannot be stored the run ends. It goes on if there is room again when the next
 * byte comes; if the stream has gone on without it, a new run begins at the next segment once the
 * floor has passed the old one.
 *
 * <p>One thread at a time appends, one reads and retains, one synchronises; status is for any.
 */
public final class WalSpool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WalSpool.class);
    private static final Pattern SEGMENT_NAME = Pattern.compile("[0-9A-F]{24}");
    private static final long SYNC_BYTES = 16 << 20;
    private static final long SYNC_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long DISK_CHECK_BYTES = 1 << 20;
    private static final int SEGMENTS_LEAST = 4;

    /**
     * @param directory the spool's alone; exists
     * @param bytesLimit most bytes to hold; 0: take nothing over, only give what is there
     */
    public record Options(Path directory, WalPages pages, long bytesLimit) {
        /** The least limit that is of use. */
        public static long bytesLeast(int segmentSize) {
            return (long) SEGMENTS_LEAST * segmentSize;
        }
    }

    private final Options options;
    private final WalPages pages;
    private final SpoolDisk disk;

    // guarded by this; the end is also read without
    private long start;
    private volatile long end;
    private long durable;
    private long floor;
    private @Nullable String refusal;
    private boolean untrusted;
    private boolean closed;

    // the appending thread's
    private @Nullable RandomAccessFile writer;
    private long writerSegment;
    private long diskCheckedTo;
    private long nextTryNanos;

    // the synchronising thread's
    private long nextSyncNanos = System.nanoTime();

    // the reading thread's
    private @Nullable RandomAccessFile reader;
    private long readerSegment;

    private WalSpool(Options options, SpoolDisk disk, long resume) throws IOException {
        this.options = options;
        this.disk = disk;
        pages = options.pages();
        Invariant.check(resume == pages.segmentStart(resume), "a stream begins with a segment");
        start = resume;
        floor = resume;
        durable = SpoolState.read(options.directory(), pages);
        end = Math.max(resume, lastUsable());
        dropUnused();
    }

    /**
     * Takes up what an earlier run left that is durable and of use.
     *
     * @param resume where the stream begins: the start of the resume floor's segment
     * @throws ConfigurationException if the directory holds another cluster's WAL, a newer
     *     version's, or cannot be used
     */
    public static WalSpool open(Options options, long resume) {
        return open(options, resume, new SpoolDisk());
    }

    static WalSpool open(Options options, long resume, SpoolDisk disk) {
        try {
            return new WalSpool(options, disk, resume);
        } catch (IOException e) {
            throw unusable(options, e);
        }
    }

    private static ConfigurationException unusable(Options options, IOException cause) {
        return new ConfigurationException(
                SourceCodes.SPOOL_UNWRITABLE,
                "the directory "
                        + options.directory()
                        + " of the WAL spool cannot be used: "
                        + cause
                        + "; give this user the right to write there",
                cause);
    }

    // ---- at the start

    /**
     * Promises nothing from {@code lsn} on any more: the source has other WAL there by now. Nobody
     * may have it open.
     */
    public static void cut(Options options, long lsn) {
        try {
            if (SpoolState.read(options.directory(), options.pages()) > lsn) {
                SpoolState.write(options.directory(), options.pages(), lsn);
            }
        } catch (IOException e) {
            throw unusable(options, e);
        }
    }

    /** How far the files hold what the state says is durable, from the start on. */
    private long lastUsable() throws IOException {
        long at = start;
        while (at < durable) {
            long wanted = Math.min(durable, at + pages.segmentSize());
            Path file = file(at);
            if (!Files.exists(file) || Files.size(file) < wanted - at) {
                LOG.warn(
                        "{} expected {} bytes of WAL in {}, found {}; the source is asked for what"
                                + " follows {}",
                        SourceCodes.SPOOL_DAMAGED,
                        wanted - at,
                        file,
                        Files.exists(file) ? Files.size(file) + " bytes" : "no file",
                        Lsn.format(at));
                return at;
            }
            checkFirstPage(file, at, wanted - at);
            at = wanted;
        }
        return at;
    }

    private void checkFirstPage(Path file, long at, long length) throws IOException {
        byte[] header = new byte[XLogLayout.LONG_HEADER_LENGTH];
        if (length < header.length) {
            return;
        }
        try (RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
            in.readFully(header);
        }
        pages.check(header, 0, at);
    }

    /** What lies before the start or behind the end; the state first, since it promises. */
    private void dropUnused() throws IOException {
        if (durable > end) {
            durable = end;
            SpoolState.write(options.directory(), pages, durable);
        }
        try (Stream<Path> files = Files.list(options.directory())) {
            for (Path file : files.toList()) {
                String name = String.valueOf(file.getFileName());
                if (SEGMENT_NAME.matcher(name).matches() && !isOfRun(name)) {
                    Files.delete(file);
                }
            }
        }
        long inLast = end - pages.segmentStart(end);
        if (end > start && inLast > 0) {
            try (RandomAccessFile last = disk.open(file(end))) {
                last.setLength(inLast);
            }
        }
    }

    private boolean isOfRun(String name) {
        return end > start
                && name.compareTo(name(start)) >= 0
                && name.compareTo(name(end - 1)) <= 0;
    }

    private String name(long lsn) {
        return Lsn.segmentFileName(pages.timeline(), lsn, pages.segmentSize());
    }

    private Path file(long lsn) {
        return options.directory().resolve(name(lsn));
    }

    // ---- the appending thread

    /** Position behind the last byte that can be read from here. */
    public long end() {
        return end;
    }

    /** Takes WAL over at all. */
    public boolean isOn() {
        return options.bytesLimit() > 0;
    }

    /** Whether the next bytes, at {@code position}, will probably be stored. */
    boolean accepts(long position, int length) {
        return isOn() && position == end && hasRoom(length);
    }

    /**
     * Stores the chunk if it follows the end, or begins a new run in it if the old one is of no use
     * any more. False if it has not been stored: then the run has ended before it.
     */
    boolean append(WalChunk chunk) {
        if (!isOn()) {
            return false;
        }
        int skipped = 0;
        if (chunk.startLsn() != end && !begin(chunk)) {
            return false;
        }
        if (chunk.startLsn() != end) {
            skipped = (int) (end - chunk.startLsn());
        }
        int length = chunk.length() - skipped;
        if (!hasRoom(length)) {
            return false;
        }
        try {
            write(end, chunk.buffer(), chunk.offset() + skipped, length);
        } catch (IOException e) {
            closeQuietly(writer);
            writer = null;
            refuse(SourceCodes.SPOOL_UNWRITABLE, "it cannot be written: " + e);
            return false;
        }
        synchronized (this) {
            end += length;
        }
        return true;
    }

    /** A new run, at the segment that begins inside the chunk. */
    private synchronized boolean begin(WalChunk chunk) {
        long boundary = pages.segmentStart(chunk.startLsn() + pages.segmentSize() - 1L);
        if (start < end || boundary >= chunk.endLsn()) {
            return false;
        }
        Invariant.check(boundary >= end, "a new run begins behind the old one");
        start = boundary;
        end = boundary;
        untrusted = false;
        return true;
    }

    private boolean hasRoom(int length) {
        long now = System.nanoTime();
        String found;
        synchronized (this) {
            boolean refused = refusal != null;
            if (closed || (refused && now - nextTryNanos < 0)) {
                return false;
            }
            long wanted = refused ? Math.max(length, pages.segmentSize()) : length;
            if (end - start + wanted > options.bytesLimit()) {
                found = "it holds " + megabytes(end - start) + ", as [wal] spool_max allows";
            } else {
                found = null;
            }
        }
        if (found != null) {
            refuse(SourceCodes.SPOOL_FULL, found);
            return false;
        }
        return diskHasRoom(length);
    }

    private boolean diskHasRoom(int length) {
        if (end < diskCheckedTo && refusal() == null) {
            return true;
        }
        try {
            if (disk.roomBytes(options.directory()) < length + DISK_CHECK_BYTES) {
                refuse(SourceCodes.SPOOL_UNWRITABLE, "the file system has no more to spare");
                return false;
            }
        } catch (IOException e) {
            refuse(SourceCodes.SPOOL_UNWRITABLE, "its file system does not answer: " + e);
            return false;
        }
        diskCheckedTo = end + DISK_CHECK_BYTES;
        accept();
        return true;
    }

    private void write(long position, byte[] bytes, int offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            long at = position + done;
            long segment = pages.segmentStart(at);
            int count = (int) Math.min(length - done, segment + pages.segmentSize() - at);
            RandomAccessFile into = writer;
            if (into == null || writerSegment != segment) {
                closeQuietly(into);
                writer = null;
                into = disk.open(file(segment));
                into.setLength(at - segment);
                into.seek(at - segment);
                writer = into;
                writerSegment = segment;
            }
            // a failed write closes the file, so it always stands at the end
            into.write(bytes, offset + done, count);
            done += count;
        }
    }

    private synchronized void refuse(Code code, String reason) {
        nextTryNanos = System.nanoTime() + RETRY_NANOS;
        if (refusal == null) {
            LOG.warn(
                    "{} the WAL spool takes nothing over at {}: {}. The source keeps its WAL until"
                            + " there is room",
                    code,
                    Lsn.format(end),
                    reason);
        }
        refusal = reason;
    }

    private synchronized void accept() {
        if (refusal != null) {
            LOG.info("the WAL spool takes WAL over again at {}", Lsn.format(end));
            refusal = null;
        }
    }

    private synchronized @Nullable String refusal() {
        return refusal;
    }

    // ---- the reading thread

    /** Copies stored bytes from {@code position} on; 0 if there are none. */
    int read(long position, byte[] into) {
        long stop = end;
        if (position >= stop) {
            return 0;
        }
        long segment = pages.segmentStart(position);
        int count =
                (int)
                        Math.min(
                                into.length,
                                Math.min(stop, segment + pages.segmentSize()) - position);
        try {
            RandomAccessFile from = reader;
            if (from == null || readerSegment != segment) {
                closeQuietly(from);
                reader = null;
                from = new RandomAccessFile(file(segment).toFile(), "r");
                reader = from;
                readerSegment = segment;
            }
            from.seek(position - segment);
            from.readFully(into, 0, count);
            return count;
        } catch (IOException e) {
            throw SpoolState.unreadable(file(segment), position, e);
        }
    }

    /** Lets go of what lies before the segment of the resume floor, which is durable itself. */
    public void retain(long resumeFloor) {
        long from;
        long to;
        synchronized (this) {
            floor = Math.max(floor, resumeFloor);
            from = pages.segmentStart(start);
            to = pages.segmentStart(floor);
            if (start >= end || from >= to) {
                return;
            }
            start = Math.min(end, to);
            to = Math.min(to, pages.segmentStart(end - 1) + pages.segmentSize());
        }
        for (long segment = from; segment < to; segment += pages.segmentSize()) {
            try {
                Files.deleteIfExists(file(segment));
            } catch (IOException e) {
                LOG.warn("{} of the WAL spool cannot be removed: {}", file(segment), e.toString());
            }
        }
    }

    // ---- the synchronising thread

    /** What is durable and, with the floor, whole: the source may forget it. 0 if nothing is. */
    public synchronized long durable() {
        return coversFloor() ? Math.min(durable, end) : 0;
    }

    private boolean coversFloor() {
        return start < end && start <= pages.segmentStart(floor) && durable > start;
    }

    /** Makes durable what there is, if it is worth it; true if {@link #durable} has risen. */
    boolean syncIfDue() {
        long now = System.nanoTime();
        long from;
        long to;
        synchronized (this) {
            from = Math.max(durable, start);
            to = end;
            long batch = Math.min(SYNC_BYTES, pages.segmentSize());
            if (closed
                    || untrusted
                    || now - nextSyncNanos < 0
                    || start > pages.segmentStart(floor)
                    || to - from < batch
                    || to - floor < 2L * pages.segmentSize()) {
                return false;
            }
        }
        nextSyncNanos = now + SYNC_NANOS;
        try {
            if (!sync(from, to)) {
                return false;
            }
        } catch (IOException e) {
            LOG.warn(
                    "{} the WAL spool in {} cannot be made durable: {}. The source keeps its WAL",
                    SourceCodes.SPOOL_UNWRITABLE,
                    options.directory(),
                    e.toString());
            nextSyncNanos = now + RETRY_NANOS;
            return false;
        }
        synchronized (this) {
            durable = to;
        }
        return true;
    }

    /** False if files have been let go meanwhile. */
    private boolean sync(long from, long to) throws IOException {
        for (long at = pages.segmentStart(from); at < to; at += pages.segmentSize()) {
            try (RandomAccessFile file = new RandomAccessFile(file(at).toFile(), "r")) {
                disk.sync(file);
            } catch (FileNotFoundException e) {
                if (isLetGo(at)) {
                    return false;
                }
                throw e;
            } catch (IOException e) {
                // the kernel may have dropped what it could not write: nothing here counts any more
                synchronized (this) {
                    untrusted = true;
                }
                throw e;
            }
        }
        SpoolState.write(options.directory(), pages, to);
        return true;
    }

    private synchronized boolean isLetGo(long segment) {
        return segment < pages.segmentStart(start) || start >= end;
    }

    // ---- for others

    /** As {@code walshadow status} shows it. */
    public synchronized SpoolStatus status() {
        String state;
        if (!isOn()) {
            state = start < end ? "draining" : "off";
        } else if (refusal != null) {
            state = "full";
        } else if (untrusted) {
            state = "failed";
        } else {
            state = "open";
        }
        return new SpoolStatus(
                state,
                refusal == null ? "" : refusal,
                end - start,
                options.bytesLimit(),
                end,
                durable());
    }

    private static String megabytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f MB", bytes / 1048576.0);
    }

    private static void closeQuietly(@Nullable RandomAccessFile file) {
        if (file != null) {
            try {
                file.close();
            } catch (IOException e) {
                LOG.debug("closing a file of the WAL spool", e);
            }
        }
    }

    /** After the threads that use it have ended. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        closeQuietly(writer);
        closeQuietly(reader);
    }
}
