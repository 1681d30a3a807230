package dev.walshadow.source;

import java.util.Iterator;
import java.util.LinkedHashSet;

/** Relations by database and OID; bounded, the oldest are forgotten first. Single-threaded. */
final class RelationSet {
    private static final int LIMIT = 1 << 16;

    private final LinkedHashSet<Long> relations = new LinkedHashSet<>();

    void add(int databaseOid, int relationOid) {
        relations.add(key(databaseOid, relationOid));
        if (relations.size() > LIMIT) {
            Iterator<Long> oldest = relations.iterator();
            oldest.next();
            oldest.remove();
        }
    }

    void remove(int databaseOid, int relationOid) {
        relations.remove(key(databaseOid, relationOid));
    }

    boolean contains(int databaseOid, int relationOid) {
        return relations.contains(key(databaseOid, relationOid));
    }

    void clear() {
        relations.clear();
    }

    static long key(int databaseOid, int relationOid) {
        return (long) databaseOid << 32 | Integer.toUnsignedLong(relationOid);
    }
}
