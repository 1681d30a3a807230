package dev.walshadow.base;

import org.jspecify.annotations.Nullable;

/** The configuration or the surroundings are wrong: nothing was changed, exit code 2. */
public final class ConfigurationException extends WalshadowException {
    private static final long serialVersionUID = 1L;

    public ConfigurationException(Code code, String message) {
        super(code, message, null);
    }

    public ConfigurationException(Code code, String message, @Nullable Throwable cause) {
        super(code, message, cause);
    }
}
