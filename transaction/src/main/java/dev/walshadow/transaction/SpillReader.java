package dev.walshadow.transaction;

import dev.walshadow.base.LittleEndian;

/** Reads frames of one spill file into a buffer of its own; for one thread. */
final class SpillReader {
    private final SpillFile file;
    private final byte[] header = new byte[SpillLayout.FRAME_HEADER_LENGTH];
    private final ToastRange toastRange = new ToastRange();
    private byte[] payload = {};
    private long payloadOf = -1;
    private long headerOf = -1;

    SpillReader(SpillFile file) {
        this.file = file;
    }

    static long firstFrame() {
        return SpillLayout.FILE_HEADER_LENGTH;
    }

    boolean isFrame(long offset) {
        return offset < file.length();
    }

    /** Reads the frame's header, and its payload too if {@link #load} follows. */
    void open(long offset) {
        if (offset != headerOf) {
            headerOf = -1;
            file.readHeader(offset, header);
            headerOf = offset;
            toastRange.load(header, SpillLayout.FRAME_TOAST_OFFSET);
        }
    }

    void load() {
        if (payloadOf == headerOf) {
            return;
        }
        payloadOf = -1;
        int length = payloadLength();
        if (payload.length < length) {
            payload = new byte[length];
        }
        file.readPayload(headerOf, header, payload);
        payloadOf = headerOf;
    }

    byte[] payload() {
        return payload;
    }

    int payloadLength() {
        return LittleEndian.getInt(header, SpillLayout.FRAME_LENGTH_OFFSET);
    }

    long position() {
        return LittleEndian.getLong(header, SpillLayout.FRAME_POSITION_OFFSET);
    }

    ToastRange toastRange() {
        return toastRange;
    }

    long nextFrame() {
        return headerOf + SpillLayout.FRAME_HEADER_LENGTH + payloadLength();
    }
}
