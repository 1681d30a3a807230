package dev.walshadow.shadow;

import dev.walshadow.postgres.cluster.ControlFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The shadow's configuration files. Those of the base backup are replaced whole: they describe the
 * source's machine, and Debian keeps them elsewhere anyway. postgresql.auto.conf is emptied, as it
 * would override ours.
 */
final class ShadowConfiguration {
    private static final long MEGABYTE = 1 << 20;
    private static final long WAL_MEGABYTES = 128;
    private static final int ORIGIN_SLOTS = 1000;
    private static final int EVENT_TRIGGER_SETTING_MAJOR = 17;
    private static final int ORIGIN_SETTING_MAJOR = 18;

    private final ShadowCluster.Options options;
    private final Path socketDirectory;
    private final ServerUser user;

    ShadowConfiguration(ShadowCluster.Options options, Path socketDirectory, ServerUser user) {
        this.options = options;
        this.socketDirectory = socketDirectory;
        this.user = user;
    }

    /** Writes all files; {@code control} gives the floors that a standby may not undercut. */
    void write(ControlFile control) throws IOException {
        StringBuilder text = new StringBuilder("# Written by walshadow at every start.\n");
        settings(control)
                .forEach((name, value) ->
                        text.append(name).append(" = ").append(quote(value)).append('\n'));
        file("postgresql.conf", text.toString());
        file("postgresql.auto.conf", "");
        file("pg_hba.conf", "local all all trust\n");
        file("pg_ident.conf", "");
        file("standby.signal", "");
        Files.deleteIfExists(options.dataDirectory().resolve("recovery.signal"));
    }

    private Map<String, String> settings(ControlFile control) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("listen_addresses", "");
        settings.put("port", Integer.toString(options.port()));
        settings.put("unix_socket_directories", socketDirectory.toString());
        settings.put("unix_socket_permissions", "0700");
        replay(settings, control);
        floors(settings, control.wal());
        quiet(settings, control);
        settings.putAll(options.settings());
        return settings;
    }

    private void replay(Map<String, String> settings, ControlFile control) {
        settings.put("primary_conninfo", options.primaryConnectionInfo());
        settings.put("restore_command", restoreCommand(options.archiveDirectory()));
        settings.put("recovery_target_timeline", "latest");
        settings.put("wal_retrieve_retry_interval", "100ms");
        settings.put("hot_standby", "on");
        // Replay never waits for a reader: reads happen while nothing is replayed (I14).
        settings.put("max_standby_streaming_delay", "0");
        settings.put("max_standby_archive_delay", "0");
        settings.put("hot_standby_feedback", "off");
        settings.put("allow_in_place_tablespaces", "on");
        settings.put("wal_level", "replica");
        long segmentMegabytes = Math.max(1, control.walSegmentSize() / MEGABYTE);
        settings.put("max_wal_size", Math.max(WAL_MEGABYTES, 4 * segmentMegabytes) + "MB");
        settings.put("min_wal_size", Math.max(WAL_MEGABYTES / 2, 2 * segmentMegabytes) + "MB");
        settings.put("checkpoint_timeout", "1min");
    }

    /** PostgreSQL refuses to recover with less than pg_control says. */
    private static void floors(Map<String, String> settings, ControlFile.WalSettings floor) {
        settings.put("max_connections", Integer.toString(floor.maxConnections()));
        settings.put("max_worker_processes", Integer.toString(floor.maxWorkerProcesses()));
        settings.put("max_wal_senders", Integer.toString(floor.maxWalSenders()));
        settings.put(
                "max_prepared_transactions", Integer.toString(floor.maxPreparedTransactions()));
        settings.put("max_locks_per_transaction", Integer.toString(floor.maxLocksPerTransaction()));
        settings.put("track_commit_timestamp", floor.trackCommitTimestamp() ? "on" : "off");
    }

    /** Nothing of its own: no vacuum, no workers, no libraries, little memory, English messages. */
    private static void quiet(Map<String, String> settings, ControlFile control) {
        settings.put("shared_buffers", "64MB");
        settings.put("fsync", "on");
        settings.put("autovacuum", "off");
        settings.put("archive_mode", "off");
        settings.put("max_logical_replication_workers", "0");
        // Replayed commits advance the source's replication origins: each needs a slot.
        settings.put("max_replication_slots", Integer.toString(ORIGIN_SLOTS));
        if (control.majorVersion() >= ORIGIN_SETTING_MAJOR) {
            settings.put("max_active_replication_origins", Integer.toString(ORIGIN_SLOTS));
        }
        if (control.majorVersion() >= EVENT_TRIGGER_SETTING_MAJOR) {
            settings.put("event_triggers", "off");
        }
        settings.put("jit", "off");
        settings.put("shared_preload_libraries", "");
        settings.put("logging_collector", "off");
        settings.put("log_destination", "stderr");
        settings.put("log_checkpoints", "off");
        settings.put("log_line_prefix", "%m [%p] ");
        settings.put("lc_messages", "C");
        settings.put("lc_monetary", "C");
        settings.put("lc_numeric", "C");
        settings.put("lc_time", "C");
        settings.put("timezone", "UTC");
        settings.put("log_timezone", "UTC");
        settings.put("update_process_title", "on");
    }

    /** Silent where the segment is missing: the server asks ten times a second. */
    static String restoreCommand(Path archive) {
        String directory = archive.toString().replace("'", "'\\''").replace("%", "%%");
        String file = "'" + directory + "'/%f";
        return "test -f " + file + " && cp " + file + " %p";
    }

    private static String quote(String value) {
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'";
    }

    private void file(String name, String text) throws IOException {
        Path file = options.dataDirectory().resolve(name);
        Files.write(file, text.getBytes(StandardCharsets.UTF_8));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        user.own(file);
    }
}
