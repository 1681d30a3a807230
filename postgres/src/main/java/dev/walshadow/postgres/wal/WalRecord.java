package dev.walshadow.postgres.wal;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;

/**
 * Flyweight over one complete record in one contiguous byte array, page headers already removed.
 * Reused: valid until the next {@link #wrap}, or until the owner of the bytes goes on; never stored
 * and never given to another thread. Layout: {@link XLogLayout}.
 *
 * <p>{@code wrap} checks every header against the bytes that are there, with the rules of
 * PostgreSQL's {@code DecodeXLogRecord}; whatever the input, a wrapped record's offsets lie inside
 * it, and anything else is a {@link HaltException} {@link WalCodes#CORRUPT_RECORD}. The checksum is
 * verified separately ({@link WalChecksum#verify}).
 */
public final class WalRecord {
    public static final int MAX_BLOCKS = XLogLayout.XLR_MAX_BLOCK_ID + 1;

    private byte[] buffer = new byte[0];
    private int offset;
    private int length;
    private long lsn;
    private long nextLsn;
    private int topLevelXid;
    private int origin;
    private int mainDataOffset;
    private int mainDataLength;
    private int blockCount;

    /** The fields of block reference i lie together: one cache line. */
    private static final int STRIDE = 11;

    private static final int BLOCK_ID = 0;
    private static final int FORK_FLAGS = 1;
    private static final int LOCATOR_OFFSET = 2;
    private static final int BLOCK_NUMBER = 3;
    private static final int DATA_OFFSET = 4;
    private static final int DATA_LENGTH = 5;
    private static final int IMAGE_OFFSET = 6;
    private static final int IMAGE_LENGTH = 7;
    private static final int HOLE_OFFSET = 8;
    private static final int HOLE_LENGTH = 9;
    private static final int IMAGE_FLAGS = 10;

    private final int[] blocks = new int[MAX_BLOCKS * STRIDE];

    /**
     * Points at the record of {@code length} bytes (its {@code xl_tot_len}).
     *
     * @param lsn position of the record's first byte
     * @param nextLsn position behind it as PostgreSQL reports it (EndRecPtr)
     */
    public void wrap(byte[] buffer, int offset, int length, long lsn, long nextLsn) {
        this.buffer = buffer;
        this.offset = offset;
        this.length = length;
        this.lsn = lsn;
        this.nextLsn = nextLsn;
        topLevelXid = 0;
        origin = 0;
        mainDataLength = 0;
        blockCount = 0;
        if (offset < 0
                || length < XLogLayout.RECORD_HEADER_LENGTH
                || length > buffer.length - offset) {
            throw corrupt("the header does not fit into " + length + " bytes");
        }
        if (LittleEndian.getInt(buffer, offset) != length) {
            throw corrupt(
                    "xl_tot_len "
                            + LittleEndian.getUnsignedInt(buffer, offset)
                            + " is not the length of the record, "
                            + length);
        }
        parseHeaders(offset + length);
    }

    /**
     * Points at the first {@code available} bytes of a record, in which its headers must lie; data
     * and main data may lie behind them.
     */
    void wrapBeginning(byte[] bytes, int from, int available, long position) {
        this.buffer = bytes;
        this.offset = from;
        this.length = LittleEndian.getInt(bytes, from);
        this.lsn = position;
        this.nextLsn = position;
        topLevelXid = 0;
        origin = 0;
        mainDataLength = 0;
        blockCount = 0;
        if (available > bytes.length - from || available > length) {
            throw corrupt("a beginning of " + available + " bytes");
        }
        parseHeaders(from + available);
    }

    /**
     * Walks the headers; {@code total} is what they promise to follow behind them.
     *
     * @param headersEnd where the headers must have ended
     */
    private void parseHeaders(int headersEnd) {
        byte[] bytes = buffer;
        int at = offset + XLogLayout.RECORD_HEADER_LENGTH;
        int end = offset + length;
        int total = 0;
        while (end - at > total) {
            need(at, 1, headersEnd);
            int id = bytes[at] & 0xFF;
            if (id <= XLogLayout.XLR_MAX_BLOCK_ID) {
                at = parseBlockHeader(id, at, headersEnd);
                total +=
                        blocks[(blockCount - 1) * STRIDE + DATA_LENGTH]
                                + blocks[(blockCount - 1) * STRIDE + IMAGE_LENGTH];
            } else if (id == XLogLayout.XLR_BLOCK_ID_DATA_SHORT) {
                need(at, 2, headersEnd);
                mainDataLength = bytes[at + 1] & 0xFF;
                total += mainDataLength;
                at += 2;
                break; // by convention, the main data header comes last
            } else if (id == XLogLayout.XLR_BLOCK_ID_DATA_LONG) {
                need(at, 5, headersEnd);
                mainDataLength = LittleEndian.getInt(bytes, at + 1);
                at += 5;
                if (mainDataLength < 0 || mainDataLength > end - at) {
                    throw corrupt("main data does not fit into the record");
                }
                total += mainDataLength;
                break;
            } else if (id == XLogLayout.XLR_BLOCK_ID_ORIGIN) {
                need(at, 3, headersEnd);
                origin = LittleEndian.getUnsignedShort(bytes, at + 1);
                at += 3;
            } else if (id == XLogLayout.XLR_BLOCK_ID_TOPLEVEL_XID) {
                need(at, 5, headersEnd);
                topLevelXid = LittleEndian.getInt(bytes, at + 1);
                at += 5;
            } else {
                throw corrupt("invalid block_id " + id);
            }
        }
        if (end - at != total) {
            throw corrupt("headers promise " + total + " bytes behind them, found " + (end - at));
        }
        if (topLevelXid != 0 && xid() == 0) {
            throw corrupt("a subtransaction of xid " + topLevelXid + " without an xid of its own");
        }
        placeData(at);
    }

