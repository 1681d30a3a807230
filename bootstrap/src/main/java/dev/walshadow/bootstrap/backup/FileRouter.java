package dev.walshadow.bootstrap.backup;

import dev.walshadow.postgres.RelationLocator;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Decides by its path what an entry of the backup is: the shadow's, a user relation's, or nothing
 * that anybody needs. What the shadow gets is a list of what it needs, not of what it must not get:
 * the source's data directory may hold configuration, keys and certificates, logs and whatever
 * people put there. Pure.
 *
 * <p>Kept although no catalog: {@code pg_twophase} (without it a prepared transaction's catalog
 * rows are lost for ever after a clean restart of the source) and {@code pg_commit_ts}. Dropped
 * although catalog: {@code pg_largeobject}, which can be terabytes and which nothing reads here.
 */
public final class FileRouter {
    /** FirstNormalObjectId: catalogs that were never rewritten have smaller relation numbers. */
    static final int FIRST_NORMAL_NUMBER = 16384;

    static final int DEFAULT_TABLESPACE = 1663;
    private static final Set<Integer> LARGE_OBJECTS = Set.of(2613, 2683);

    private static final Set<String> WHOLE_DIRECTORIES =
            Set.of("global", "pg_xact", "pg_multixact", "pg_twophase", "pg_commit_ts");

    /** PostgreSQL wants these to exist; their content is the source's own business. */
    private static final Set<String> EMPTY_DIRECTORIES =
            Set.of(
                    "base",
                    "pg_dynshmem",
                    "pg_logical",
                    "pg_logical/mappings",
                    "pg_logical/snapshots",
                    "pg_notify",
                    "pg_replslot",
                    "pg_serial",
                    "pg_snapshots",
                    "pg_stat",
                    "pg_stat_tmp",
                    "pg_subtrans",
                    "pg_tblspc",
                    "pg_wal",
                    "pg_wal/archive_status",
                    "pg_wal/summaries");

    private static final Set<String> TOP_FILES = Set.of("PG_VERSION", "backup_label");
    private static final Set<String> DATABASE_FILES = Set.of("PG_VERSION", "pg_filenode.map");
    private static final Pattern DATABASE_DIRECTORY = Pattern.compile("base/([0-9]{1,10})");
    private static final Pattern LINKED = Pattern.compile("pg_tblspc/([0-9]{1,10})/(.+)");
    private static final Pattern SPACE_DIRECTORY = Pattern.compile("PG_[0-9]+_[0-9]+");
    private static final Pattern SPACE_DATABASE =
            Pattern.compile("(PG_[0-9]+_[0-9]+)/([0-9]{1,10})");
    private static final Pattern RELATION_FILE =
            Pattern.compile("([0-9]{1,10})(_fsm|_vm|_init)?(?:\\.([0-9]{1,6}))?");

    /** A backup tool may leave out what has no files, and PostgreSQL does not make them. */
    private static final Set<String> KEPT_DIRECTORIES =
            Set.of(
                    "global",
                    "pg_xact",
                    "pg_multixact/members",
                    "pg_multixact/offsets",
                    "pg_twophase",
                    "pg_commit_ts");

    private final Set<RelationLocator> rewrittenCatalogs;

    /**
     * @param rewrittenCatalogs looked into per file, so it may still grow until the first one comes
     */
    public FileRouter(Set<RelationLocator> rewrittenCatalogs) {
        this.rewrittenCatalogs = rewrittenCatalogs;
    }

    /** Every directory that the server needs, databases' apart; parents come before children. */
    public static List<String> directories() {
        return Stream.concat(EMPTY_DIRECTORIES.stream(), KEPT_DIRECTORIES.stream())
                .sorted()
                .toList();
    }

    /**
     * @param tablespaceOid the archive's; 0 = the main data directory
     * @param path relative to the archive's root
     */
    public Route route(int tablespaceOid, String path, boolean directory) {
        return tablespaceOid == 0
                ? inMainDirectory(path, directory)
                : inTablespace(tablespaceOid, path, directory);
    }

    private Route inMainDirectory(String path, boolean directory) {
        int slash = path.indexOf('/');
        String top = slash < 0 ? path : path.substring(0, slash);
        if (directory) {
            boolean wanted =
                    WHOLE_DIRECTORIES.contains(top)
                            || EMPTY_DIRECTORIES.contains(path)
                            || DATABASE_DIRECTORY.matcher(path).matches();
            return wanted ? new Route.Keep(path) : Route.SKIP;
        }
        if (slash < 0) {
            return TOP_FILES.contains(path) ? new Route.Keep(path) : Route.SKIP;
        }
        if (WHOLE_DIRECTORIES.contains(top)) {
            return new Route.Keep(path);
        }
        int last = path.lastIndexOf('/');
        Matcher database = DATABASE_DIRECTORY.matcher(path.substring(0, last));
        if (!database.matches()) {
            return Route.SKIP;
        }
        return inDatabase(
                DEFAULT_TABLESPACE, unsigned(database.group(1)), path, path.substring(last + 1));
    }

    /**
     * The same for archives that have the files of tablespaces below {@code pg_tblspc/OID}, as
     * backup tools write them that follow PostgreSQL's links.
     *
     * @param path relative to the data directory
     */
    public Route route(String path, boolean directory) {
        Matcher inside = LINKED.matcher(path);
        if (!inside.matches()) {
            return route(0, path, directory);
        }
        long oid = Long.parseLong(inside.group(1));
        return oid == 0 || oid >>> 32 != 0
                ? Route.SKIP
                : route((int) oid, inside.group(2), directory);
    }

    /** Tablespaces become plain directories in {@code pg_tblspc}, "in place". */
    private Route inTablespace(int tablespaceOid, String path, boolean directory) {
        String kept = "pg_tblspc/" + Integer.toUnsignedString(tablespaceOid) + "/" + path;
        if (directory) {
            boolean wanted =
                    SPACE_DIRECTORY.matcher(path).matches()
                            || SPACE_DATABASE.matcher(path).matches();
            return wanted ? new Route.Keep(kept) : Route.SKIP;
        }
        int last = path.lastIndexOf('/');
        Matcher database = SPACE_DATABASE.matcher(last < 0 ? "" : path.substring(0, last));
        if (!database.matches()) {
            return Route.SKIP;
        }
        return inDatabase(
                tablespaceOid, unsigned(database.group(2)), kept, path.substring(last + 1));
    }

    private Route inDatabase(int tablespaceOid, int databaseOid, String kept, String name) {
        if (DATABASE_FILES.contains(name)) {
            return new Route.Keep(kept);
        }
        Matcher file = RELATION_FILE.matcher(name);
        if (!file.matches()) {
            return Route.SKIP;
        }
        int number = unsigned(file.group(1));
        RelationLocator locator = new RelationLocator(tablespaceOid, databaseOid, number);
        if (rewrittenCatalogs.contains(locator)) {
            return new Route.Keep(kept);
        }
        if (Integer.compareUnsigned(number, FIRST_NORMAL_NUMBER) < 0) {
            return LARGE_OBJECTS.contains(number) ? Route.SKIP : new Route.Keep(kept);
        }
        if (file.group(2) != null) {
            return Route.SKIP;
        }
        String segment = file.group(3);
        return new Route.Heap(locator, segment == null ? 0 : Integer.parseInt(segment));
    }

    private static int unsigned(String digits) {
        return (int) Long.parseLong(digits);
    }
}
