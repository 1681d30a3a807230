package dev.walshadow.base;

import org.jspecify.annotations.Nullable;

/** A connection is gone: its owner makes a new one and resumes at the exact position. */
public final class ReconnectException extends WalshadowException {
    private static final long serialVersionUID = 1L;

    public ReconnectException(Code code, String message) {
        super(code, message, null);
    }

    public ReconnectException(Code code, String message, @Nullable Throwable cause) {
        super(code, message, cause);
    }
}