    /** Images and data follow in the order of their headers, the main data last. */
    private void placeData(int start) {
        int at = start;
        for (int i = 0; i < blockCount; i++) {
            blocks[i * STRIDE + IMAGE_OFFSET] = at;
            at += blocks[i * STRIDE + IMAGE_LENGTH];
            blocks[i * STRIDE + DATA_OFFSET] = at;
            at += blocks[i * STRIDE + DATA_LENGTH];
        }
        mainDataOffset = at;
    }

    private int parseBlockHeader(int id, int start, int end) {
        byte[] bytes = buffer;
        int i = blockCount;
        if (i > 0 && id <= blocks[(i - 1) * STRIDE + BLOCK_ID]) {
            throw corrupt("out-of-order block_id " + id);
        }
        need(start, XLogLayout.BLOCK_HEADER_LENGTH, end);
        int flags = bytes[start + XLogLayout.BLOCK_FORK_FLAGS] & 0xFF;
        int data = LittleEndian.getUnsignedShort(bytes, start + XLogLayout.BLOCK_DATA_LENGTH);
        if ((flags & XLogLayout.BKPBLOCK_HAS_DATA) != 0 != data > 0) {
            throw corrupt("BKPBLOCK_HAS_DATA contradicts data length " + data);
        }
        int at = start + XLogLayout.BLOCK_HEADER_LENGTH;
        blocks[i * STRIDE + BLOCK_ID] = id;
        blocks[i * STRIDE + FORK_FLAGS] = flags;
        blocks[i * STRIDE + DATA_LENGTH] = data;
        if ((flags & XLogLayout.BKPBLOCK_HAS_IMAGE) != 0) {
            at = parseImageHeader(i, at, end);
        } else {
            blocks[i * STRIDE + IMAGE_LENGTH] = 0;
            blocks[i * STRIDE + HOLE_OFFSET] = 0;
            blocks[i * STRIDE + HOLE_LENGTH] = 0;
            blocks[i * STRIDE + IMAGE_FLAGS] = 0;
        }
        if ((flags & XLogLayout.BKPBLOCK_SAME_REL) != 0) {
            if (i == 0) {
                throw corrupt("BKPBLOCK_SAME_REL set but no previous relation");
            }
            blocks[i * STRIDE + LOCATOR_OFFSET] = blocks[(i - 1) * STRIDE + LOCATOR_OFFSET];
        } else {
            need(at, XLogLayout.LOCATOR_LENGTH, end);
            blocks[i * STRIDE + LOCATOR_OFFSET] = at;
            at += XLogLayout.LOCATOR_LENGTH;
        }
        need(at, Integer.BYTES, end);
        blocks[i * STRIDE + BLOCK_NUMBER] = LittleEndian.getInt(bytes, at);
        blockCount = i + 1;
        return at + Integer.BYTES;
    }

    private int parseImageHeader(int i, int start, int end) {
        byte[] bytes = buffer;
        need(start, XLogLayout.IMAGE_HEADER_LENGTH, end);
        int image = LittleEndian.getUnsignedShort(bytes, start);
        int hole = LittleEndian.getUnsignedShort(bytes, start + XLogLayout.IMAGE_HOLE_OFFSET);
        int flags = bytes[start + XLogLayout.IMAGE_INFO] & 0xFF;
        int at = start + XLogLayout.IMAGE_HEADER_LENGTH;
        boolean hasHole = (flags & XLogLayout.BKPIMAGE_HAS_HOLE) != 0;
        boolean compressed = (flags & XLogLayout.BKPIMAGE_COMPRESSED_MASK) != 0;
        int holeBytes = 0;
        if (compressed) {
            if (hasHole) {
                need(at, Short.BYTES, end);
                holeBytes = LittleEndian.getUnsignedShort(bytes, at);
                at += Short.BYTES;
            }
        } else {
            holeBytes = XLogLayout.PAGE_SIZE - image;
        }
        boolean fits =
                compressed
                        ? image < XLogLayout.PAGE_SIZE && (hasHole || hole == 0)
                        : hasHole == (holeBytes > 0) && holeBytes >= 0 && (hasHole || hole == 0);
        if (!fits
                || (hasHole && (hole == 0 || holeBytes == 0))
                || hole + holeBytes > XLogLayout.PAGE_SIZE) {
            throw corrupt(
                    "page image of "
                            + image
                            + " bytes, hole "
                            + hole
                            + "+"
                            + holeBytes
                            + ", bimg_info "
                            + flags);
        }
        blocks[i * STRIDE + IMAGE_LENGTH] = image;
        blocks[i * STRIDE + HOLE_OFFSET] = hole;
        blocks[i * STRIDE + HOLE_LENGTH] = holeBytes;
        blocks[i * STRIDE + IMAGE_FLAGS] = flags;
        return at;
    }

