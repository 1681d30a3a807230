package dev.walshadow.transaction;

import dev.walshadow.base.Invariant;

/** The records that lie one behind the other in one array, such as a baseline chunk. */
public final class ChunkCursor implements RecordCursor {
    private final byte[] chunk;
    private final int end;
    private int position;

    /**
     * @param end bytes of {@code chunk} that hold records, from index 0
     */
    public ChunkCursor(byte[] chunk, int end) {
        this.chunk = chunk;
        this.end = end;
    }

    @Override
    public boolean next(RawRecord into) {
        if (position == end) {
            return false;
        }
        into.wrap(chunk, position);
        position += into.length();
        Invariant.check(position <= end, "a chunk ends with a whole record");
        return true;
    }

    @Override
    public boolean chunkIsStable() {
        return true;
    }
}
