package dev.walshadow.cli;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;

/** What the process's exit code says. */
final class ExitCodes {
    static final int OK = 0;

    /** Unequal, or timed out. */
    static final int UNEQUAL = 1;

    /** Configuration or preflight; nothing was changed. */
    static final int CONFIGURATION = 2;

    /** Halted on data, or a fault in walshadow. */
    static final int HALTED = 3;

    private ExitCodes() {}

    static int of(Throwable failure) {
        if (!(failure instanceof WalshadowException known)) {
            return HALTED;
        }
        return switch (known) {
            case ConfigurationException _ -> CONFIGURATION;
            case HaltException _ -> HALTED;
            case QuarantineException _, ReconnectException _, RetryException _ -> UNEQUAL;
        };
    }
}
