package dev.walshadow.source.store;

import dev.walshadow.postgres.Lsn;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Where the ancestors of a timeline end. Source: {@code readTimeLineHistory} in {@code
 * src/backend/access/transam/timeline.c}, PostgreSQL 15-18: a line per ancestor, its number, the
 * position where the next one begins, a reason; lines that begin with # are comments.
 *
 * @param ancestors oldest first
 */
public record TimelineHistory(int timeline, List<Ancestor> ancestors) {
    /**
     * @param end the first position that belongs to the next timeline
     */
    public record Ancestor(int timeline, long end) {}

    public TimelineHistory {
        ancestors = List.copyOf(ancestors);
    }

    /**
     * @throws IllegalArgumentException with what is wrong, if it is no such file
     */
    public static TimelineHistory parse(int timeline, String text) {
        List<Ancestor> found = new ArrayList<>();
        int last = 0;
        for (String line : text.split("\n", -1)) {
            String stripped = line.strip();
            if (stripped.isEmpty() || stripped.startsWith("#")) {
                continue;
            }
            Ancestor next = ancestor(stripped);
            if (Integer.compareUnsigned(next.timeline(), last) <= 0
                    || Integer.compareUnsigned(next.timeline(), timeline) >= 0) {
                throw new IllegalArgumentException("timelines out of order at: " + stripped);
            }
            last = next.timeline();
            found.add(next);
        }
        return new TimelineHistory(timeline, found);
    }

    private static Ancestor ancestor(String line) {
        String[] words = line.split("\\s+", 3);
        if (words.length < 2) {
            throw new IllegalArgumentException("no position in the line: " + line);
        }
        return new Ancestor(Integer.parseUnsignedInt(words[0]), Lsn.parse(words[1]));
    }

    /** The timeline, itself or an ancestor, that the byte at a position is of. */
    public int timelineOf(long lsn) {
        return ancestors.stream()
                .filter(each -> lsn < each.end())
                .mapToInt(Ancestor::timeline)
                .findFirst()
                .orElse(timeline);
    }

    /** Where an ancestor ends; empty if the timeline does not descend from it. */
    public OptionalLong endOf(int ancestor) {
        return ancestors.stream()
                .filter(each -> each.timeline() == ancestor)
                .mapToLong(Ancestor::end)
                .findFirst();
    }
}
