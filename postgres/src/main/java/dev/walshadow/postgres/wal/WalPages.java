package dev.walshadow.postgres.wal;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;

/**
 * Checks WAL page headers of one cluster, with the rules of {@code XLogReaderValidatePageHeader}.
 * Layout: {@link XLogLayout}. Holds no state besides what it was told to expect.
 *
 * @param majorVersion 15-18; decides the page magic
 * @param timeline the one that everything is named after that is kept of this WAL. Its pages may be
 *     of ancestors and, after a promotion, of descendants: the server's history says which
 * @param segmentSize power of two, 1 MB to 1 GB
 */
public record WalPages(int majorVersion, long systemIdentifier, int timeline, int segmentSize) {
    public WalPages {
        Invariant.check(
                isSegmentSize(segmentSize), "wal_segment_size is a power of two from 1 MB to 1 GB");
    }

    /** Whether WAL segments can have so many bytes. */
    public static boolean isSegmentSize(int bytes) {
        return Integer.bitCount(bytes) == 1
                && bytes >= XLogLayout.MIN_SEGMENT_SIZE
                && bytes <= XLogLayout.MAX_SEGMENT_SIZE;
    }

    /** The length of the header of the page that starts at {@code pageLsn}. */
    public int headerLength(long pageLsn) {
        return (pageLsn & (segmentSize - 1)) == 0
                ? XLogLayout.LONG_HEADER_LENGTH
                : XLogLayout.SHORT_HEADER_LENGTH;
    }

    public long segmentStart(long lsn) {
        return lsn & -(long) segmentSize;
    }

    /** Throws unless the bytes at {@code offset} are the header of the page at {@code pageLsn}. */
    public void check(byte[] bytes, int offset, long pageLsn) {
        int magic = LittleEndian.getUnsignedShort(bytes, offset + XLogLayout.PAGE_MAGIC);
        int info = LittleEndian.getUnsignedShort(bytes, offset + XLogLayout.PAGE_INFO);
        long address = LittleEndian.getLong(bytes, offset + XLogLayout.PAGE_ADDRESS);
        if (XLogLayout.majorVersion(magic) != majorVersion) {
            throw badMagic(magic, pageLsn);
        }
        boolean isLong = headerLength(pageLsn) == XLogLayout.LONG_HEADER_LENGTH;
        if ((info & ~XLogLayout.XLP_ALL_FLAGS) != 0
                || (info & XLogLayout.XLP_LONG_HEADER) != 0 != isLong) {
            throw corrupt(pageLsn, "xlp_info " + Integer.toHexString(info));
        }
        if (address != pageLsn) {
            throw corrupt(pageLsn, "xlp_pageaddr " + Lsn.format(address));
        }
        if (isLong) {
            checkLong(bytes, offset, pageLsn);
        }
    }

    private void checkLong(byte[] bytes, int offset, long pageLsn) {
        long system = LittleEndian.getLong(bytes, offset + XLogLayout.PAGE_SYSTEM_IDENTIFIER);
        int segment = LittleEndian.getInt(bytes, offset + XLogLayout.PAGE_SEGMENT_SIZE);
        int block = LittleEndian.getInt(bytes, offset + XLogLayout.PAGE_BLOCK_SIZE);
        if (system != systemIdentifier) {
            throw foreign(
                    pageLsn,
                    "system identifier " + Long.toUnsignedString(systemIdentifier),
                    Long.toUnsignedString(system));
        }
        if (segment != segmentSize) {
            throw foreign(pageLsn, "wal_segment_size " + segmentSize, Integer.toString(segment));
        }
        if (block != XLogLayout.PAGE_SIZE) {
            throw foreign(
                    pageLsn, "wal_block_size " + XLogLayout.PAGE_SIZE, Integer.toString(block));
        }
    }

    private HaltException badMagic(int magic, long pageLsn) {
        int found = XLogLayout.majorVersion(magic);
        return new HaltException(
                found == 0 ? WalCodes.CORRUPT_PAGE : WalCodes.UNSUPPORTED_VERSION,
                "expected a WAL page of PostgreSQL "
                        + majorVersion
                        + " at "
                        + Lsn.format(pageLsn)
                        + ", found "
                        + (found == 0
                                ? "magic number "
                                        + Integer.toHexString(magic)
                                        + ": the page is damaged or of an unsupported release"
                                        + " (15-18 are supported)"
                                : "one of PostgreSQL " + found + ": was the source upgraded?"));
    }

    private static HaltException corrupt(long pageLsn, String found) {
        return new HaltException(
                WalCodes.CORRUPT_PAGE,
                "invalid WAL page header at "
                        + Lsn.format(pageLsn)
                        + ": "
                        + found
                        + "; the WAL is damaged or a segment file was overwritten. Compare with"
                        + " pg_waldump on the source.");
    }

    private static HaltException foreign(long pageLsn, String expected, String found) {
        return new HaltException(
                WalCodes.FOREIGN_WAL,
                "the WAL page at "
                        + Lsn.format(pageLsn)
                        + " is of another cluster: expected "
                        + expected
                        + ", found "
                        + found
                        + ". Point walshadow at the cluster that its state directory belongs to.");
    }

    public static int info(byte[] bytes, int offset) {
        return LittleEndian.getUnsignedShort(bytes, offset + XLogLayout.PAGE_INFO);
    }

    /** xlp_rem_len, unsigned in PostgreSQL; never over 1 GB. */
    public static int remainingLength(byte[] bytes, int offset) {
        return LittleEndian.getInt(bytes, offset + XLogLayout.PAGE_REMAINING_LENGTH);
    }
}
