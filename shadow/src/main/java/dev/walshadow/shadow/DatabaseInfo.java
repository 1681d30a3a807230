package dev.walshadow.shadow;

/**
 * A row of {@code pg_database}.
 *
 * @param encoding PostgreSQL's name, e.g. {@code UTF8}
 * @param defaultTablespaceOid dattablespace
 */
public record DatabaseInfo(
        int oid,
        String name,
        String encoding,
        int defaultTablespaceOid,
        boolean allowsConnections,
        boolean template,
        String collate,
        String ctype) {}
