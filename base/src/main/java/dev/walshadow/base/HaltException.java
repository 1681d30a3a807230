package dev.walshadow.base;

import org.jspecify.annotations.Nullable;

/** The data cannot be followed further without guessing: the daemon stops, exit code 3. */
public final class HaltException extends WalshadowException {
    private static final long serialVersionUID = 1L;

    public HaltException(Code code, String message) {
        super(code, message, null);
    }

    public HaltException(Code code, String message, @Nullable Throwable cause) {
        super(code, message, cause);
    }
}
