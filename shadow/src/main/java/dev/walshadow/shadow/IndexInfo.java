package dev.walshadow.shadow;

/**
 * An index and its table.
 *
 * @param oid of the index
 */
public record IndexInfo(int oid, int tableOid) {}
