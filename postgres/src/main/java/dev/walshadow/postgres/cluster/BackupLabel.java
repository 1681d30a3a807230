package dev.walshadow.postgres.cluster;

import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.PostgresCodes;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What {@code backup_label} says about a base backup. Source: {@code build_backup_content} in
 * {@code src/backend/access/transam/xlogbackup.c} (15: {@code xlog.c}), PostgreSQL 15-18.
 *
 * @param startLsn where recovery has to start: the redo point of the backup's checkpoint
 * @param checkpointLsn that checkpoint's record
 * @param fromStandby whether the backup was taken from a standby
 * @param startTime as the server printed it, in its log_timezone
 * @param incrementalFrom 17+: the backup this one needs, as an LSN; 0 for a full backup
 */
public record BackupLabel(
        long startLsn,
        int startTimeline,
        long checkpointLsn,
        String method,
        boolean fromStandby,
        String startTime,
        String label,
        long incrementalFrom) {

    /**
     * Reads the file's text.
     *
     * @throws HaltException if a line that recovery needs is missing or unreadable
     */
    public static BackupLabel parse(String text) {
        Map<String, String> lines = new HashMap<>();
        for (String line : text.split("\r?\n", -1)) {
            int colon = line.indexOf(": ");
            if (colon > 0) {
                lines.putIfAbsent(line.substring(0, colon), line.substring(colon + 2));
            }
        }
        String start = require(lines, "START WAL LOCATION");
        int file = start.indexOf(" (file ");
        if (file < 0) {
            throw malformed("START WAL LOCATION: X/Y (file NAME), found " + start);
        }
        String incremental = lines.get("INCREMENTAL FROM LSN");
        return new BackupLabel(
                lsn(start.substring(0, file)),
                timeline(lines.get("START TIMELINE"), start.substring(file + " (file ".length())),
                lsn(require(lines, "CHECKPOINT LOCATION")),
                lines.getOrDefault("BACKUP METHOD", ""),
                "standby".equals(lines.get("BACKUP FROM")),
                lines.getOrDefault("START TIME", ""),
                lines.getOrDefault("LABEL", ""),
                incremental == null ? Lsn.INVALID : lsn(incremental));
    }

    private static String require(Map<String, String> lines, String name) {
        String value = lines.get(name);
        if (value == null) {
            throw malformed("a line " + name + ", found none");
        }
        return value;
    }

    private static long lsn(String text) {
        try {
            return Lsn.parse(text);
        } catch (IllegalArgumentException e) {
            throw malformed("an LSN, found " + text);
        }
    }

    /** From its own line, or else from the first 8 digits of the segment's name. */
    private static int timeline(@Nullable String line, String fileName) {
        try {
            return line != null
                    ? Integer.parseUnsignedInt(line)
                    : Integer.parseUnsignedInt(fileName, 0, 8, 16);
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            throw malformed("a timeline, found " + (line != null ? line : fileName));
        }
    }

    private static HaltException malformed(String expected) {
        return new HaltException(
                PostgresCodes.MALFORMED_BACKUP_LABEL,
                "malformed backup_label: expected "
                        + expected
                        + ". The base backup is incomplete: take it again.");
    }
}
