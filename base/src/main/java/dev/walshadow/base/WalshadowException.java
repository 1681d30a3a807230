package dev.walshadow.base;

import org.jspecify.annotations.Nullable;

/**
 * The tree of operating failures. The subclass is the disposition: who catches it and what happens
 * next. The message says what was expected, what was found, where, and what the operator can do.
 */
public abstract sealed class WalshadowException extends RuntimeException
        permits ConfigurationException,
                HaltException,
                QuarantineException,
                ReconnectException,
                RetryException {
    private static final long serialVersionUID = 1L;

    private final transient Code code;

    WalshadowException(Code code, String message, @Nullable Throwable cause) {
        super(code + " " + message, cause);
        this.code = code;
    }

    public Code code() {
        return code;
    }
}
