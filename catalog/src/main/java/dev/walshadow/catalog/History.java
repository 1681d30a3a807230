package dev.walshadow.catalog;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** What stood in one place (an OID, a locator) from which position on. Immutable. */
final class History {
    /** Receives one version. */
    interface VersionSink {
        void version(long validFromLsn, @Nullable RelationDescriptor relation);
    }

    private final long[] lsns;
    private final @Nullable RelationDescriptor[] relations;

    private History(long[] lsns, @Nullable RelationDescriptor[] relations) {
        this.lsns = lsns;
        this.relations = relations;
    }

    static History of(long lsn, @Nullable RelationDescriptor relation) {
        return new History(new long[] {lsn}, new @Nullable RelationDescriptor[] {relation});
    }

    /** With one more version; one of the same position is replaced. */
    History with(long lsn, @Nullable RelationDescriptor relation) {
        int kept = lsns[lsns.length - 1] == lsn ? lsns.length - 1 : lsns.length;
        long[] newLsns = Arrays.copyOf(lsns, kept + 1);
        @Nullable RelationDescriptor[] newRelations = Arrays.copyOf(relations, kept + 1);
        newLsns[kept] = lsn;
        newRelations[kept] = relation;
        return new History(newLsns, newRelations);
    }

    int size() {
        return lsns.length;
    }

    @Nullable RelationDescriptor newest() {
        return relations[relations.length - 1];
    }

    /** The version that is valid at {@code lsn}; null also before the first one. */
    @Nullable RelationDescriptor at(long lsn) {
        int index = indexAt(lsn);
        return index < 0 ? null : relations[index];
    }

    private int indexAt(long lsn) {
        // almost always the newest
        for (int i = lsns.length - 1; i >= 0; i--) {
            if (lsns[i] <= lsn) {
                return i;
            }
        }
        return -1;
    }

    /** True if a version begins at exactly {@code lsn}. */
    boolean changesAt(long lsn) {
        int index = indexAt(lsn);
        return index >= 0 && lsns[index] == lsn;
    }

    /** How many versions nobody at or above {@code floor} can see. */
    int supersededAt(long floor) {
        int index = indexAt(floor);
        if (index < 0) {
            return 0;
        }
        return relations[index] == null ? index + 1 : index;
    }

    /** What is left for readers at or above {@code floor}; null if nothing is. */
    @Nullable History from(long floor) {
        int first = supersededAt(floor);
        if (first == 0) {
            return this;
        }
        return first == lsns.length
                ? null
                : new History(
                        Arrays.copyOfRange(lsns, first, lsns.length),
                        Arrays.copyOfRange(relations, first, relations.length));
    }

    void forEach(VersionSink sink) {
        for (int i = 0; i < lsns.length; i++) {
            sink.version(lsns[i], relations[i]);
        }
    }
}
