package dev.walshadow.source.replication;

/**
 * Options of BASE_BACKUP. Fixed: no manifest, no checksum verification, no waiting for WAL
 * archiving, progress reports, tablespace map instead of symbolic links.
 *
 * @param fastCheckpoint start with an immediate checkpoint instead of waiting for a spread one
 * @param maxRateKilobytes per second; 0 = unlimited, else 32..1048576
 */
public record BaseBackupOptions(String label, boolean fastCheckpoint, int maxRateKilobytes) {
    public static final BaseBackupOptions DEFAULT = new BaseBackupOptions("walshadow", true, 0);
}
