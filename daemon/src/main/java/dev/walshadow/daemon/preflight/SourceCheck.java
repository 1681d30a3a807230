package dev.walshadow.daemon.preflight;

import dev.walshadow.daemon.DaemonCodes;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Checks the source over SQL. Reads only. */
public final class SourceCheck {
    public static final int OLDEST_MAJOR = 15;
    public static final int NEWEST_MAJOR = 18;

    private SourceCheck() {}

    /** Checks version, settings and slot; without REPLICATION nobody gets as far as this. */
    public static void check(Connection source, String slot, SlotUse use, Findings findings)
            throws SQLException {
        int major = source.getMetaData().getDatabaseMajorVersion();
        if (major < OLDEST_MAJOR || major > NEWEST_MAJOR) {
            findings.add(
                    DaemonCodes.SOURCE_VERSION,
                    "the source is PostgreSQL " + major + "; walshadow follows 15, 16, 17 and 18");
        }
        String level = setting(source, "wal_level");
        if (!level.equals("logical")) {
            findings.add(
                    DaemonCodes.WAL_LEVEL,
                    "the source's wal_level is "
                            + level
                            + ", but old keys are only logged with"
                            + " logical; run ALTER SYSTEM SET wal_level = logical and restart it");
        }
        expect(source, "block_size", "8192", findings);
        expect(source, "wal_block_size", "8192", findings);
        if (!setting(source, "full_page_writes").equals("on")) {
            findings.add(
                    DaemonCodes.SOURCE_SETTING,
                    "full_page_writes is off on the source, so a crash can tear its pages; run"
                            + " ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()");
        }
        if (setting(source, "max_wal_senders").equals("0")) {
            findings.add(
                    DaemonCodes.SOURCE_SETTING,
                    "max_wal_senders is 0 on the source; run ALTER SYSTEM SET max_wal_senders = 10"
                            + " and restart it");
        }
        checkSlot(source, slot, use, findings);
    }

    /** The source's clock, since 1970. */
    public static long clockMillis(Connection source) throws SQLException {
        String millis =
                text(source, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", null);
        return millis == null ? 0 : Long.parseLong(millis);
    }

    private static void expect(Connection source, String name, String expected, Findings findings)
            throws SQLException {
        String found = setting(source, name);
        if (!found.equals(expected)) {
            findings.add(
                    DaemonCodes.SOURCE_SETTING,
                    "the source was built with "
                            + name
                            + " = "
                            + found
                            + "; walshadow reads "
                            + expected
                            + " only");
        }
    }

    private static void checkSlot(Connection source, String slot, SlotUse use, Findings findings)
            throws SQLException {
        String state =
                text(
                        source,
                        "SELECT slot_type || ' ' || coalesce(wal_status, '') || ' ' || active FROM"
                                + " pg_replication_slots WHERE slot_name = ?",
                        slot);
        if (state == null) {
            if (use == SlotUse.RESUMED) {
                findings.add(
                        DaemonCodes.SLOT_MISSING,
                        "the replication slot "
                                + slot
                                + " is missing on the source, so the WAL that was not read yet may"
                                + " be gone; restore the slot from a backup of the source, or"
                                + " attach anew with an empty [state] dir and empty target tables");
            } else if (freeSlots(source) <= 0) {
                findings.add(
                        DaemonCodes.SOURCE_SETTING,
                        "no replication slot is free on the source; raise max_replication_slots and"
                                + " restart it, or drop an unused slot");
            }
            return;
        }
        if (!state.startsWith("physical")) {
            findings.add(
                    DaemonCodes.SLOT_MISSING,
                    "the replication slot "
                            + slot
                            + " on the source is a logical one; choose another"
                            + " name in [source] slot");
        }
        if (state.contains(" lost ") && use != SlotUse.REPLACEABLE) {
            findings.add(
                    DaemonCodes.SLOT_MISSING,
                    "the replication slot "
                            + slot
                            + " has lost its WAL (wal_status = lost); drop it"
                            + " with SELECT pg_drop_replication_slot('"
                            + slot
                            + "'), raise"
                            + " max_slot_wal_keep_size and attach anew with an empty [state] dir");
        }
    }

    private static int freeSlots(Connection source) throws SQLException {
        String free =
                text(
                        source,
                        "SELECT current_setting('max_replication_slots')::int - count(*) FROM"
                                + " pg_replication_slots",
                        null);
        return free == null ? 0 : Integer.parseInt(free);
    }

    private static String setting(Connection source, String name) throws SQLException {
        String value = text(source, "SELECT current_setting(?)", name);
        return value == null ? "" : value;
    }

    private static @Nullable String text(Connection source, String sql, @Nullable String parameter)
            throws SQLException {
        try (PreparedStatement statement = source.prepareStatement(sql)) {
            if (parameter != null) {
                statement.setString(1, parameter);
            }
            try (ResultSet row = statement.executeQuery()) {
                return row.next() ? row.getString(1) : null;
            }
        }
    }
}
