package dev.walshadow.clickhouse;

import org.jspecify.annotations.Nullable;

/** What ClickHouse said, as the cause of the classified exception. */
public final class ServerError extends Exception {
    private static final long serialVersionUID = 1L;

    private final int errorCode;

    ServerError(int errorCode, String text, @Nullable Throwable cause) {
        super("ClickHouse code " + errorCode + ": " + text, cause);
        this.errorCode = errorCode;
    }

    /** ClickHouse's error code ({@code ErrorCodes.cpp}); 0 if the answer named none. */
    public int errorCode() {
        return errorCode;
    }

    /** The ClickHouse code that led to {@code failure}; -1 if none did. */
    public static int codeOf(Throwable failure) {
        for (Throwable t = failure; t != null; t = t.getCause()) {
            if (t instanceof ServerError error) {
                return error.errorCode;
            }
        }
        return -1;
    }
}
