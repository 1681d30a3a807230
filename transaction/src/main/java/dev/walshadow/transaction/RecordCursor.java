package dev.walshadow.transaction;

/** Walks records in LSN order. For one thread. */
public interface RecordCursor {
    /** Wraps {@code into} around the next record; false at the end. */
    boolean next(RawRecord into);

    /**
     * True if every chunk stays as it is until the changes are closed (memory); false if it is
     * overwritten by the next call of {@link #next} (spilled).
     */
    boolean chunkIsStable();
}
