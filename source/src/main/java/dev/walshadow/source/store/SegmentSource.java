package dev.walshadow.source.store;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Complete WAL segments by their position. Thread safe. */
public interface SegmentSource {
    /** The segment that holds {@code lsn}, from its first byte; null if it is not there (yet). */
    @Nullable ReadObject segment(int timeline, long lsn);

    /** The history file of a timeline, if there is one. */
    Optional<TimelineHistory> history(int timeline);

    /** Where it is, for messages. */
    String address();
}
