package dev.walshadow.bootstrap.backup;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Tells a complete shadow from a half-laid one, and whose it is. */
@SuppressWarnings("DoNotCallSuggester")
public final class ShadowMarkers {
    /** What a data directory holds. */
    public enum State {
        /** Absent or empty: a first bootstrap may begin. */
        EMPTY,
        /** A bootstrap was begun and not completed: begin anew after {@link #discard}. */
        INCOMPLETE,
        /** Never replaced unasked (I12). */
        COMPLETE,
        /** Files that no bootstrap of ours laid: not touched. */
        FOREIGN
    }

    /**
     * @param startLsn B
     * @param endLsn E
     */
    public record Completion(long systemIdentifier, int timeline, long startLsn, long endLsn) {}

    private ShadowMarkers() {}

    public static State inspect(Path dataDirectory) {
        throw new UnsupportedOperationException("" + dataDirectory);
    }

    /** Null unless COMPLETE. */
    public static @Nullable Completion completion(Path dataDirectory) {
        throw new UnsupportedOperationException("" + dataDirectory);
    }

    /** Declares the bootstrap done: durable on return. */
    public static void complete(Path dataDirectory, Completion completion) {
        throw new UnsupportedOperationException("" + dataDirectory + completion);
    }

    /** Deletes an INCOMPLETE data directory's content. */
    public static void discard(Path dataDirectory) {
        throw new UnsupportedOperationException("" + dataDirectory);
    }
}
