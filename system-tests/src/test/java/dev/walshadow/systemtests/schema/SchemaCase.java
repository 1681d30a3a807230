package dev.walshadow.systemtests.schema;

import java.util.ArrayList;
import java.util.List;

/**
 * One row of the table: what is done to a schema of its own, and what must come of it. By default
 * every table that the source has in the end is equal in ClickHouse, and none is set aside.
 *
 * <p>In statements, {@code $S} is the case's schema, which is also the search path; further schemas
 * of the case begin with {@code $S_x_}. A statement runs in a session of its own when it begins
 * with a letter and {@code >}, and must fail when it begins with {@code !}.
 */
final class SchemaCase {
    /** A query in ClickHouse, and what it must answer (one value). */
    record TargetCheck(String query, String expected) {}

    private final String name;
    private final List<String> before = new ArrayList<>();
    private final List<String> during = new ArrayList<>();
    private final List<String> setAside = new ArrayList<>();
    private final List<TargetCheck> targetChecks = new ArrayList<>();
    private int since = 15;
    private boolean plainNames = true;

    private SchemaCase(String name) {
        this.name = name;
    }

    static SchemaCase of(String name) {
        return new SchemaCase(name);
    }

    /** A case with table {@code t (id int PRIMARY KEY, v text, n int)} of 40 rows. */
    static SchemaCase onTable(String name) {
        return of(name).before(Rows.TABLE).before(Rows.FILL);
    }

    SchemaCase before(String... statements) {
        before.addAll(List.of(statements));
        return this;
    }

    SchemaCase during(String... statements) {
        during.addAll(List.of(statements));
        return this;
    }

    SchemaCase during(List<String> statements) {
        during.addAll(statements);
        return this;
    }

    /** The same as BEGIN, the statements, COMMIT. */
    SchemaCase transaction(String... statements) {
        during.add("BEGIN");
        during.addAll(List.of(statements));
        during.add("COMMIT");
        return this;
    }

    /** This table cannot be replicated in the end, and is named. */
    SchemaCase setsAside(String table) {
        setAside.add(table);
        return this;
    }

    SchemaCase target(String query, String expected) {
        targetChecks.add(new TargetCheck(query, expected));
        return this;
    }

    /** The first major that knows the statements. */
    SchemaCase since(int major) {
        since = major;
        return this;
    }

    String name() {
        return name;
    }

    List<String> before() {
        return before;
    }

    List<String> during() {
        return during;
    }

    List<String> setAside() {
        return setAside;
    }

    List<TargetCheck> targetChecks() {
        return targetChecks;
    }

    /** Whether column names can be compared as text in ClickHouse's own catalog. */
    boolean plainNames() {
        return plainNames;
    }

    SchemaCase oddNames() {
        plainNames = false;
        return this;
    }

    int since() {
        return since;
    }

    /** The case's schema, an ordinary identifier of at most 45 characters. */
    String schema() {
        String words = name.toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z0-9]+", "_");
        String cut = words.length() > 36 ? words.substring(0, 36) : words;
        return cut + "_" + Integer.toHexString(name.hashCode() & 0xFFFFFF);
    }

    boolean owns(String schemaName) {
        return schemaName.equals(schema()) || schemaName.startsWith(schema() + "_x_");
    }

    @Override
    public String toString() {
        return name;
    }
}