    private void need(int at, int bytes, int end) {
        if (end - at < bytes) {
            throw corrupt("a header is cut off at the record's end");
        }
    }

    /** The failure to throw when this record's payload is not what PostgreSQL writes. */
    public HaltException corrupt(String found) {
        return new HaltException(
                WalCodes.CORRUPT_RECORD,
                "invalid WAL record at "
                        + Lsn.format(lsn)
                        + ": "
                        + found
                        + "; the WAL is damaged or was not written by PostgreSQL 15-18. Compare"
                        + " with pg_waldump on the source.");
    }

    public byte[] buffer() {
        return buffer;
    }

    public int offset() {
        return offset;
    }

    /** xl_tot_len. */
    public int length() {
        return length;
    }

    public long lsn() {
        return lsn;
    }

    /** EndRecPtr: where the next record is looked for, and what replay of this one reports. */
    public long nextLsn() {
        return nextLsn;
    }

    public int xid() {
        return LittleEndian.getInt(buffer, offset + XLogLayout.XID);
    }

    public long previousLsn() {
        return LittleEndian.getLong(buffer, offset + XLogLayout.PREVIOUS);
    }

    /** The whole xl_info; {@code & 0xF0} is the resource manager's part. */
    public int info() {
        return buffer[offset + XLogLayout.INFO] & 0xFF;
    }

    /** An id of {@link ResourceManager}. */
    public int resourceManager() {
        return buffer[offset + XLogLayout.RMID] & 0xFF;
    }

    public int checksum() {
        return LittleEndian.getInt(buffer, offset + XLogLayout.CRC);
    }

    /** The top-level transaction, where the record names it (first record of a subxact), else 0. */
    public int topLevelXid() {
        return topLevelXid;
    }

    /** The replication origin, 0 if none. */
    public int origin() {
        return origin;
    }

    public int mainDataOffset() {
        return mainDataOffset;
    }

    public int mainDataLength() {
        return mainDataLength;
    }

    /** Number of block references; the {@code i} of the accessors below is an index, not an id. */
    public int blockCount() {
        return blockCount;
    }

    public int blockId(int i) {
        return blocks[i * STRIDE + BLOCK_ID];
    }

    public int forkNumber(int i) {
        return blocks[i * STRIDE + FORK_FLAGS] & XLogLayout.BKPBLOCK_FORK_MASK;
    }

    public int tablespaceOid(int i) {
        return LittleEndian.getInt(buffer, blocks[i * STRIDE + LOCATOR_OFFSET]);
    }

    public int databaseOid(int i) {
        return LittleEndian.getInt(
                buffer, blocks[i * STRIDE + LOCATOR_OFFSET] + XLogLayout.LOCATOR_DATABASE);
    }

    public int relationNumber(int i) {
        return LittleEndian.getInt(
                buffer, blocks[i * STRIDE + LOCATOR_OFFSET] + XLogLayout.LOCATOR_RELATION);
    }

    public int blockNumber(int i) {
        return blocks[i * STRIDE + BLOCK_NUMBER];
    }

    public boolean hasImage(int i) {
        return (blocks[i * STRIDE + FORK_FLAGS] & XLogLayout.BKPBLOCK_HAS_IMAGE) != 0;
    }

    /** True if replay restores the image (and then ignores the block's data). */
    public boolean imageApplies(int i) {
        return (blocks[i * STRIDE + IMAGE_FLAGS] & XLogLayout.BKPIMAGE_APPLY) != 0;
    }

    public boolean willInit(int i) {
        return (blocks[i * STRIDE + FORK_FLAGS] & XLogLayout.BKPBLOCK_WILL_INIT) != 0;
    }

    public boolean hasData(int i) {
        return (blocks[i * STRIDE + FORK_FLAGS] & XLogLayout.BKPBLOCK_HAS_DATA) != 0;
    }

    public int dataOffset(int i) {
        return blocks[i * STRIDE + DATA_OFFSET];
    }

    public int dataLength(int i) {
        return blocks[i * STRIDE + DATA_LENGTH];
    }

    public int imageOffset(int i) {
        return blocks[i * STRIDE + IMAGE_OFFSET];
    }

    /** Stored bytes of the image, compressed or without its hole. */
    public int imageLength(int i) {
        return blocks[i * STRIDE + IMAGE_LENGTH];
    }

    public int imageHoleOffset(int i) {
        return blocks[i * STRIDE + HOLE_OFFSET];
    }

    public int imageHoleLength(int i) {
        return blocks[i * STRIDE + HOLE_LENGTH];
    }

    /** bimg_info. */
    public int imageFlags(int i) {
        return blocks[i * STRIDE + IMAGE_FLAGS];
    }
}
