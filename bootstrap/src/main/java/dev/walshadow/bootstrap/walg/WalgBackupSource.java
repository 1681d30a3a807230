package dev.walshadow.bootstrap.walg;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.BackupCodes;
import dev.walshadow.bootstrap.backup.BackupOutcome;
import dev.walshadow.bootstrap.backup.BackupSource;
import dev.walshadow.bootstrap.backup.BaseBackupRun;
import dev.walshadow.bootstrap.backup.DirectoryLander;
import dev.walshadow.bootstrap.backup.FileRouter;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.cluster.BackupLabel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Takes a backup out of an object store: nothing of it is asked of the source. One pass over each
 * archive, one after the other; memory is a few buffers and, of a delta backup, a bitmap of the
 * pages of each wanted file. The newest backup comes first and every page is taken from the newest
 * backup that has it.
 */
public final class WalgBackupSource implements BackupSource {
    private static final Pattern MAP_FILE =
            Pattern.compile(
                    "(?:global|base/([0-9]+)|pg_tblspc/([0-9]+)/[^/]+/([0-9]+))/pg_filenode\\.map");
    private static final int MAP_MAGIC = 0x592717;
    private static final int MAP_HEADER = 8;
    private static final int MAPPING = 8;
    private static final int FIRST_NORMAL_NUMBER = 16384;
    private static final int DEFAULT_TABLESPACE = 1663;
    private static final int GLOBAL_TABLESPACE = 1664;

    private final WalgBackup backup;
    private final boolean mapsChecked;

    public WalgBackupSource(WalgBackup backup) {
        this(backup, true);
    }

    private WalgBackupSource(WalgBackup backup, boolean mapsChecked) {
        this.backup = backup;
        this.mapsChecked = mapsChecked;
    }

    /**
     * Lays the catalogs before it is known which of them have been rewritten: {@link
     * dev.walshadow.bootstrap.backup.LaidCatalogs} then tells.
     */
    public static WalgBackupSource ofUnknown(WalgBackup backup) {
        return new WalgBackupSource(backup, false);
    }

    @Override
    public OptionalLong copiedBefore() {
        return OptionalLong.of(backup.endLsn());
    }

    @Override
    public BackupOutcome run(
            BaseBackupRun.Options options, HeapFileSink heapFiles, BackupListener listener)
            throws InterruptedException {
        ShadowMarkers.begin(options.dataDirectory(), options.systemIdentifier());
        try (DirectoryLander lander = new DirectoryLander(options.dataDirectory())) {
            listener.started(backup.startLsn(), backup.timeline());
            FileRouter.directories().forEach(lander::directory);
            FileRouter router = new FileRouter(options.rewrittenCatalogs());
            BackupUnpacker unpacker =
                    new BackupUnpacker(backup, router, lander, heapFiles, listener);
            unpacker.run();
            lander.finish();
            checkLabel(options.dataDirectory());
            if (mapsChecked) {
                checkMaps(options.dataDirectory(), options.rewrittenCatalogs());
            }
            return new BackupOutcome(
                    backup.startLsn(),
                    backup.endLsn(),
                    backup.timeline(),
                    unpacker.bytes(),
                    unpacker.filesKept(),
                    unpacker.filesTapped());
        }
    }

    private void checkLabel(Path dataDirectory) {
        Path file = dataDirectory.resolve("backup_label");
        if (!Files.exists(file)) {
            throw unfit("it has no backup_label");
        }
        BackupLabel label = BackupLabel.parse(new String(read(file), StandardCharsets.UTF_8));
        if (label.fromStandby()) {
            throw unfit("it was taken from a standby, which walshadow does not load from");
        }
        if (label.incrementalFrom() != 0) {
            throw unfit("it is an incremental backup of PostgreSQL");
        }
        if (label.startLsn() != backup.startLsn()) {
            throw unfit(
                    "its backup_label says that it begins at "
                            + Lsn.format(label.startLsn())
                            + ", its sentinel "
                            + Lsn.format(backup.startLsn()));
        }
    }

    /**
     * The rewritten catalogs were asked for on the source, whose catalogs may have been rewritten
     * again since the backup: then files that the backup's maps name were not kept.
     */
    private void checkMaps(Path dataDirectory, Set<RelationLocator> kept) {
        List<Path> files;
        try (Stream<Path> found = Files.walk(dataDirectory)) {
            files = found.filter(each -> each.endsWith("pg_filenode.map")).toList();
        } catch (IOException e) {
            throw unreadable(dataDirectory, e);
        }
        for (Path file : files) {
            String path = dataDirectory.relativize(file).toString().replace('\\', '/');
            Matcher where = MAP_FILE.matcher(path);
            if (where.matches()) {
                checkMap(path, read(file), where, kept);
            }
        }
    }

    private void checkMap(String path, byte[] map, Matcher where, Set<RelationLocator> kept) {
        int count = map.length < MAP_HEADER ? -1 : LittleEndian.getInt(map, 4);
        if (count < 0
                || LittleEndian.getInt(map, 0) != MAP_MAGIC
                || count > (map.length - MAP_HEADER) / MAPPING) {
            throw unfit("its file " + path + " is no relation map");
        }
        int tablespace =
                where.group(2) != null
                        ? Integer.parseUnsignedInt(where.group(2))
                        : where.group(1) != null ? DEFAULT_TABLESPACE : GLOBAL_TABLESPACE;
        String name = where.group(3) != null ? where.group(3) : where.group(1);
        int database = name == null ? 0 : Integer.parseUnsignedInt(name);
        for (int i = 0; i < count; i++) {
            int number = LittleEndian.getInt(map, MAP_HEADER + i * MAPPING + 4);
            boolean rewritten = Integer.compareUnsigned(number, FIRST_NORMAL_NUMBER) >= 0;
            if (rewritten && !kept.contains(new RelationLocator(tablespace, database, number))) {
                throw unfit(
                        "a system catalog ("
                                + path
                                + ") was rewritten (VACUUM FULL, CLUSTER, REINDEX) since it was"
                                + " taken");
            }
        }
    }

    private static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }

    private static HaltException unreadable(Path file, IOException cause) {
        return new HaltException(
                BackupCodes.CANNOT_WRITE, file + " cannot be read back: " + cause, cause);
    }

    private HaltException unfit(String why) {
        return new HaltException(
                BackupCodes.UNFIT_BACKUP,
                "backup "
                        + backup
                        + " cannot be loaded: "
                        + why
                        + ". Take a new one (wal-g backup-push), or load from the source");
    }
}
