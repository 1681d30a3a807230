package dev.walshadow.source;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The filtered segments and the points where the stream can resume, durable (I11).
 *
 * <pre>
 * &lt;directory&gt;/000000010000000000000003        a filtered segment, as restore_command copies it
 * &lt;directory&gt;/000000010000000000000004.state  {@link StreamSnapshot} to begin at that segment
 * </pre>
 *
 * The state that follows a segment is written before the segment, so every segment that exists can
 * be followed. A segment that is filtered again after a restart has the same bytes and replaces the
 * old one. Files are readable by everybody who may enter the directory: the shadow runs as another
 * user. One writer, the WAL pump; {@link #retain} may come from another thread.
 */
public final class SegmentArchive implements SegmentSink {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentArchive.class);
    private static final long RETRY_CEILING_MILLIS = 5_000;
    private static final int WRITE_BYTES = 128 << 10;

    /** Direct writes begin and end at multiples of this, in the file and in memory. */
    private static final int BLOCK_BYTES = 4096;

    private static final int DIRECT_BYTES = 1 << 20;
    private static final String STATE_SUFFIX = ".state";
    private static final Pattern SEGMENT_NAME = Pattern.compile("[0-9A-F]{24}");

    private final Path directory;
    private final WalPages pages;

    /** The WAL pump's; null once it failed where a write through the cache did not. */
    private @Nullable OpenOption directOption = directOption();

    private final ByteBuffer blocks =
            ByteBuffer.allocateDirect(DIRECT_BYTES + BLOCK_BYTES).alignedSlice(BLOCK_BYTES);

    /** In {@code directory}, which exists, for the WAL of {@code pages}. */
    public SegmentArchive(Path directory, WalPages pages) {
        this.directory = directory;
        this.pages = pages;
    }

    public Path directory() {
        return directory;
    }

    /** Where the file of the segment that holds {@code lsn} is, or will be. */
    public Path segmentFile(long lsn) {
        return directory.resolve(segmentName(lsn));
    }

    private String segmentName(long lsn) {
        return Lsn.segmentFileName(pages.timeline(), lsn, pages.segmentSize());
    }

    private Path stateFile(long lsn) {
        return directory.resolve(segmentName(lsn) + STATE_SUFFIX);
    }

    /** Stores the point where a stream begins for the first time. */
    public void begin(StreamSnapshot first) throws InterruptedException {
        checkOwn(first);
        byte[] state = first.encode();
        writeUntilDone(stateFile(first.segmentStart()), state, state.length);
    }

    /** Returns when both files are durable; a full disk is waited out. */
    @Override
    public void segmentComplete(long startLsn, byte[] segment, int length, StreamSnapshot next)
            throws InterruptedException {
        byte[] state = next.encode();
        writeUntilDone(stateFile(next.segmentStart()), state, state.length);
        writeUntilDone(segmentFile(startLsn), segment, length);
    }

    private void writeUntilDone(Path target, byte[] bytes, int length) throws InterruptedException {
        Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
        while (true) {
            try {
                write(target, bytes, length);
                return;
            } catch (IOException e) {
                LOG.warn(
                        "{} cannot write {}: {}. The stream waits until it can: make room or mend"
                                + " the disk.",
                        SourceCodes.ARCHIVE_UNWRITABLE,
                        target,
                        e.toString());
                backoff.pause();
            }
        }
    }

    /**
     * The point to resume from so that every record from {@code floor} on is seen.
     *
     * @throws HaltException if it is missing, damaged or of another cluster
     */
    public StreamSnapshot resumeAt(long floor) {
        Path file = stateFile(floor);
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            throw new HaltException(
                    SourceCodes.RESUME_POINT_MISSING,
                    "expected a point to resume from "
                            + Lsn.format(floor)
                            + " in "
                            + file
                            + ", found none: files of the state directory were removed. Restore it"
                            + " from a copy, or bootstrap anew.",
                    e);
        } catch (IOException e) {
            throw unreadable(file, e);
        }
        StreamSnapshot snapshot = StreamSnapshot.decode(bytes, file.toString());
        checkOwn(snapshot);
        return snapshot;
    }

    private void checkOwn(StreamSnapshot snapshot) {
        if (!snapshot.pages().equals(pages)) {
            throw new HaltException(
                    SourceCodes.RESUME_POINT_FOREIGN,
                    "expected a resume point of "
                            + pages
                            + " in "
                            + directory
                            + ", found one of "
                            + snapshot.pages()
                            + ": the state directory belongs to another cluster.");
        }
    }

    /**
     * Deletes the segments that end at or before {@code lsn} and the states before that of its
     * segment.
     *
     * @param lsn the lower of what the shadow may ask for again (the start of its last
     *     restartpoint's segment) and the resume floor
     * @return how many segments went
     */
    public int retain(long lsn) {
        String keep = segmentName(lsn);
        int deleted = 0;
        for (String name : names()) {
            String segment =
                    name.endsWith(STATE_SUFFIX)
                            ? name.substring(0, name.length() - STATE_SUFFIX.length())
                            : name;
            // the names of one timeline sort as their positions do
            if (SEGMENT_NAME.matcher(segment).matches() && segment.compareTo(keep) < 0) {
                try {
                    Files.deleteIfExists(directory.resolve(name));
                } catch (IOException e) {
                    throw unreadable(directory.resolve(name), e);
                }
                deleted += name.equals(segment) ? 1 : 0;
            }
        }
        return deleted;
    }

    /** The start of every segment in the archive, ascending. */
    public List<Long> segments() {
        List<Long> starts = new ArrayList<>();
        for (String name : names()) {
            if (SEGMENT_NAME.matcher(name).matches()) {
                long perLogId = 0x1_0000_0000L / pages.segmentSize();
                long number =
                        Long.parseLong(name, 8, 16, 16) * perLogId
                                + Long.parseLong(name, 16, 24, 16);
                starts.add(number * pages.segmentSize());
            }
        }
        return starts;
    }

    private List<String> names() {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
        } catch (IOException e) {
            throw unreadable(directory, e);
        }
    }

    private void write(Path target, byte[] bytes, int length) throws IOException {
        Path beside = target.resolveSibling(target.getFileName() + ".tmp");
        OpenOption direct = length % BLOCK_BYTES == 0 ? directOption : null;
        if (direct == null) {
            writeCached(beside, bytes, length);
        } else if (!writeDirect(beside, direct, bytes, length)) {
            writeCached(beside, bytes, length);
            directOption = null;
        }
        Files.setPosixFilePermissions(beside, PosixFilePermissions.fromString("rw-r--r--"));
        DurableFiles.rename(beside, target);
    }

    /**
     * Past the page cache: nobody reads a segment soon, and copying it there is what costs most of
     * a write. False if the file system cannot, or the disk is full.
     */
    private boolean writeDirect(Path file, OpenOption direct, byte[] bytes, int length) {
        try (FileChannel channel = create(file, direct)) {
            for (int at = 0; at < length; ) {
                int piece = Math.min(blocks.capacity(), length - at);
                blocks.clear().put(bytes, at, piece).flip();
                while (blocks.hasRemaining()) {
                    channel.write(blocks);
                }
                at += piece;
            }
            channel.force(true);
            return true;
        } catch (UnsupportedOperationException | IOException e) {
            LOG.debug("no direct write of {}: {}", file, e.toString());
            return false;
        }
    }

    /** By its name, as Lucene does: javac takes the supported package for an internal one. */
    private static @Nullable OpenOption directOption() {
        try {
            Object[] options =
                    Class.forName("com.sun.nio.file.ExtendedOpenOption").getEnumConstants();
            for (Object option : options == null ? new Object[0] : options) {
                if (option.toString().equals("DIRECT")) {
                    return (OpenOption) option;
                }
            }
        } catch (ClassNotFoundException e) {
            LOG.debug("this Java has no direct writes", e);
        }
        return null;
    }

    private static void writeCached(Path file, byte[] bytes, int length) throws IOException {
        try (FileChannel channel = create(file)) {
            for (int at = 0; at < length; ) {
                // the channel copies out of the heap first: a piece at a time stays in the cache
                int piece = Math.min(WRITE_BYTES, length - at);
                at += channel.write(ByteBuffer.wrap(bytes, at, piece));
            }
            channel.force(true);
        }
    }

    private static FileChannel create(Path file, OpenOption... more) throws IOException {
        Set<OpenOption> options = new HashSet<>(Set.of(more));
        options.add(StandardOpenOption.CREATE);
        options.add(StandardOpenOption.TRUNCATE_EXISTING);
        options.add(StandardOpenOption.WRITE);
        return FileChannel.open(file, options);
    }

    private static HaltException unreadable(Path file, IOException cause) {
        return new HaltException(
                SourceCodes.RESUME_POINT_CORRUPT,
                "cannot use " + file + ": " + cause + ". Mend the disk or its permissions.",
                cause);
    }
}
