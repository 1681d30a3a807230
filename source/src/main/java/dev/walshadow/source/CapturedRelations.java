package dev.walshadow.source;

/** Which relations are known by their shapes; asked by the WAL pump's thread. */
@FunctionalInterface
public interface CapturedRelations {
    /** True also where that is not known. */
    boolean mayContain(int databaseOid, int relationOid);
}
