package dev.walshadow.base;

import org.jspecify.annotations.Nullable;

/** One table cannot be replicated further: it alone is set aside, the others go on. */
public final class QuarantineException extends WalshadowException {
    private static final long serialVersionUID = 1L;

    public QuarantineException(Code code, String message) {
        super(code, message, null);
    }

    public QuarantineException(Code code, String message, @Nullable Throwable cause) {
        super(code, message, cause);
    }
}
