package dev.walshadow.transaction;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which storage stored records change, of a bounded number of relations. */
final class ChangedRelations {
    private static final int MOST = 1_000;

    private final Set<RelationLocator> locators = new LinkedHashSet<>();
    private @Nullable RelationLocator last;
    private boolean unknown;

    /** Notes the record at {@code at}. */
    void add(byte[] chunk, int at) {
        int flags = LittleEndian.getShort(chunk, at + RawRecordLayout.FLAGS_OFFSET);
        if ((flags & RawRecordLayout.HAS_BLOCK0) == 0) {
            unknown = true; // a TRUNCATE
            return;
        }
        int tablespace = LittleEndian.getInt(chunk, at + RawRecordLayout.TABLESPACE_OFFSET);
        int database = LittleEndian.getInt(chunk, at + RawRecordLayout.DATABASE_OFFSET);
        int relation = LittleEndian.getInt(chunk, at + RawRecordLayout.RELATION_OFFSET);
        RelationLocator noted = last;
        if (noted != null
                && noted.relationNumber() == relation
                && noted.databaseOid() == database
                && noted.tablespaceOid() == tablespace) {
            return;
        }
        if (!unknown) {
            RelationLocator locator = new RelationLocator(tablespace, database, relation);
            last = locator;
            locators.add(locator);
            unknown = locators.size() > MOST;
        }
    }

    /** False if the records are not of a known, small set of relations. */
    boolean addTo(Set<RelationLocator> all) {
        all.addAll(locators);
        return !unknown;
    }
}
