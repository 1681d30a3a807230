package dev.walshadow.bootstrap.walg;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.source.store.Compression;
import dev.walshadow.source.store.ObjectStore;
import dev.walshadow.source.store.ObjectStore.StoredObject;
import dev.walshadow.source.store.ReadObject;
import dev.walshadow.source.store.StoreCodes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * A finished backup of wal-g with the backups that it builds on.
 *
 * <pre>
 * basebackups_005/NAME_backup_stop_sentinel.json   written last: without it there is no backup
 * basebackups_005/NAME/files_metadata.json         every file, and which of them are increments
 * basebackups_005/NAME/tar_partitions/part_001.tar.lz4 ...
 * basebackups_005/NAME/tar_partitions/pg_control.tar.lz4
 * </pre>
 */
public final class WalgBackup {
    /** The newest backup in the store. */
    public static final String LATEST = "LATEST";

    static final String FOLDER = "basebackups_005";
    static final String SENTINEL = "_backup_stop_sentinel.json";
    private static final int NAMED_MOST = 5;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final ObjectStore store;
    private final List<BackupSentinel> chain;

    private WalgBackup(ObjectStore store, List<BackupSentinel> chain) {
        this.store = store;
        this.chain = List.copyOf(chain);
    }

    /**
     * Finds a backup and what it builds on.
     *
     * @param name {@link #LATEST}, or as {@code wal-g backup-list} prints it
     */
    public static WalgBackup find(ObjectStore store, String name) {
        List<BackupSentinel> chain = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        String next = name.equals(LATEST) ? latest(store) : name;
        while (next != null) {
            if (!seen.add(next)) {
                throw new HaltException(
                        StoreCodes.OBJECT_DAMAGED,
                        "the backups of "
                                + store.address()
                                + " build on each other in a circle: "
                                + seen);
            }
            BackupSentinel found = sentinel(store, next, chain.isEmpty());
            chain.add(found);
            next = found.deltaFrom();
        }
        WalgBackup backup = new WalgBackup(store, chain);
        backup.checkChain();
        return backup;
    }

    private static BackupSentinel sentinel(ObjectStore store, String name, boolean asked) {
        String object = FOLDER + "/" + name + SENTINEL;
        ReadObject found =
                asked
                        ? ReadObject.find(store, object, Compression.NONE)
                        : ReadObject.open(store, object, Compression.NONE);
        if (found == null) {
            throw new ConfigurationException(
                    StoreCodes.OBJECT_MISSING,
                    "there is no backup "
                            + name
                            + " in "
                            + store.address()
                            + "; its newest: "
                            + sentinels(store).stream()
                                    .limit(NAMED_MOST)
                                    .map(WalgBackup::nameOf)
                                    .collect(Collectors.joining(", "))
                            + ". Correct [backup] name");
        }
        return BackupSentinel.read(name, JSON, found);
    }

    private static String latest(ObjectStore store) {
        return sentinels(store).stream()
                .findFirst()
                .map(WalgBackup::nameOf)
                .orElseThrow(() ->
                        new ConfigurationException(
                                StoreCodes.OBJECT_MISSING,
                                "there is no finished backup in "
                                        + store.address()
                                        + ": wal-g's are in its folder "
                                        + FOLDER
                                        + ". Correct [backup] url, or make one: wal-g"
                                        + " backup-push"));
    }

    /** Newest first, by the time of their upload as for wal-g. */
    private static List<StoredObject> sentinels(ObjectStore store) {
        return store.list(FOLDER).stream()
                .filter(each -> each.name().endsWith(SENTINEL))
                .sorted(
                        Comparator.comparing(StoredObject::modified)
                                .thenComparing(StoredObject::name)
                                .reversed())
                .toList();
    }

    private static String nameOf(StoredObject sentinel) {
        String name = sentinel.name();
        return name.substring(FOLDER.length() + 1, name.length() - SENTINEL.length());
    }

    private void checkChain() {
        for (int i = 1; i < chain.size(); i++) {
            BackupSentinel newer = chain.get(i - 1);
            BackupSentinel older = chain.get(i);
            if (newer.systemIdentifier() != older.systemIdentifier()
                    || Long.compareUnsigned(older.startLsn(), newer.startLsn()) > 0) {
                throw new HaltException(
                        StoreCodes.OBJECT_DAMAGED,
                        "backup "
                                + newer.name()
                                + " cannot build on "
                                + older.name()
                                + ", which is of another cluster or later: "
                                + store.address());
            }
        }
    }

    public String name() {
        return chain.getFirst().name();
    }

    /** B. */
    public long startLsn() {
        return chain.getFirst().startLsn();
    }

    /** E. */
    public long endLsn() {
        return chain.getFirst().endLsn();
    }

    public int timeline() {
        return chain.getFirst().timeline();
    }

    /** 0 if the backup does not say it. */
    public int major() {
        return chain.getFirst().major();
    }

    /** 0 if the backup does not say it. */
    public long systemIdentifier() {
        return chain.getFirst().systemIdentifier();
    }

    /** Newest first; the last is a full one. */
    List<BackupSentinel> chain() {
        return chain;
    }

    ObjectStore store() {
        return store;
    }

    /** What files a backup has; null if it does not say. */
    @Nullable FilesMetadata files(BackupSentinel backup, Predicate<String> wanted) {
        if (!backup.filesDescribed()) {
            return null;
        }
        return FilesMetadata.read(
                JSON,
                ReadObject.open(
                        store,
                        FOLDER + "/" + backup.name() + "/files_metadata.json",
                        Compression.NONE),
                wanted);
    }

    /** Tar partitions in the order in which they are to be read: pg_control's is the last. */
    List<TarPartition> partitions(BackupSentinel backup) {
        List<TarPartition> found = new ArrayList<>();
        for (StoredObject object : store.list(FOLDER + "/" + backup.name() + "/tar_partitions")) {
            TarPartition partition = TarPartition.of(object);
            if (partition == null) {
                throw new HaltException(
                        StoreCodes.UNSUPPORTED,
                        object.name()
                                + " in "
                                + store.address()
                                + " is compressed in a way that walshadow does not read, or is no"
                                + " tar archive: expected .tar with .lz4, .zst, .lzma, .gz, .br or"
                                + " nothing behind it");
            }
            found.add(partition);
        }
        found.sort(
                Comparator.comparing(TarPartition::isControl)
                        .thenComparing(each -> each.object().name()));
        if (found.isEmpty() || !found.getLast().isControl()) {
            throw new HaltException(
                    StoreCodes.OBJECT_MISSING,
                    "backup "
                            + backup.name()
                            + " in "
                            + store.address()
                            + " has no pg_control.tar: objects were removed. Use another backup");
        }
        return found;
    }

    @Override
    public String toString() {
        return name()
                + " in "
                + store.address()
                + " ("
                + Lsn.format(startLsn())
                + " to "
                + Lsn.format(endLsn())
                + (chain.size() > 1 ? ", on " + (chain.size() - 1) + " others" : "")
                + ")";
    }
}
