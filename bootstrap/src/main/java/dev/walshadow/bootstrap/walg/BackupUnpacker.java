package dev.walshadow.bootstrap.walg;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.bootstrap.BackupListener;
import dev.walshadow.bootstrap.BackupProgress;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.backup.DirectoryLander;
import dev.walshadow.bootstrap.backup.FileRouter;
import dev.walshadow.bootstrap.backup.Route;
import dev.walshadow.source.store.ReadObject;
import dev.walshadow.source.store.StoreCodes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;

/** Reads the archives of a backup and of those that it builds on, newest first. One run. */
final class BackupUnpacker {
    private static final long PROGRESS_NANOS = 50_000_000;
    private static final int BUFFER = 256 << 10;
    private static final int BLOCK = 512;

    private final WalgBackup backup;
    private final FileRouter router;
    private final HeapFileSink heapFiles;
    private final FileTargets targets;
    private final BackupListener listener;
    private final byte[] buffer = new byte[BUFFER];

    /** Files that the newest backup has only pages of, or nothing: the rest is in older ones. */
    private final Map<String, FilePages> incomplete = new HashMap<>();

    private long bytesTotal;
    private long bytesDone;
    private final long startedNanos = System.nanoTime();
    private long reportedNanos = startedNanos;

    BackupUnpacker(
            WalgBackup backup,
            FileRouter router,
            DirectoryLander lander,
            HeapFileSink heapFiles,
            BackupListener listener) {
        this.backup = backup;
        this.router = router;
        this.heapFiles = heapFiles;
        this.targets = new FileTargets(lander, heapFiles);
        this.listener = listener;
    }

    long bytes() {
        return bytesDone;
    }

    int filesKept() {
        return targets.kept();
    }

    int filesTapped() {
        return targets.tapped();
    }

    /** What is read of one backup of the chain. */
    private record Layer(
            BackupSentinel sentinel, List<TarPartition> partitions, @Nullable FilesMetadata files) {
        private FilesMetadata.Kind kind(String path) {
            return files == null
                    ? FilesMetadata.Kind.WHOLE
                    : files.files().getOrDefault(path, FilesMetadata.Kind.WHOLE);
        }
    }

    void run() throws InterruptedException {
        List<Layer> layers = layers();
        report();
        for (int i = 0; i < layers.size(); i++) {
            if (i > 0 && incomplete.isEmpty()) {
                break;
            }
            for (TarPartition partition : layers.get(i).partitions()) {
                if (i == 0 || !partition.isControl()) {
                    read(layers.get(i), partition, i == 0);
                }
            }
        }
        if (!incomplete.isEmpty()) {
            throw new HaltException(
                    StoreCodes.OBJECT_MISSING,
                    "backup "
                            + backup
                            + " cannot be put together: none of its archives has "
                            + incomplete.keySet().stream()
                                    .sorted()
                                    .limit(3)
                                    .collect(Collectors.joining(", "))
                            + " and "
                            + Math.max(0, incomplete.size() - 3)
                            + " more. Use another backup");
        }
        bytesTotal = bytesDone;
        report();
    }

    private List<Layer> layers() {
        List<Layer> layers = new ArrayList<>();
        boolean delta = backup.chain().size() > 1;
        for (BackupSentinel sentinel : backup.chain()) {
            if (sentinel.deltaFrom() != null && !sentinel.filesDescribed()) {
                throw new HaltException(
                        StoreCodes.UNSUPPORTED,
                        "delta backup "
                                + sentinel.name()
                                + " in "
                                + backup.store().address()
                                + " has no files_metadata.json, so that nobody can tell what is an"
                                + " increment in it. Use a full backup");
            }
            FilesMetadata files = backup.files(sentinel, path -> delta && isWanted(path));
            List<TarPartition> partitions = backup.partitions(sentinel);
            checkPartitions(sentinel, partitions, files);
            partitions.forEach(each -> bytesTotal += each.object().bytes());
            layers.add(new Layer(sentinel, partitions, files));
        }
        FilesMetadata newest = layers.getFirst().files();
        if (delta && newest != null) {
            newest.files()
                    .forEach((path, kind) -> {
                        if (kind != FilesMetadata.Kind.WHOLE) {
                            incomplete.put(path, new FilePages());
                        }
                    });
        }
        return layers;
    }

    private void checkPartitions(
            BackupSentinel sentinel, List<TarPartition> partitions, @Nullable FilesMetadata files) {
        if (files == null) {
            return;
        }
        Set<String> found =
                partitions.stream().map(TarPartition::fileName).collect(Collectors.toSet());
        for (String archive : files.archives()) {
            if (!found.contains(archive)) {
                throw new HaltException(
                        StoreCodes.OBJECT_MISSING,
                        "backup "
                                + sentinel.name()
                                + " in "
                                + backup.store().address()
                                + " has lost its archive "
                                + archive
                                + ". Use another backup");
            }
        }
    }

    private boolean isWanted(String path) {
        return !Paths.leadsOut(path) && isWanted(router.route(path, false));
    }

