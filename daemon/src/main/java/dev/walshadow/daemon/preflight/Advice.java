package dev.walshadow.daemon.preflight;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What preflight knows that does not keep walshadow from starting, but somebody should know. */
public final class Advice {
    private static final long FREE_BYTES_LEAST = 5L << 30;
    private static final long SLOT_MEGABYTES_LEAST = 4096;
    private static final int NAMES_SHOWN = 20;

    /** The first with ReplacingMergeTree's column for deleted rows. */
    private static final int[] TARGET_LEAST = {23, 2};

    private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+).*");

    private Advice() {}

    /** The oldest ClickHouse that can have the target tables. */
    public static String targetLeast() {
        return TARGET_LEAST[0] + "." + TARGET_LEAST[1];
    }

    /** How much WAL the source keeps while walshadow is away. */
    public static void slotLimit(Connection source, Findings findings) throws SQLException {
        long megabytes;
        try (Statement statement = source.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT setting::int8 FROM pg_catalog.pg_settings WHERE name ="
                                        + " 'max_slot_wal_keep_size'")) {
            row.next();
            megabytes = row.getLong(1);
        }
        String remedy =
                "; run ALTER SYSTEM SET max_slot_wal_keep_size = '100GB'; SELECT pg_reload_conf()"
                        + " on the source, with what its disk can spare";
        if (megabytes < 0) {
            findings.advise(
                    DaemonCodes.SLOT_LIMIT,
                    "the source keeps WAL for the slot without limit (max_slot_wal_keep_size ="
                            + " -1): its disk can fill while walshadow does not run"
                            + remedy);
        } else if (megabytes < SLOT_MEGABYTES_LEAST) {
            findings.advise(
                    DaemonCodes.SLOT_LIMIT,
                    "the source keeps only "
                            + megabytes
                            + " MB of WAL for the slot (max_slot_wal_keep_size): after a short"
                            + " outage the replica has to be loaded anew"
                            + remedy);
        }
    }

    /** Unlogged tables write no WAL. */
    public static void unlogged(Collection<RelationDescriptor> selected, Findings findings) {
        List<String> names =
                selected.stream()
                        .filter(relation -> relation.persistence() == 'u')
                        .map(RelationDescriptor::label)
                        .sorted()
                        .toList();
        if (!names.isEmpty()) {
            String shown = String.join(", ", names.subList(0, Math.min(NAMES_SHOWN, names.size())));
            findings.advise(
                    DaemonCodes.UNLOGGED_TABLES,
                    names.size()
                            + " selected tables are unlogged, so they are not replicated: "
                            + shown
                            + (names.size() > NAMES_SHOWN ? ", ..." : "")
                            + "; run ALTER TABLE "
                            + names.getFirst()
                            + " SET LOGGED, or leave them out by [tables] exclude");
        }
    }

    /** Tables whose rows the session's role does not all see. */
    public static void rowSecurity(
            Connection source, Collection<RelationDescriptor> selected, Findings findings)
            throws SQLException {
        Set<Integer> affected = new HashSet<>();
        String role;
        try (Statement statement = source.createStatement();
                ResultSet rows =
                        statement.executeQuery(
                                "SELECT oid::int8, quote_ident(current_user) FROM"
                                        + " pg_catalog.pg_class WHERE relrowsecurity AND"
                                        + " row_security_active(oid)")) {
            role = "";
            while (rows.next()) {
                affected.add((int) rows.getLong(1));
                role = rows.getString(2);
            }
        }
        List<String> names =
                selected.stream()
                        .filter(relation -> affected.contains(relation.oid()))
                        .map(RelationDescriptor::label)
                        .sorted()
                        .toList();
        if (!names.isEmpty()) {
            findings.advise(
                    DaemonCodes.ROW_SECURITY,
                    names.size()
                            + " selected tables have row-level security that applies to the"
                            + " source's role: "
                            + String.join(
                                    ", ", names.subList(0, Math.min(NAMES_SHOWN, names.size())))
                            + (names.size() > NAMES_SHOWN ? ", ..." : "")
                            + "; the stream has all their rows, but resync and verify will stop at"
                            + " them: run ALTER ROLE "
                            + role
                            + " BYPASSRLS");
        }
    }

    /** Room for the shadow, its WAL and what spills. */
    public static void disk(Path stateDirectory, Findings findings) {
        Path existing = stateDirectory.toAbsolutePath();
        while (existing.getParent() != null && !Files.exists(existing)) {
            existing = existing.getParent();
        }
        try {
            long free = Files.getFileStore(existing).getUsableSpace();
            if (free < FREE_BYTES_LEAST) {
                findings.advise(
                        DaemonCodes.LITTLE_SPACE,
                        String.format(
                                Locale.ROOT,
                                "only %.1f GB are free for the state directory %s; the shadow and"
                                        + " large transactions need room: make %d GB free, or give"
                                        + " [state] dir another disk",
                                free / 1e9,
                                stateDirectory,
                                FREE_BYTES_LEAST >> 30));
            }
        } catch (IOException e) {
            findings.advise(
                    DaemonCodes.LITTLE_SPACE,
                    "the free space of " + existing + " cannot be asked for: " + e);
        }
    }

    /**
     * Refuses a ClickHouse that cannot have the target tables.
     *
     * @param version as {@code version()} says
     */
    public static void targetVersion(String version, Findings findings) {
        Matcher parts = VERSION.matcher(version);
        if (!parts.matches()) {
            return;
        }
        int major = Integer.parseInt(parts.group(1));
        int minor = Integer.parseInt(parts.group(2));
        if (major < TARGET_LEAST[0] || (major == TARGET_LEAST[0] && minor < TARGET_LEAST[1])) {
            findings.add(
                    DaemonCodes.TARGET_VERSION,
                    "ClickHouse is "
                            + version
                            + ", but ReplacingMergeTree tells deleted rows only since "
                            + targetLeast()
                            + "; upgrade it");
        }
    }
}
