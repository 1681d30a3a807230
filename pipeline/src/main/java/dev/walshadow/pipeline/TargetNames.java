package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.Ddl;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Which name in ClickHouse belongs to which table, and by which comment a table is known to be
 * ours. Thread safe.
 */
final class TargetNames {
    /** The names of {@link #scratch} tables that hold nothing of value once their maker is gone. */
    static final String UNFINISHED = "^(loading|beside)_[0-9]+_[0-9]+$";

    private static final String VIEW = ", view ";

    private final String metadataDatabase;
    private final long systemIdentifier;
    private final LongFunction<@Nullable TargetTable> tables;
    private final Map<TargetName, Long> claims = new ConcurrentHashMap<>();

    /**
     * @param tables the generation that is current for a table's key
     */
    TargetNames(
            String metadataDatabase,
            long systemIdentifier,
            LongFunction<@Nullable TargetTable> tables) {
        this.metadataDatabase = metadataDatabase;
        this.systemIdentifier = systemIdentifier;
        this.tables = tables;
    }

    void clear() {
        claims.clear();
    }

    /** A table is under this name. */
    void put(TargetName name, TargetTable table) {
        claims.put(name, table.key());
    }

    /**
     * Takes a name for a table, beside those that it has.
     *
     * @return null if it has it now; else the table that has it
     */
    @Nullable TargetTable claim(TargetTable table, TargetName name) {
        Long owner = claims.putIfAbsent(name, table.key());
        if (owner == null || owner == table.key()) {
            return null;
        }
        TargetTable other = tables.apply(owner);
        if (other == null || (other.state() == TableState.DROPPED && other.isOpen())) {
            claims.remove(name, owner);
            return claim(table, name);
        }
        return other;
    }

    void releaseOthers(TargetTable table, TargetName kept) {
        claims.entrySet()
                .removeIf(claim -> claim.getValue() == table.key() && !claim.getKey().equals(kept));
    }

    void release(TargetTable table) {
        claims.values().removeIf(owner -> owner == table.key());
    }

    /** A table in walshadow's own database that belongs to nobody else. */
    TargetName scratch(String purpose, TargetTable table) {
        return new TargetName(
                metadataDatabase,
                purpose
                        + "_"
                        + Integer.toUnsignedString(table.databaseOid())
                        + "_"
                        + Integer.toUnsignedString(table.relationOid()));
    }

    /** By which a table in ClickHouse is known to be this one's. */
    String comment(TargetTable table) {
        return mark() + oids(table);
    }

    /** The statement that gives the table in that place this comment. */
    String marking(TargetTable table, TargetName place) {
        return "ALTER TABLE " + place.quoted() + " MODIFY COMMENT " + Ddl.literal(comment(table));
    }

    String stagingComment(TargetTable table) {
        return mark() + oids(table) + ", loading";
    }

    boolean isMarkOf(TargetTable table, String comment) {
        return comment.equals(comment(table)) || comment.equals(stagingComment(table));
    }

    /**
     * Of the view of a table's current rows.
     *
     * @param digest of its definition, eight hexadecimal digits
     */
    String viewComment(TargetTable table, String digest) {
        return mark() + oids(table) + VIEW + digest;
    }

    /** True for the comment of a view of ours. */
    boolean isView(String comment) {
        return isOurs(comment) && isViewMark(comment);
    }

    /** The same of a comment that is known to be ours. */
    static boolean isViewMark(String comment) {
        return comment.contains(VIEW);
    }

    boolean isOurs(String comment) {
        return comment.startsWith(mark());
    }

    String mark() {
        return mark(systemIdentifier, metadataDatabase);
    }

    /**
     * How the comment of every table begins that is replicated from a source by what keeps its
     * state in this database: the same source may be replicated there twice.
     */
    static String mark(long systemIdentifier, String metadataDatabase) {
        return "walshadow: source "
                + Long.toUnsignedString(systemIdentifier)
                + ", metadata "
                + metadataDatabase
                + ", table ";
    }

    private static String oids(TargetTable table) {
        return Integer.toUnsignedString(table.databaseOid())
                + "."
                + Integer.toUnsignedString(table.relationOid());
    }
}
