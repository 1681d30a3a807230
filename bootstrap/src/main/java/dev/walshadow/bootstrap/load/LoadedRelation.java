package dev.walshadow.bootstrap.load;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.TupleLayout;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** A relation whose files are walked: a table, or the TOAST relation of one. */
final class LoadedRelation {
    private final int index;
    private final int oid;
    private final String label;
    private final RelationLocator locator;
    private final boolean toast;
    private final int tableOid;
    private final TupleLayout layout;
    private final LongAdder rows = new LongAdder();
    private final BlockClaims claims = new BlockClaims();
    private volatile @Nullable String damage;
    private volatile boolean gone;
    private volatile boolean arrived;
    private volatile @Nullable Unexplained unexplained;
    private volatile @Nullable Unexplained ahead;

    /** A record from B on that changed a page without saying what the page was. */
    private record Unexplained(long lsn, int block) {}

    /**
     * @param index among the relations of its loader
     */
    LoadedRelation(int index, RelationDescriptor shape, RelationLocator locator, boolean toast) {
        this.index = index;
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

    /** What an earlier process did of it. */
    void restore(LoadCheckpoint.Done kept) {
        claims.restore(kept.blocks());
        rows.add(kept.rows());
        if (!kept.damage().isEmpty()) {
            damage = kept.damage();
        }
        if (kept.aheadLsn() != 0) {
            ahead = new Unexplained(kept.aheadLsn(), kept.aheadBlock());
        }
    }

    /** What was done of it up to now. */
    LoadCheckpoint.Done done() {
        String damaged = damage;
        Unexplained page = ahead;
        return new LoadCheckpoint.Done(
                claims.walked(),
                rows(),
                damaged == null ? "" : damaged,
                page == null ? 0 : page.lsn(),
                page == null ? 0 : page.block());
    }

    /** How its tuples lie. */
    TupleLayout layout() {
        return layout;
    }

    int index() {
        return index;
    }

    BlockClaims claims() {
        return claims;
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

    /** A file of it has come. By the backup's thread. */
    void arrived() {
        arrived = true;
    }

    boolean hasArrived() {
        return arrived;
    }

    /** Its files were removed on the source since B. By the pump. */
    void gone() {
        gone = true;
    }

    boolean isGone() {
        return gone;
    }

    /** The first touch of a block brought neither image nor initialisation. By the pump. */
    void unexplained(long lsn, int block) {
        if (unexplained == null) {
            unexplained = new Unexplained(lsn, block);
        }
    }

    /** A page of the backup was changed by a record from B on that the WAL did not bring. */
    void ahead(long lsn, int block) {
        if (ahead == null) {
            ahead = new Unexplained(lsn, block);
        }
    }

    /**
     * Why the pages that were read cannot be relied on although nothing is damaged; null if they
     * can.
     *
     * @param end E: what records from there on do to a page comes after it was copied
     */
    @Nullable String doubt(long end) {
        Unexplained first = unexplained;
        if (first != null && Long.compareUnsigned(first.lsn(), end) < 0) {
            return "the WAL record at "
                    + Lsn.format(first.lsn())
                    + ", the first to change block "
                    + Integer.toUnsignedString(first.block())
                    + " of "
                    + label
                    + " during the base backup, has no image of the page";
        }
        Unexplained page = ahead;
        if (page != null) {
            return "block "
                    + Integer.toUnsignedString(page.block())
                    + " of "
                    + label
                    + " was changed by a WAL record that ends at "
                    + Lsn.format(page.lsn())
                    + ", during the base backup, but that record does not name it";
        }
        return null;
    }
}
