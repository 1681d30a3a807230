package dev.walshadow.postgres.heap;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.QuarantineException;

/**
 * View over the only page of a sequence's storage. Reused; valid until the next wrap.
 *
 * @see SequenceDataLayout
 */
public final class SequencePage {
    private final HeapPage page = new HeapPage();
    private final TupleView tuple = new TupleView();
    private byte[] bytes = new byte[0];
    private int data;

    /**
     * Wraps the page of 8192 bytes at {@code offset}.
     *
     * @return false if it is no sequence's page
     */
    public boolean wrap(byte[] buffer, int offset) {
        try {
            int line = page.wrap(buffer, offset) ? page.nextNormal(0) : 0;
            int special = LittleEndian.getUnsignedShort(buffer, offset + HeapPage.PD_SPECIAL);
            if (line == 0
                    || special + Integer.BYTES > HeapPage.SIZE
                    || LittleEndian.getInt(buffer, offset + special) != SequenceDataLayout.MAGIC) {
                return false;
            }
            page.tuple(line, tuple);
        } catch (QuarantineException e) {
            return false; // what was written while it was copied is in the WAL
        }
        bytes = buffer;
        data = tuple.dataOffset();
        return tuple.end() - data >= SequenceDataLayout.LENGTH;
    }

    public long lastValue() {
        return LittleEndian.getLong(bytes, data + SequenceDataLayout.LAST_VALUE);
    }

    /** How many more values may be given without a record. */
    public long logCount() {
        return LittleEndian.getLong(bytes, data + SequenceDataLayout.LOG_COUNT);
    }

    public boolean isCalled() {
        return bytes[data + SequenceDataLayout.IS_CALLED] != 0;
    }
}
