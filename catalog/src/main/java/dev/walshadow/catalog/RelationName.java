package dev.walshadow.catalog;

/**
 * A relation's qualified name, unquoted, as in {@code pg_namespace} and {@code pg_class}.
 *
 * @param database in {@code pg_database}; empty where one database is followed, which goes without
 *     saying
 */
public record RelationName(String database, String schema, String name) {
    /** Of the one database. */
    public RelationName(String schema, String name) {
        this("", schema, name);
    }

    /** The same name in another database. */
    public RelationName in(String otherDatabase) {
        return new RelationName(otherDatabase, schema, name);
    }

    @Override
    public String toString() {
        return (database.isEmpty() ? "" : database + ".") + schema + "." + name;
    }
}
