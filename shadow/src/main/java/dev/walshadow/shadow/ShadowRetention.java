package dev.walshadow.shadow;

import dev.walshadow.postgres.Lsn;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Which filtered segments the shadow can still ask for. A restarted shadow recovers from the redo
 * position of its last restartpoint, from its own pg_wal as far as that is whole and from the
 * archive where it is not.
 */
public final class ShadowRetention {
    private static final int SEGMENT_NAME_LENGTH = 24;
    private static final int TIMELINE_DIGITS = 8;

    private ShadowRetention() {}

    /** Start of the oldest segment that a restart from {@code redoLsn} may read. */
    public static long oldestNeeded(long redoLsn, int segmentSize) {
        return redoLsn & -(long) segmentSize;
    }

    /**
     * Those of the given archive file names that no restart needs any more. Names that are not
     * segments (history files, files being written) are never among them. Timelines are ignored, as
     * PostgreSQL does when it removes old segments: positions alone decide.
     */
    public static List<String> deletable(
            Collection<String> fileNames, long redoLsn, int segmentSize) {
        String oldest =
                Lsn.segmentFileName(1, oldestNeeded(redoLsn, segmentSize), segmentSize)
                        .substring(TIMELINE_DIGITS);
        List<String> names = new ArrayList<>();
        for (String name : fileNames) {
            if (isSegmentName(name) && name.substring(TIMELINE_DIGITS).compareTo(oldest) < 0) {
                names.add(name);
            }
        }
        return names;
    }

    private static boolean isSegmentName(String name) {
        return name.length() == SEGMENT_NAME_LENGTH
                && name.chars().allMatch(c -> "0123456789ABCDEF".indexOf(c) >= 0);
    }
}
