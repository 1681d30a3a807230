package dev.walshadow.postgres.wal;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads the records of one WAL segment that is wholly in memory, from the first one that starts in
 * it. For tools and tests; the product's reader is the record stream.
 *
 * <pre>{@code
 * while (reader.next(record)) { ... }
 * reader.end();       // why it ended
 * }</pre>
 */
public final class WalSegmentReader {
    /** Why there is no further record. */
    public enum End {
        /** The last record ends with the segment, or goes on in the next one. */
        SEGMENT,
        /** Zeros or an old page follow: the WAL has not been written further. */
        UNWRITTEN,
        /** The next record is damaged, or its page is; {@link #failure()} says how. */
        DAMAGED
    }

    private final byte[] bytes;
    private final WalPages pages;
    private final long start;
    private final WalChecksum checksum = new WalChecksum();
    private byte[] scratch = new byte[XLogLayout.PAGE_SIZE];
    private int position;
    private long previous;
    private End end = End.SEGMENT;
    private @Nullable HaltException failure;

    /**
     * @param segment a whole segment file, or its beginning in whole pages
     * @throws HaltException if it does not begin with a WAL page of PostgreSQL 15-18
     */
    public WalSegmentReader(byte[] segment) {
        bytes = segment;
        pages = identify(segment);
        start = LittleEndian.getLong(segment, XLogLayout.PAGE_ADDRESS);
        pages.check(segment, 0, start);
        position = firstRecord();
    }

    private static WalPages identify(byte[] segment) {
        if (segment.length < XLogLayout.PAGE_SIZE
                || segment.length > XLogLayout.MAX_SEGMENT_SIZE
                || segment.length % XLogLayout.PAGE_SIZE != 0) {
            throw notWal("its length is " + segment.length);
        }
        int magic = LittleEndian.getUnsignedShort(segment, XLogLayout.PAGE_MAGIC);
        int major = XLogLayout.majorVersion(magic);
        int segmentSize = LittleEndian.getInt(segment, XLogLayout.PAGE_SEGMENT_SIZE);
        if (major == 0) {
            throw notWal("its magic number is 0x" + Integer.toHexString(magic));
        }
        if (Integer.bitCount(segmentSize) != 1
                || segmentSize < XLogLayout.MIN_SEGMENT_SIZE
                || segmentSize > XLogLayout.MAX_SEGMENT_SIZE) {
            throw notWal("it names a segment size of " + segmentSize);
        }
        return new WalPages(
                major,
                LittleEndian.getLong(segment, XLogLayout.PAGE_SYSTEM_IDENTIFIER),
                LittleEndian.getInt(segment, XLogLayout.PAGE_TIMELINE),
                segmentSize);
    }

    private static HaltException notWal(String found) {
        return new HaltException(
                WalCodes.CORRUPT_PAGE,
                "expected a WAL segment of PostgreSQL 15-18 in whole pages of 8192 bytes: "
                        + found);
    }

    public WalPages pages() {
        return pages;
    }

    /** Position of the first byte. */
    public long start() {
        return start;
    }

    /** Where the next record is looked for. */
    public long position() {
        return start + position;
    }

    /** Why {@link #next} said false. */
    public End end() {
        return end;
    }

    public @Nullable HaltException failure() {
        return failure;
    }

    /** Behind the record that began in an earlier segment. */
    private int firstRecord() {
        int page = 0;
        while (page < bytes.length) {
            if (page > 0) {
                try {
                    pages.check(bytes, page, start + page);
                } catch (HaltException e) {
                    return page;
                }
            }
            int header = pages.headerLength(start + page);
            boolean continued =
                    (WalPages.info(bytes, page) & XLogLayout.XLP_FIRST_IS_CONTRECORD) != 0;
            int remaining = continued ? WalPages.remainingLength(bytes, page) : 0;
            if (remaining < 0) {
                return page;
            }
            if (remaining < XLogLayout.PAGE_SIZE - header) {
                return page + header + XLogLayout.align(remaining);
            }
            if (remaining == XLogLayout.PAGE_SIZE - header) {
                return page + XLogLayout.PAGE_SIZE;
            }
            page += XLogLayout.PAGE_SIZE;
        }
        return bytes.length;
    }

