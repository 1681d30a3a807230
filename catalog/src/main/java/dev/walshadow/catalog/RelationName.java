package dev.walshadow.catalog;

/** A relation's qualified name, unquoted, as in {@code pg_namespace} and {@code pg_class}. */
public record RelationName(String schema, String name) {
    @Override
    public String toString() {
        return schema + "." + name;
    }
}
