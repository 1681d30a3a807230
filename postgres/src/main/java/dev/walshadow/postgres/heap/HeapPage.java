package dev.walshadow.postgres.heap;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.PostgresCodes;

/**
 * Flyweight over one heap page of 8192 bytes. Valid until the next wrap; single-threaded.
 *
 * <pre>
 *  0 u32 pd_lsn, high half      10 u16 pd_flags        20 u32 pd_prune_xid
 *  4 u32 pd_lsn, low half       12 u16 pd_lower        24 ..  line pointers, 4 bytes each, up to
 *  8 u16 pd_checksum            14 u16 pd_upper               pd_lower: lp_off:15 lp_flags:2 lp_len:15
 *                               16 u16 pd_special      pd_upper .. pd_special: tuples, 8-aligned
 *                               18 u16 page size | layout version (4)
 * </pre>
 *
 * Source: {@code src/include/storage/bufpage.h}, {@code itemid.h}, PostgreSQL 15-18.
 */
public final class HeapPage {
    /** BLCKSZ; other block sizes are refused by preflight. */
    public static final int SIZE = 8192;

    public static final int PD_LSN = 0;
    public static final int PD_CHECKSUM = PD_LSN + 8;
    public static final int PD_FLAGS = PD_CHECKSUM + 2;
    public static final int PD_LOWER = PD_FLAGS + 2;
    public static final int PD_UPPER = PD_LOWER + 2;
    public static final int PD_SPECIAL = PD_UPPER + 2;
    public static final int PD_PAGESIZE_VERSION = PD_SPECIAL + 2;
    public static final int PD_PRUNE_XID = PD_PAGESIZE_VERSION + 2;
    public static final int HEADER_LENGTH = PD_PRUNE_XID + 4;

    public static final int LP_UNUSED = 0;
    public static final int LP_NORMAL = 1;
    public static final int LP_REDIRECT = 2;
    public static final int LP_DEAD = 3;

    private static final int LAYOUT_VERSION = 4;
    private static final int VALID_FLAG_BITS = 0x0007;
    private static final int ITEM_LENGTH = 4;

    private byte[] buffer = new byte[SIZE];
    private int offset;
    private int lineCount;

    /**
     * Wraps the page at {@code offset}.
     *
     * @return false for an uninitialised page (PageIsNew: pd_upper is 0), which holds nothing
     * @throws QuarantineException if it is no heap page: what PageIsVerified and PageGetItem refuse
     */
    public boolean wrap(byte[] bytes, int offset) {
        if (offset < 0 || bytes.length - offset < SIZE) {
            throw malformed("8192 bytes", Math.max(0, bytes.length - offset) + " bytes");
        }
        this.buffer = bytes;
        this.offset = offset;
        int upper = LittleEndian.getUnsignedShort(bytes, offset + PD_UPPER);
        if (upper == 0) {
            lineCount = 0;
            return false;
        }
        int lower = LittleEndian.getUnsignedShort(bytes, offset + PD_LOWER);
        int special = LittleEndian.getUnsignedShort(bytes, offset + PD_SPECIAL);
        int sizeAndVersion = LittleEndian.getUnsignedShort(bytes, offset + PD_PAGESIZE_VERSION);
        int flags = LittleEndian.getUnsignedShort(bytes, offset + PD_FLAGS);
        boolean sound =
                sizeAndVersion == (SIZE | LAYOUT_VERSION)
                        && (flags & ~VALID_FLAG_BITS) == 0
                        && lower >= HEADER_LENGTH
                        && lower <= upper
                        && upper <= special
                        && special <= SIZE
                        && (special & 7) == 0;
        if (!sound) {
            throw malformed(
                    "a page header with layout version 4 and lower <= upper <= special <= 8192",
                    "size and version 0x"
                            + Integer.toHexString(sizeAndVersion)
                            + ", flags 0x"
                            + Integer.toHexString(flags)
                            + ", lower "
                            + lower
                            + ", upper "
                            + upper
                            + ", special "
                            + special);
        }
        lineCount = (lower - HEADER_LENGTH) / ITEM_LENGTH;
        return true;
    }

    public byte[] buffer() {
        return buffer;
    }

    public int offset() {
        return offset;
    }

    /** The end of the last WAL record that changed the page. */
    public long lsn() {
        return LittleEndian.getUnsignedInt(buffer, offset + PD_LSN) << 32
                | LittleEndian.getUnsignedInt(buffer, offset + PD_LSN + 4);
    }

    public int checksum() {
        return LittleEndian.getUnsignedShort(buffer, offset + PD_CHECKSUM);
    }

    /** How many line pointers there are: offset numbers 1 to this. */
    public int lineCount() {
        return lineCount;
    }

    /** LP_UNUSED, LP_NORMAL, LP_REDIRECT or LP_DEAD. */
    public int lineFlags(int offsetNumber) {
        return line(offsetNumber) >>> 15 & 3;
    }

    /**
     * The first offset number above {@code offsetNumber} (0 to start) whose line pointer is
     * LP_NORMAL, or 0 if there is none.
     */
    public int nextNormal(int offsetNumber) {
        for (int number = offsetNumber + 1; number <= lineCount; number++) {
            if (lineFlags(number) == LP_NORMAL) {
                return number;
            }
        }
        return 0;
    }

    /** Wraps {@code tuple} over the tuple of a LP_NORMAL line pointer. */
    public void tuple(int offsetNumber, TupleView tuple) {
        int line = line(offsetNumber);
        int start = line & 0x7FFF;
        int length = line >>> 17;
        int upper = LittleEndian.getUnsignedShort(buffer, offset + PD_UPPER);
        int special = LittleEndian.getUnsignedShort(buffer, offset + PD_SPECIAL);
        if ((line >>> 15 & 3) != LP_NORMAL
                || start < upper
                || (start & 7) != 0
                || length > special - start) {
            throw malformed(
                    "line pointer " + offsetNumber + " at a tuple between pd_upper and pd_special",
                    "offset " + start + ", length " + length + ", flags " + (line >>> 15 & 3));
        }
        tuple.wrapPage(buffer, offset + start, length);
    }

    /** Whether pd_checksum is what PostgreSQL computes for this block of its relation fork. */
    public boolean checksumMatches(int blockNumber) {
        return checksum() == PageChecksum.compute(buffer, offset, blockNumber);
    }

    private int line(int offsetNumber) {
        if (offsetNumber < 1 || offsetNumber > lineCount) {
            throw malformed("an offset number from 1 to " + lineCount, "" + offsetNumber);
        }
        return LittleEndian.getInt(
                buffer, offset + HEADER_LENGTH + (offsetNumber - 1) * ITEM_LENGTH);
    }

    private static QuarantineException malformed(String expected, String found) {
        return new QuarantineException(
                PostgresCodes.MALFORMED_PAGE,
                "malformed heap page: expected "
                        + expected
                        + ", found "
                        + found
                        + ". The source's file is damaged: check it with pg_amcheck.");
    }
}
