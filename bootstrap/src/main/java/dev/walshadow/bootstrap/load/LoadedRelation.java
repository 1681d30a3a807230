package dev.walshadow.bootstrap.load;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.TupleLayout;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** A relation whose files are walked: a table, or the TOAST relation of one. */
final class LoadedRelation {
    private final int oid;
    private final String label;
    private final RelationLocator locator;
    private final boolean toast;
    private final int tableOid;
    private final TupleLayout layout;
    private final LongAdder rows = new LongAdder();
    private volatile @Nullable String damage;

    LoadedRelation(RelationDescriptor shape, RelationLocator locator, boolean toast) {
        this.oid = shape.oid();
        this.label = shape.label();
        this.locator = locator;
        this.toast = toast;
        this.tableOid = toast ? shape.ownerRelationOid() : shape.oid();
        int count = shape.attributes().size();
        int[] lengths = new int[count];
        char[] alignments = new char[count];
        for (int i = 0; i < count; i++) {
            lengths[i] = shape.attributes().get(i).length();
            alignments[i] = shape.attributes().get(i).alignment();
        }
        this.layout = TupleLayout.of(lengths, alignments);
    }

    /** How its tuples lie. */
    TupleLayout layout() {
        return layout;
    }

    int oid() {
        return oid;
    }

    /** The table, of a TOAST relation its owner. */
    int tableOid() {
        return tableOid;
    }

    String label() {
        return label;
    }

    RelationLocator locator() {
        return locator;
    }

    boolean isToast() {
        return toast;
    }

    void addRows(long count) {
        rows.add(count);
    }

    long rows() {
        return rows.sum();
    }

    @Nullable String damage() {
        return damage;
    }

    void damaged(String what) {
        if (damage == null) {
            damage = what;
        }
    }
}
