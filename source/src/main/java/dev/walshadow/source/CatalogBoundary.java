package dev.walshadow.source;

import java.util.Arrays;

/**
 * What a commit that changed catalogs says about the change. A flyweight: valid during the call
 * that hands it over.
 */
public final class CatalogBoundary {
    private int xid;
    private long commitLsn;
    private long nextLsn;
    private long replayLsn;
    private int databaseOid;
    private long catalogs;
    private int[] relations = new int[16];
    private int[] tables = new int[16];
    private int relationCount;
    private boolean allRelations;
    private boolean neverCaptured;
    private boolean noKeys;
    private boolean unseen;

    void clear(int xid, long commitLsn, long nextLsn, int databaseOid, long catalogs) {
        this.xid = xid;
        this.commitLsn = commitLsn;
        this.nextLsn = nextLsn;
        this.replayLsn = nextLsn;
        this.databaseOid = databaseOid;
        this.catalogs = catalogs;
        relationCount = 0;
        allRelations = false;
        neverCaptured = true;
        noKeys = true;
        unseen = false;
    }

    void replayLsn(long lsn) {
        replayLsn = lsn;
    }

    CatalogBoundary copy() {
        CatalogBoundary copy = new CatalogBoundary();
        copy.clear(xid, commitLsn, nextLsn, databaseOid, catalogs);
        copy.replayLsn = replayLsn;
        copy.relations = Arrays.copyOf(relations, relations.length);
        copy.tables = Arrays.copyOf(tables, tables.length);
        copy.relationCount = relationCount;
        copy.allRelations = allRelations;
        copy.neverCaptured = neverCaptured;
        copy.noKeys = noKeys;
        copy.unseen = unseen;
        return copy;
    }

    /**
     * @param never it is known to be of a kind that is not captured
     * @param noKey it is known to have no row in pg_index that belongs to a shape
     * @param table whose index it is known to be; 0: of none that is known
     */
    void addRelation(int oid, boolean never, boolean noKey, int table) {
        neverCaptured &= never;
        noKeys &= noKey;
        if (oid == 0) {
            allRelations = true;
            return;
        }
        for (int i = 0; i < relationCount; i++) {
            if (relations[i] == oid) {
                return;
            }
        }
        if (relationCount == relations.length) {
            relations = Arrays.copyOf(relations, relationCount * 2);
            tables = Arrays.copyOf(tables, relationCount * 2);
        }
        tables[relationCount] = table;
        relations[relationCount++] = oid;
    }

    void unseen() {
        unseen = true;
    }

    /**
     * The transaction may have begun before the stream: it may have written rows and emptied tables
     * that no record here tells of.
     */
    public boolean isUnseen() {
        return unseen;
    }

    /** The top-level transaction that committed. */
    public int xid() {
        return xid;
    }

    public long commitLsn() {
        return commitLsn;
    }

    /** Behind the commit record: from here on its changes hold. */
    public long nextLsn() {
        return nextLsn;
    }

    /**
     * How far WAL has been published, and how far the shadow must have replayed before its catalogs
     * are read. As a rule {@link #nextLsn}; behind it when the commit fell between another
     * transaction's RELMAP_UPDATE and its end, where nobody may read.
     */
    public long replayLsn() {
        return replayLsn;
    }

    public int databaseOid() {
        return databaseOid;
    }

    /** Bits of {@link Catalogs} that the transaction wrote. */
    public long catalogs() {
        return catalogs;
    }

    /** A database was created, dropped or altered: read pg_database again. */
    public boolean databases() {
        return (catalogs & Catalogs.DATABASE) != 0;
    }

    /** Nothing but databases changed. */
    public boolean onlyDatabases() {
        return (catalogs & Catalogs.BOUNDARY) == Catalogs.DATABASE;
    }

    /** The relations (tables, indexes, TOAST tables, composites) that relcache messages name. */
    public int relationCount() {
        return relationCount;
    }

    public int relation(int i) {
        return relations[i];
    }

    /** The table of which this relation is an index; 0 if that is not known. */
    public int tableOf(int i) {
        return tables[i];
    }

    /** Whether a relcache message names this relation; it may not be there after the commit. */
    public boolean names(int relationOid) {
        for (int i = 0; i < relationCount; i++) {
            if (relations[i] == relationOid) {
                return true;
            }
        }
        return false;
    }

    /** A relcache message named every relation (relation 0). */
    public boolean allRelations() {
        return allRelations;
    }

    /** Types changed in a way that names no dependent table: read all types again. */
    public boolean allTypes() {
        return (catalogs & (Catalogs.ENUM | Catalogs.RANGE | Catalogs.TYPE_CHANGED)) != 0;
    }

    /** A schema was renamed or dropped: read all names again. */
    public boolean allNames() {
        return (catalogs & Catalogs.NAMESPACE_CHANGED) != 0;
    }

    /**
     * The transaction is about relations only which are never captured, such as temporary tables
     * and views: all that it names were seen to be created as such, and it did nothing else that
     * matters without naming a relation. There is no need to hold.
     */
    public boolean mayBeTemporaryOnly() {
        return (catalogs & Catalogs.NOT_TEMPORARY) == 0 && neverCaptured && relationCount > 0;
    }

    /**
     * Whether any captured shape may have changed: false for a transaction that only made indexes
     * which are no keys, or brought on their concurrent build.
     */
    boolean mayChangeShapes() {
        return mayChange(Catalogs.SHAPES);
    }

    /**
     * Whether the transaction can have done no more to the captured relations that it names than
     * what leaves their shapes alone, such as REINDEX: it changed rows of pg_class, but locked no
     * captured relation as every command does that changes what is captured of its row. Somebody
     * may still have done so by an UPDATE of pg_class itself.
     */
    public boolean mayBeIndexesOnly() {
        return !mayChange((Catalogs.SHAPES & ~Catalogs.CLASS_CHANGED) | Catalogs.CAPTURED_LOCKED);
    }

    /**
     * Whether the transaction can have changed no shapes but those of the relations that it names,
     * and nothing there about names, schemas, partitions or storage: it created, dropped and moved
     * nothing but indexes. A pg_class UPDATE that does not show it is of an index, unless a
     * captured relation was locked as for a change of its own row.
     */
    public boolean mayBeInPlaceOnly() {
        long moved = Catalogs.CLASS_MOVED | Catalogs.CAPTURED_LOCKED;
        return (catalogs & Catalogs.NOT_IN_PLACE) == 0
                && (catalogs & moved) != moved
                && !allRelations
                && !unseen;
    }

    /** Rows of pg_index were updated: an index may have become a key, or have ceased to be one. */
    public boolean updatesIndexes() {
        return (catalogs & Catalogs.INDEX_UPDATED) != 0;
    }

    private boolean mayChange(long shapes) {
        return (catalogs & shapes) != 0
                || allRelations
                || unseen
                || ((catalogs & Catalogs.INDEX_CHANGED) != 0 && !noKeys);
    }
}
