package dev.walshadow.transaction;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The spilled part of one transaction; layout in {@link SpillLayout}. The WAL pump appends and cuts
 * off; after the hand-over any thread reads, and one deletes. A failed append leaves the file as it
 * was: what lies behind {@link #length} does not count.
 */
final class SpillFile {
    private static final int WRITE_SLICE = 1 << 18;

    private final Path path;
    private final SpillDirectory.Opener opener;
    private final FrameIndex index = new FrameIndex(FrameIndex.MAX_ENTRIES);
    private final byte[] header = new byte[SpillLayout.FRAME_HEADER_LENGTH];
    private long length = SpillLayout.FILE_HEADER_LENGTH;
    private long lastFrame;
    private int longestPayload;
    private @Nullable RandomAccessFile open;
    private boolean deleted;

    SpillFile(Path path, SpillDirectory.Opener opener) {
        this.path = path;
        this.opener = opener;
    }

    Path path() {
        return path;
    }

    /** Bytes that count. */
    long length() {
        return length;
    }

    FrameIndex index() {
        return index;
    }

    int longestPayload() {
        return longestPayload;
    }

    /** What a frame's header says about the payload. */
    record Frame(long position, int records, int smallestXid, ToastRange toast) {}

    /** Appends a frame whose payload is made of {@code parts}, one behind the other. */
    void append(Frame frame, ByteBuffer... parts) throws IOException {
        CRC32C crc = new CRC32C();
        int payload = 0;
        for (ByteBuffer part : parts) {
            payload += part.remaining();
            crc.update(part.duplicate());
        }
        LittleEndian.putInt(header, SpillLayout.FRAME_MAGIC_OFFSET, SpillLayout.FRAME_MAGIC);
        LittleEndian.putInt(header, SpillLayout.FRAME_LENGTH_OFFSET, payload);
        LittleEndian.putInt(header, SpillLayout.FRAME_SMALLEST_XID_OFFSET, frame.smallestXid());
        LittleEndian.putInt(header, SpillLayout.FRAME_RECORDS_OFFSET, frame.records());
        LittleEndian.putLong(header, SpillLayout.FRAME_POSITION_OFFSET, frame.position());
        LittleEndian.putLong(header, SpillLayout.FRAME_PREVIOUS_OFFSET, lastFrame);
        frame.toast().store(header, SpillLayout.FRAME_TOAST_OFFSET);
        LittleEndian.putInt(header, SpillLayout.FRAME_PAYLOAD_CRC_OFFSET, (int) crc.getValue());
        LittleEndian.putInt(header, SpillLayout.FRAME_CRC_OFFSET, headerChecksum(header));
        try (RandomAccessFile file = opener.open(path)) {
            file.seek(length);
            file.write(header);
            for (ByteBuffer part : parts) {
                write(file, part);
            }
        }
        index.add(length, frame.toast());
        lastFrame = length;
        length += SpillLayout.FRAME_HEADER_LENGTH + payload;
        longestPayload = Math.max(longestPayload, payload);
    }

    private static void write(RandomAccessFile file, ByteBuffer part) throws IOException {
        int from = part.arrayOffset() + part.position();
        int left = part.remaining();
        while (left > 0) {
            int slice = Math.min(left, WRITE_SLICE);
            file.write(part.array(), from, slice);
            from += slice;
            left -= slice;
        }
    }

    private static int headerChecksum(byte[] header) {
        CRC32C crc = new CRC32C();
        crc.update(header, 0, SpillLayout.FRAME_CRC_OFFSET);
        return (int) crc.getValue();
    }

    /**
     * Cuts off the frames at the end that begin at or behind {@code position} and hold no record of
     * a transaction before {@code xid}.
     *
     * @return the number of records cut off
     */
    long cutOff(long position, int xid) {
        long records = 0;
        while (lastFrame != 0) {
            readHeader(lastFrame, header);
            int smallest = LittleEndian.getInt(header, SpillLayout.FRAME_SMALLEST_XID_OFFSET);
            if (LittleEndian.getLong(header, SpillLayout.FRAME_POSITION_OFFSET) < position
                    || XidOrder.precedes(smallest, xid)) {
                break;
            }
            records += LittleEndian.getInt(header, SpillLayout.FRAME_RECORDS_OFFSET);
            length = lastFrame;
            lastFrame = LittleEndian.getLong(header, SpillLayout.FRAME_PREVIOUS_OFFSET);
            index.removeLast();
        }
        if (records > 0) {
            truncate();
        }
        return records;
    }

    /** The position behind the last frame's records; 0 if no frame is left. */
    long endPosition() {
        if (lastFrame == 0) {
            return 0;
        }
        readHeader(lastFrame, header);
        return LittleEndian.getLong(header, SpillLayout.FRAME_POSITION_OFFSET)
                + LittleEndian.getInt(header, SpillLayout.FRAME_LENGTH_OFFSET);
    }

    private void truncate() {
        try (RandomAccessFile file = opener.open(path)) {
            file.setLength(length);
        } catch (IOException e) {
            throw failed("cut off", e);
        }
    }

    /** Reads and checks the header of the frame at {@code offset}. */
    void readHeader(long offset, byte[] into) {
        readFully(offset, into, SpillLayout.FRAME_HEADER_LENGTH);
        if (LittleEndian.getInt(into, SpillLayout.FRAME_MAGIC_OFFSET) != SpillLayout.FRAME_MAGIC
                || LittleEndian.getInt(into, SpillLayout.FRAME_CRC_OFFSET)
                        != headerChecksum(into)) {
            throw corrupt(offset, "expected the header of a frame with a valid CRC32C");
        }
        int payload = LittleEndian.getInt(into, SpillLayout.FRAME_LENGTH_OFFSET);
        if (payload < 0
                || offset + SpillLayout.FRAME_HEADER_LENGTH + payload > length
                || payload > longestPayload) {
            throw corrupt(offset, "expected at most " + longestPayload + " bytes in the frame");
        }
    }

    /** Reads and checks the payload of the frame whose header was read. */
    void readPayload(long offset, byte[] frameHeader, byte[] into) {
        int payload = LittleEndian.getInt(frameHeader, SpillLayout.FRAME_LENGTH_OFFSET);
        readFully(offset + SpillLayout.FRAME_HEADER_LENGTH, into, payload);
        CRC32C crc = new CRC32C();
        crc.update(into, 0, payload);
        int expected = LittleEndian.getInt(frameHeader, SpillLayout.FRAME_PAYLOAD_CRC_OFFSET);
        if (expected != (int) crc.getValue()) {
            throw corrupt(
                    offset,
                    String.format(
                            "expected CRC32C %08X of the frame's payload, found %08X",
                            expected, (int) crc.getValue()));
        }
    }

    private synchronized void readFully(long offset, byte[] into, int count) {
        try {
            if (deleted) {
                throw new IOException("the transaction has been closed");
            }
            RandomAccessFile file = open;
            if (file == null) {
                file = opener.open(path);
                open = file;
            }
            file.seek(offset);
            int got = 0;
            while (got < count) {
                int more = file.read(into, got, Math.min(count - got, WRITE_SLICE));
                if (more < 0) {
                    throw corrupt(
                            offset + got, "expected " + length + " bytes, the file ends here");
                }
                got += more;
            }
        } catch (IOException e) {
            throw failed("read", e);
        }
    }

    private HaltException corrupt(long offset, String what) {
        return new HaltException(
                TransactionCodes.SPILL_CORRUPT,
                "spill file "
                        + path
                        + " is damaged at offset "
                        + offset
                        + ": "
                        + what
                        + ". Check that disk; then start walshadow again: it reads the"
                        + " transaction from the WAL anew, nothing is lost.");
    }

    HaltException failed(String what, IOException e) {
        return new HaltException(
                TransactionCodes.SPILL_FAILED,
                "cannot "
                        + what
                        + " spill file "
                        + path
                        + ": "
                        + e
                        + ". Check the spill directory; then start walshadow again: it reads the"
                        + " transaction from the WAL anew, nothing is lost.",
                e);
    }

    /** Gives the descriptor back until the next read; the pump holds none between its spills. */
    synchronized void release() {
        try {
            RandomAccessFile file = open;
            open = null;
            if (file != null) {
                file.close();
            }
        } catch (IOException e) {
            throw failed("close", e);
        }
    }

    synchronized void delete() {
        release();
        deleted = true;
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            throw failed("delete", e);
        }
    }
}