    /** Points {@code into} at the next record; false at the {@link #end()}. */
    public boolean next(WalRecord into) {
        try {
            return read(into);
        } catch (HaltException e) {
            end = isUnwritten() ? End.UNWRITTEN : End.DAMAGED;
            failure = e;
            return false;
        }
    }

    private boolean read(WalRecord into) {
        if (position >= bytes.length) {
            return false;
        }
        int at = position;
        if (at % XLogLayout.PAGE_SIZE == 0) {
            pages.check(bytes, at, start + at);
            at += pages.headerLength(start + at);
        }
        int length = LittleEndian.getInt(bytes, at);
        if (length < XLogLayout.RECORD_HEADER_LENGTH || length > XLogLayout.MAX_RECORD_LENGTH) {
            throw notWal("xl_tot_len is " + Integer.toUnsignedString(length));
        }
        int after = at + length;
        byte[] from = bytes;
        int offset = at;
        if (length > XLogLayout.PAGE_SIZE - at % XLogLayout.PAGE_SIZE) {
            after = stitch(at, length);
            if (after <= 0) {
                position = after < 0 ? -after : bytes.length;
                return after < 0 && read(into);
            }
            from = scratch;
            offset = 0;
        }
        checksum.verify(from, offset, length, start + at);
        int next = XLogLayout.align(after);
        boolean isSwitch =
                from[offset + XLogLayout.RMID] == ResourceManager.XLOG
                        && (from[offset + XLogLayout.INFO] & XLogLayout.XLR_RMGR_INFO_MASK)
                                == XLogLayout.XLOG_SWITCH;
        if (isSwitch) {
            next = bytes.length;
        }
        into.wrap(from, offset, length, start + at, start + next);
        if (previous != 0 && into.previousLsn() != previous) {
            throw into.corrupt("xl_prev does not name the record before");
        }
        previous = start + at;
        position = next;
        return true;
    }

    /**
     * Collects a record that crosses pages. Returns the end of its bytes; 0 if it goes on in the
     * next segment; minus the page where the WAL began anew if it was given up.
     */
    private int stitch(int from, int length) {
        int at = from;
        int done = 0;
        while (true) {
            int count = Math.min(XLogLayout.PAGE_SIZE - at % XLogLayout.PAGE_SIZE, length - done);
            if (scratch.length < done + count) {
                scratch = Arrays.copyOf(scratch, Math.max(done + count, scratch.length * 2));
            }
            System.arraycopy(bytes, at, scratch, done, count);
            done += count;
            at += count;
            if (done == length) {
                return at;
            }
            if (at >= bytes.length) {
                return 0;
            }
            if (LittleEndian.getLong(bytes, at + XLogLayout.PAGE_ADDRESS) != start + at) {
                end = End.UNWRITTEN;
                return 0;
            }
            pages.check(bytes, at, start + at);
            int info = WalPages.info(bytes, at);
            if ((info & XLogLayout.XLP_FIRST_IS_OVERWRITE_CONTRECORD) != 0) {
                return -at;
            }
            if ((info & XLogLayout.XLP_FIRST_IS_CONTRECORD) == 0
                    || WalPages.remainingLength(bytes, at) != length - done) {
                throw notWal("the page at " + at + " does not continue the record before it");
            }
            at += pages.headerLength(start + at);
        }
    }

    /** Nothing but zeros, or a page of an older use of the file, where the next record would be. */
    private boolean isUnwritten() {
        int page = position - position % XLogLayout.PAGE_SIZE;
        if (page < bytes.length
                && LittleEndian.getLong(bytes, page + XLogLayout.PAGE_ADDRESS) != start + page) {
            return true;
        }
        for (int i = position; i < Math.min(bytes.length, position + XLogLayout.CRC); i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
        return true;
    }
}