    private boolean isWanted(Route route) {
        return switch (route) {
            case Route.Skip _ -> false;
            case Route.Keep _ -> true;
            case Route.Heap heap -> heapFiles.wants(heap.locator());
        };
    }

    private void read(Layer layer, TarPartition partition, boolean newest)
            throws InterruptedException {
        try (ReadObject object =
                ReadObject.open(
                        backup.store(), partition.object().name(), partition.compression())) {
            long before = bytesDone;
            readArchive(layer, object, newest, before);
            bytesDone = before + object.storedBytes();
        }
    }

    private void readArchive(Layer layer, ReadObject object, boolean newest, long before)
            throws InterruptedException {
        try {
            TarArchiveInputStream tar = new TarArchiveInputStream(object, BLOCK, BLOCK, "UTF-8");
            long end = 0;
            for (TarArchiveEntry entry = tar.getNextEntry();
                    entry != null;
                    entry = tar.getNextEntry()) {
                entry(layer, entry, new Body(tar, object, before), newest);
                skip(tar);
                end = tar.getBytesRead();
            }
            while (object.read(buffer, 0, BUFFER) >= 0) {
                // a cut off archive is found out by its length
            }
            long padded = (end + BLOCK - 1) / BLOCK * BLOCK;
            if (object.offset() < padded + BLOCK) {
                throw object.damaged("the archive has no end: it was cut off");
            }
        } catch (WalshadowException e) {
            throw e;
        } catch (IOException | RuntimeException e) {
            throw object.damaged(String.valueOf(e.getMessage()));
        }
    }

    /** So that the count of bytes that were read is behind the file. */
    private void skip(TarArchiveInputStream tar) throws IOException {
        while (tar.read(buffer, 0, BUFFER) >= 0) {
            // unwanted
        }
    }

    private void entry(Layer layer, TarArchiveEntry entry, Body body, boolean newest)
            throws IOException, InterruptedException {
        String path = Paths.relative(entry.getName());
        if (Paths.leadsOut(path)) {
            throw body.object.damaged("the path " + entry.getName() + " leads out of it");
        }
        boolean directory = entry.isDirectory();
        if (!directory && !entry.isFile()) {
            return;
        }
        Route route = router.route(path, directory);
        if (!isWanted(route)) {
            return;
        }
        if (directory) {
            if (newest && route instanceof Route.Keep keep) {
                targets.directory(keep.path());
            }
            return;
        }
        FilePages pages = incomplete.get(path);
        boolean increment = layer.kind(path) == FilesMetadata.Kind.INCREMENT;
        if (newest && pages == null) {
            whole(route, entry.getSize(), body);
        } else if (pages != null && increment) {
            Increment.read(body, entry.getSize(), pages, targets, route);
        } else if (pages != null) {
            if (pages.isEmpty()) {
                whole(route, entry.getSize(), body);
            } else {
                remaining(route, entry.getSize(), body, pages);
            }
            incomplete.remove(path);
        }
    }

    private void whole(Route route, long size, Body body) throws IOException, InterruptedException {
        targets.begin(route, size);
        long left = size;
        while (left > 0) {
            int count = body.read(buffer, (int) Math.min(left, BUFFER));
            targets.data(route, buffer, count);
            left -= count;
        }
        targets.end(route);
    }

    /** The pages that no newer backup had. */
    private void remaining(Route route, long size, Body body, FilePages pages)
            throws IOException, InterruptedException {
        FileTargets.Pages into = targets.beginPages(route, pages.blocks());
        long count = Math.min(size / FilePages.SIZE, pages.blocks());
        for (int block = 0; block < count; block++) {
            body.readFully(buffer, FilePages.SIZE);
            if (pages.take(block)) {
                into.page(block, buffer);
            }
        }
        into.end();
    }

    /** The file in an archive that is being read. */
    final class Body {
        private final TarArchiveInputStream tar;
        private final ReadObject object;
        private final long before;

        private Body(TarArchiveInputStream tar, ReadObject object, long before) {
            this.tar = tar;
            this.object = object;
            this.before = before;
        }

        /** At least one byte. */
        int read(byte[] into, int length) throws IOException {
            int count = tar.read(into, 0, length);
            if (count <= 0) {
                throw new IOException("a file ends before its length");
            }
            bytesDone = before + object.storedBytes();
            if (System.nanoTime() - reportedNanos >= PROGRESS_NANOS) {
                report();
            }
            return count;
        }

        void readFully(byte[] into, int length) throws IOException {
            int done = 0;
            while (done < length) {
                int count = tar.read(into, done, length - done);
                if (count <= 0) {
                    throw new IOException("a file ends before its length");
                }
                done += count;
            }
            bytesDone = before + object.storedBytes();
        }
    }

    private void report() {
        reportedNanos = System.nanoTime();
        listener.progress(
                new BackupProgress(
                        bytesDone,
                        Math.max(bytesDone, bytesTotal),
                        Duration.ofNanos(reportedNanos - startedNanos)));
    }
}
