package dev.walshadow.postgres.heap;

/**
 * The one tuple of a sequence's storage, behind its header ({@code FormData_pg_sequence_data}). The
 * page that it is on ends in 8 bytes that begin with {@link #MAGIC}.
 *
 * <pre>
 *  0 i64 last_value   8 i64 log_cnt   16 bool is_called
 * </pre>
 *
 * <p>Source: {@code src/include/commands/sequence.h}, {@code src/backend/commands/sequence.c},
 * PostgreSQL 15-18.
 */
public final class SequenceDataLayout {
    public static final int LAST_VALUE = 0;
    public static final int LOG_COUNT = LAST_VALUE + 8;
    public static final int IS_CALLED = LOG_COUNT + 8;
    public static final int LENGTH = IS_CALLED + 1;

    /** SEQ_MAGIC, an unsigned 32-bit integer at the page's pd_special. */
    public static final int MAGIC = 0x1717;

    private SequenceDataLayout() {}
}
