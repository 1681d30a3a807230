package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collection;
import java.util.zip.CRC32C;

/**
 * Everything that a {@link WalStream} needs to begin at the start of a segment and to filter it to
 * the same bytes as before: the filter's state after all records that start before the segment, and
 * what becomes of the segment's bytes before its first own record.
 *
 * <pre>
 * file, little-endian
 *    0 u32 magic "WSSS"     4 u32 version, 1          8 i64 system identifier
 *   16 i32 timeline        20 i32 major version      24 i32 segment size
 *   28 i64 segment start   36 i64 first record       44 i64 previous record (0 unknown)
 *   52 i64 tail start      60 i32 tail head length   (-1: the tail passes as it is)
 *   64 tail head bytes, then the filter's state
 *   end - 4: u32 CRC32C of everything before it
 * </pre>
 *
 * <p>The <em>tail</em> is the end of a record (or fragment of one) that started in an earlier
 * segment. When the filter rewrote it, the archive's earlier segment holds its rewritten beginning,
 * so the end must match: its bytes are those of {@code tailHead}, then zeros, counted from the
 * record's start at {@code tailStart}.
 */
public final class StreamSnapshot {
    private static final int MAGIC = 'W' | 'S' << 8 | 'S' << 16 | 'S' << 24;
    private static final int VERSION = 1;
    private static final int FIXED_LENGTH = 64;
    private static final int RAW = -1;

    private final WalPages pages;
    private final long segmentStart;
    private final long firstRecord;
    private final long previousRecord;
    private final Tail tail;
    private final byte[] filterState;

    /** What the bytes before the first record become. Immutable, its bytes are never changed. */
    static final class Tail {
        static final Tail UNCHANGED = new Tail(0, new byte[0], false);

        private final long start;
        private final byte[] head;
        private final boolean rewritten;

        private Tail(long start, byte[] head, boolean rewritten) {
            this.start = start;
            this.head = head;
            this.rewritten = rewritten;
        }

        /** The end of a record that became {@code head[0..length)} and zeros. */
        static Tail rewritten(long start, byte[] head, int length) {
            return new Tail(start, Arrays.copyOf(head, length), true);
        }

        long start() {
            return start;
        }

        byte[] head() {
            return head;
        }

        boolean isRewritten() {
            return rewritten;
        }
    }

    StreamSnapshot(
            WalPages pages,
            long segmentStart,
            long firstRecord,
            long previousRecord,
            Tail tail,
            byte[] filterState) {
        Invariant.check(
                segmentStart == pages.segmentStart(segmentStart) && firstRecord >= segmentStart,
                "a snapshot begins with a segment, its first record is not before it");
        this.pages = pages;
        this.segmentStart = segmentStart;
        this.firstRecord = firstRecord;
        this.previousRecord = previousRecord;
        this.tail = tail;
        this.filterState = filterState;
    }

    /**
     * Where a new shadow begins: at the segment that holds the redo point {@code redo} of its base
     * backup. What lies before the redo point in that segment is blanked, its page headers
     * excepted: no replay reads it, and it holds user data.
     *
     * @param seeds what was rewritten, asked when transactions may still be rewriting catalogs: one
     *     of them that commits later halts the stream
     */
    public static StreamSnapshot initial(WalPages pages, long redo, Collection<CatalogSeed> seeds) {
        return initial(pages, redo, seeds, false);
    }

    /**
     * @param rewritersAwaited the seeds were asked after the redo point was known and all
     *     transactions that locked a catalog exclusively by then had ended: they are complete
     */
    public static StreamSnapshot initial(
            WalPages pages, long redo, Collection<CatalogSeed> seeds, boolean rewritersAwaited) {
        Filter filter = new Filter(pages.majorVersion());
        filter.seed(seeds, rewritersAwaited);
        ByteBuilder state = new ByteBuilder(256);
        filter.encodeState(state);
        long start = pages.segmentStart(redo);
        return new StreamSnapshot(
                pages, start, redo, 0, Tail.rewritten(start, new byte[0], 0), state.toByteArray());
    }

    public WalPages pages() {
        return pages;
    }

    /** Where the source must be asked to start. */
    public long segmentStart() {
        return segmentStart;
    }

    /** The first record that is parsed; everything before it only passes. */
    public long firstRecord() {
        return firstRecord;
    }

    long previousRecord() {
        return previousRecord;
    }

    Tail tail() {
        return tail;
    }

