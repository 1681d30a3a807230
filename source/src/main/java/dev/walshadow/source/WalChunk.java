package dev.walshadow.source;

/**
 * A piece of WAL inside its reader's buffer, valid until the reader's next call. Reused: not
 * stored, not handed to another thread.
 */
public final class WalChunk {
    private byte[] buffer = new byte[0];
    private int offset;
    private int length;
    private long startLsn;
    private long serverEnd;

    /**
     * @param startLsn position of the first byte
     * @param serverEnd how far the server's WAL reached when it sent this; 0 if unknown
     */
    public void set(byte[] buffer, int offset, int length, long startLsn, long serverEnd) {
        this.buffer = buffer;
        this.offset = offset;
        this.length = length;
        this.startLsn = startLsn;
        this.serverEnd = serverEnd;
    }

    public byte[] buffer() {
        return buffer;
    }

    public int offset() {
        return offset;
    }

    public int length() {
        return length;
    }

    public long startLsn() {
        return startLsn;
    }

    /** Position behind the last byte. */
    public long endLsn() {
        return startLsn + length;
    }

    public long serverEnd() {
        return serverEnd;
    }
}
