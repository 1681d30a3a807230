package dev.walshadow.base;

import org.jspecify.annotations.Nullable;

/** The other side cannot serve this now: its owner repeats the same request with backoff. */
public final class RetryException extends WalshadowException {
    private static final long serialVersionUID = 1L;

    public RetryException(Code code, String message) {
        super(code, message, null);
    }

    public RetryException(Code code, String message, @Nullable Throwable cause) {
        super(code, message, cause);
    }
}
