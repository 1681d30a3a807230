package dev.walshadow.pipeline;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Follows the rows of one window from version to version, over changes of their keys: which of them
 * begin with a version that must be known already, and where each lies at the window's end. Only
 * there the source can still have it; the versions before are superseded.
 */
final class UnresolvedRows {
    /**
     * @param head the key whose earlier version the first change takes values from; null if it
     *     takes none
     * @param high commit position of the first change
     * @param low low half of its version
     * @param place null if the last change brought all values
     */
    private record Chain(
            @Nullable String head, long high, long low, SourceLookup.@Nullable Place place) {}

    private static final Chain WHOLE = new Chain(null, 0, 0, null);

    private final Map<String, Chain> chains = new HashMap<>();
    private final Set<SourceLookup.Place> noted = new HashSet<>();

    void clear() {
        chains.clear();
        noted.clear();
    }

    /** A row version that brings all its values. */
    void whole(String key, String from) {
        chains.remove(from);
        chains.put(key, WHOLE);
    }

    /**
     * One that does not.
     *
     * @param from the key of the version before
     * @param high commit position
     * @param low low half of its version
     */
    void lacking(String key, String from, long high, long low, SourceLookup.Place place) {
        noted.add(place);
        Chain before = chains.remove(from);
        chains.put(
                key,
                before == null
                        ? new Chain(from, high, low, place)
                        : new Chain(before.head, before.high, before.low, place));
    }

    void gone(String key) {
        chains.remove(key);
    }

    /** Whether this row version lacks values as far as the scan has seen. */
    boolean isNoted(SourceLookup.Place place) {
        return noted.contains(place);
    }

    /** The last places of rows that neither the window nor {@code versions} know. */
    List<SourceLookup.Place> places(Map<String, PreviousVersion> versions) {
        List<SourceLookup.Place> places = new ArrayList<>();
        for (Chain chain : chains.values()) {
            if (chain.head != null && chain.place != null) {
                PreviousVersion known = versions.get(chain.head);
                if (known == null || (known.isDeleted() && known.isBelow(chain.high, chain.low))) {
                    places.add(chain.place);
                }
            }
        }
        return places;
    }
}