    Filter newFilter() {
        Filter filter = new Filter(pages.majorVersion());
        try {
            filter.decodeState(ByteBuffer.wrap(filterState).order(ByteOrder.LITTLE_ENDIAN));
        } catch (BufferUnderflowException e) {
            throw corrupt(toString(), "the filter's state is cut off", e);
        }
        return filter;
    }

    /** The file's content. */
    public byte[] encode() {
        ByteBuilder out = new ByteBuilder(FIXED_LENGTH + filterState.length + 64);
        out.putInt(MAGIC);
        out.putInt(VERSION);
        out.putLong(pages.systemIdentifier());
        out.putInt(pages.timeline());
        out.putInt(pages.majorVersion());
        out.putInt(pages.segmentSize());
        out.putLong(segmentStart);
        out.putLong(firstRecord);
        out.putLong(previousRecord);
        out.putLong(tail.start());
        out.putInt(tail.isRewritten() ? tail.head().length : RAW);
        out.putBytes(tail.head());
        out.putBytes(filterState);
        CRC32C crc = new CRC32C();
        crc.update(out.array(), 0, out.length());
        out.putInt((int) crc.getValue());
        return out.toByteArray();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @param name what messages call it
     * @throws HaltException {@link SourceCodes#RESUME_POINT_CORRUPT} for anything else, {@link
     *     SourceCodes#RESUME_POINT_FOREIGN} for the file of a newer walshadow
     */
    public static StreamSnapshot decode(byte[] file, String name) {
        if (file.length < FIXED_LENGTH + Integer.BYTES) {
            throw corrupt(
                    name, "expected at least " + FIXED_LENGTH + " bytes, found " + file.length);
        }
        ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        int end = file.length - Integer.BYTES;
        CRC32C crc = new CRC32C();
        crc.update(file, 0, end);
        if (in.getInt() != MAGIC || in.getInt(end) != (int) crc.getValue()) {
            throw corrupt(name, "its magic number or checksum is wrong");
        }
        int version = in.getInt();
        if (version != VERSION) {
            throw new HaltException(
                    SourceCodes.RESUME_POINT_FOREIGN,
                    "the resume point "
                            + name
                            + " has format "
                            + version
                            + ", expected "
                            + VERSION
                            + ": it was written by another release of walshadow; use that one.");
        }
        long systemIdentifier = in.getLong();
        int timeline = in.getInt();
        int majorVersion = in.getInt();
        int segmentSize = in.getInt();
        if (!WalPages.isSegmentSize(segmentSize)) {
            throw corrupt(name, "no WAL segment has " + segmentSize + " bytes");
        }
        WalPages pages = new WalPages(majorVersion, systemIdentifier, timeline, segmentSize);
        long segmentStart = in.getLong();
        long firstRecord = in.getLong();
        long previousRecord = in.getLong();
        long tailStart = in.getLong();
        if (segmentStart != pages.segmentStart(segmentStart) || firstRecord < segmentStart) {
            throw corrupt(
                    name,
                    "its first record at "
                            + Lsn.format(firstRecord)
                            + " does not lie behind the segment at "
                            + Lsn.format(segmentStart));
        }
        int headLength = in.getInt();
        boolean raw = headLength == RAW && tailStart == 0;
        if (headLength < 0 && !raw) {
            throw corrupt(name, "its tail head has " + headLength + " bytes");
        }
        if (headLength > end - FIXED_LENGTH) {
            throw corrupt(name, "its tail head of " + headLength + " bytes is cut off");
        }
        byte[] head = new byte[Math.max(0, headLength)];
        in.get(head);
        byte[] state = Arrays.copyOfRange(file, in.position(), end);
        return new StreamSnapshot(
                pages,
                segmentStart,
                firstRecord,
                previousRecord,
                raw ? Tail.UNCHANGED : Tail.rewritten(tailStart, head, headLength),
                state);
    }

    private static HaltException corrupt(String name, String found, Exception... cause) {
        return new HaltException(
                SourceCodes.RESUME_POINT_CORRUPT,
                "the resume point "
                        + name
                        + " is damaged: "
                        + found
                        + ". Restore the state directory from a copy, or bootstrap anew.",
                cause.length == 0 ? null : cause[0]);
    }

    @Override
    public String toString() {
        return "segment "
                + Lsn.format(segmentStart)
                + ", first record "
                + Lsn.format(firstRecord)
                + ", timeline "
                + pages.timeline();
    }
}
