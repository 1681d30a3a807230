package dev.walshadow.shadow;

/** A row of {@code pg_namespace}. */
public record NamespaceInfo(int oid, String name) {}
