package dev.walshadow.base;

/** Checks of what must hold whatever the input; always on. A broken one stops the daemon. */
public final class Invariant {
    private Invariant() {}

    public static void check(boolean holds, String what) {
        if (!holds) {
            throw new BrokenInvariantError(what);
        }
    }

    /** A fault in walshadow itself, never an answer to bad input. */
    public static final class BrokenInvariantError extends Error {
        private static final long serialVersionUID = 1L;

        BrokenInvariantError(String what) {
            super("broken invariant (a fault in walshadow, please report it): " + what);
        }
    }
}
