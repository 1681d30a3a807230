package dev.walshadow.source.replication;

import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.UpstreamWal;
import dev.walshadow.source.store.TimelineHistory;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Which cluster and timeline the received WAL is of, and whether a server that answers has it too.
 * {@link #check} may run on a thread of its own while nothing is received; the rest belongs to the
 * thread that reads, and is seen by all.
 */
public final class Lineage {
    private final long systemIdentifier;
    private final long earlier;

    /** That of the next byte, and at the start of what an earlier run has received. */
    private volatile int timeline;

    /**
     * Of the newest timeline that a server has shown; null before, and of one without ancestors.
     */
    private volatile @Nullable TimelineHistory history;

    private volatile long leftAt = UpstreamWal.NOWHERE;

    /**
     * @param systemIdentifier the cluster that must answer
     * @param earlier what an earlier run has received
     */
    Lineage(long systemIdentifier, long earlier) {
        this.systemIdentifier = systemIdentifier;
        this.earlier = earlier;
    }

    void start(int timelineReceived) {
        timeline = timelineReceived;
    }

    /** Not before what an earlier run has received: its timeline is to be compared until then. */
    void reached(long position, int timelineOfPosition) {
        if (position >= earlier) {
            timeline = timelineOfPosition;
        }
    }

    int timeline() {
        return timeline;
    }

    @Nullable TimelineHistory history() {
        return history;
    }

    int timelineOf(long position) {
        TimelineHistory known = history;
        return known == null ? timeline : known.timelineOf(position);
    }

    /** As {@link UpstreamWal#leftAt}. */
    long leftAt() {
        return leftAt;
    }

    /**
     * Fails unless what answers is the source, on the timeline of what has been received from it or
     * one that descends from that.
     *
     * @param position of the next byte
     * @throws HaltException when it is another cluster, an old or restored copy, or was promoted
     *     without all that has been received
     */
    void check(ReplicationConnection fresh, SystemIdentity identity, long position) {
        if (identity.systemIdentifier() != systemIdentifier) {
            throw new HaltException(
                    ReplicationCodes.FOREIGN_SYSTEM,
                    "expected the cluster with system identifier "
                            + Long.toUnsignedString(systemIdentifier)
                            + ", found "
                            + Long.toUnsignedString(identity.systemIdentifier())
                            + " at "
                            + fresh.host()
                            + ". Another cluster answers under the source's address: correct the"
                            + " connection setting, or use another state directory for it");
        }
        int now = identity.timeline();
        if (Integer.compareUnsigned(now, timeline) < 0) {
            throw new HaltException(
                    ReplicationCodes.TIMELINE_CHANGED,
                    "expected timeline "
                            + Integer.toUnsignedString(timeline)
                            + " or a later one, found "
                            + Integer.toUnsignedString(now)
                            + " at "
                            + fresh.host()
                            + ": an old copy of the source answers");
        }
        if (now > 1) {
            TimelineHistory found = readHistory(fresh, now);
            if (now != timeline) {
                checkDescent(fresh, found, position);
            }
            history = found;
        }
        if (identity.timeline() == timeline && identity.flushLsn() < position) {
            throw new HaltException(
                    ReplicationCodes.SERVER_BEHIND,
                    "the source "
                            + fresh.host()
                            + " has WAL only up to "
                            + Lsn.format(identity.flushLsn())
                            + ", but "
                            + Lsn.format(position)
                            + " was received from it already: it was restored to an earlier"
                            + " state. Load anew");
        }
    }

    /** The history of a timeline above the first. */
    public static TimelineHistory readHistory(ReplicationConnection fresh, int timeline) {
        String text = new String(fresh.timelineHistory(timeline), StandardCharsets.UTF_8);
        try {
            return TimelineHistory.parse(timeline, text);
        } catch (IllegalArgumentException e) {
            throw new HaltException(
                    ReplicationCodes.TIMELINE_CHANGED,
                    "the history of timeline "
                            + Integer.toUnsignedString(timeline)
                            + " from "
                            + fresh.host()
                            + " is no timeline history: "
                            + e.getMessage(),
                    e);
        }
    }

    /** What was received must be part of the new timeline. */
    private void checkDescent(ReplicationConnection fresh, TimelineHistory found, long position) {
        long received = Math.max(position, earlier);
        OptionalLong end = found.endOf(timeline);
        if (end.isPresent() && end.getAsLong() >= received) {
            return;
        }
        leftAt = end.orElse(UpstreamWal.NOWHERE);
        throw new HaltException(
                ReplicationCodes.TIMELINE_CHANGED,
                "the source was promoted without all WAL of the old primary: timeline "
                        + Integer.toUnsignedString(found.timeline())
                        + " of "
                        + fresh.host()
                        + (end.isPresent()
                                ? " left timeline "
                                        + Integer.toUnsignedString(timeline)
                                        + " at "
                                        + Lsn.format(end.getAsLong())
                                : " does not descend from timeline "
                                        + Integer.toUnsignedString(timeline))
                        + ", but WAL up to "
                        + Lsn.format(received)
                        + " was received: there may be rows in ClickHouse that the source does not"
                        + " have. Load anew");
    }
}
