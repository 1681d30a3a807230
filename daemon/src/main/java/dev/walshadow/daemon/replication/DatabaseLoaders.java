package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.bootstrap.load.BackupSnapshot;
import dev.walshadow.bootstrap.load.BaselineLoader;
import dev.walshadow.bootstrap.load.DeferredRows;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The loader of each followed database behind one sink. A database and its clone have the same OIDs
 * of relations and values, so each has a loader of its own, in a folder that its OID names.
 */
final class DatabaseLoaders implements HeapFileSink, AutoCloseable {
    private static final int WALKERS = 2;

    /** Each has its memory and threads: where there are several, they come one after the other. */
    private static final int WALKERS_OF_SEVERAL = 1;

    private static final long LEAST_MEMORY_BYTES = 4 << 20;

    /**
     * @param startLsn B
     * @param startMicros the backup's start, PostgreSQL epoch
     * @param memoryBytes of all loaders together
     * @param checksums whether the source's pages have them
     */
    record Options(
            Path directory,
            long systemIdentifier,
            long startLsn,
            long startMicros,
            long memoryBytes,
            boolean checksums) {}

    /** Whether a table's rows are to be loaded. */
    interface Wanted {
        boolean test(int databaseOid, int relationOid);
    }

    private final Map<Integer, BaselineLoader> loaders = new HashMap<>();
    private final BaselineLoader.WalSinceStart wal;
    private @Nullable BaselineLoader current;

    DatabaseLoaders(
            Options options,
            Collection<DatabaseDescriptor> databases,
            Collection<RelationDescriptor> relations,
            Pipeline pipeline,
            Wanted wanted,
            BaselineLoader.Sessions sessions,
            BaselineLoader.WalSinceStart wal) {
        this.wal = wal;
        for (DatabaseDescriptor database : databases) {
            int oid = database.oid();
            List<RelationDescriptor> own =
                    relations.stream().filter(each -> each.databaseOid() == oid).toList();
            List<RelationDescriptor> tables =
                    own.stream().filter(each -> wanted.test(oid, each.oid())).toList();
            Set<Integer> owners =
                    tables.stream().map(RelationDescriptor::oid).collect(Collectors.toSet());
            List<RelationDescriptor> toast =
                    own.stream()
                            .filter(each -> each.kind() == 't')
                            .filter(each -> owners.contains(each.ownerRelationOid()))
                            .toList();
            loaders.put(
                    oid,
                    new BaselineLoader(
                            new BaselineLoader.Options(
                                    folder(options.directory(), oid),
                                    options.systemIdentifier(),
                                    oid,
                                    options.startLsn(),
                                    options.startMicros(),
                                    databases.size() == 1 ? WALKERS : WALKERS_OF_SEVERAL,
                                    Math.max(
                                            LEAST_MEMORY_BYTES,
                                            options.memoryBytes() / databases.size()),
                                    options.checksums()),
                            tables,
                            toast,
                            new PipelineBaseline(pipeline, oid, false),
                            sessions,
                            wal));
        }
    }

    private static Path folder(Path directory, int databaseOid) {
        Path folder = directory.resolve(Integer.toUnsignedString(databaseOid));
        try {
            return Files.createDirectories(folder);
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE, folder + " cannot be made: " + e, e);
        }
    }

    /** Rows that an earlier or the current load left to be delivered, per database that has any. */
    static List<DeferredRows> deferred(Path directory, long systemIdentifier, Pipeline pipeline)
            throws InterruptedException {
        List<DeferredRows> all = new ArrayList<>();
        for (Path folder : folders(directory)) {
            int oid = database(folder);
            DeferredRows rows =
                    DeferredRows.open(
                            folder,
                            systemIdentifier,
                            oid,
                            new PipelineBaseline(pipeline, oid, true));
            if (!rows.isEmpty()) {
                all.add(rows);
            }
        }
        return all;
    }

    /** Each database's. */
    static List<Path> folders(Path directory) {
        try (Stream<Path> found = Files.list(directory)) {
            return found.filter(Files::isDirectory).sorted().toList();
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE, directory + " cannot be read: " + e, e);
        }
    }

    /** The OID of a folder's database. */
    static int database(Path folder) {
        return Integer.parseUnsignedInt(String.valueOf(folder.getFileName()));
    }

    /** As {@link BaselineLoader#start}. */
    void start(BackupSnapshot known) {
        loaders.values().forEach(each -> each.start(known));
    }

    long rows() {
        return loaders.values().stream().mapToLong(BaselineLoader::rows).sum();
    }

    /** As {@link BaselineLoader#pages}. */
    long pages() {
        return loaders.values().stream().mapToLong(BaselineLoader::pages).sum();
    }

    /** As {@link BaselineLoader#blocksKept}. */
    long blocksKept() {
        return loaders.values().stream().mapToLong(BaselineLoader::blocksKept).sum();
    }

    /** Blocks whose image in the WAL took the place of their page in the backup. */
    long images() {
        return loaders.values().stream().mapToLong(BaselineLoader::images).sum();
    }

    /** As {@link BaselineLoader#finish}, by database. */
    Map<Integer, BaselineLoader.Outcome> finish(long end) throws InterruptedException {
        Map<Integer, BaselineLoader.Outcome> outcomes = new HashMap<>();
        for (Map.Entry<Integer, BaselineLoader> each : loaders.entrySet()) {
            outcomes.put(each.getKey(), each.getValue().finish(end));
        }
        wal.touched().end();
        return outcomes;
    }

    @Override
    public boolean wants(RelationLocator locator) {
        BaselineLoader loader = loaders.get(locator.databaseOid());
        return loader != null && loader.wants(locator);
    }

    @Override
    public void begin(RelationLocator locator, int segmentNumber, long fileSize)
            throws InterruptedException {
        BaselineLoader loader =
                Objects.requireNonNull(loaders.get(locator.databaseOid()), "a wanted relation");
        current = loader;
        loader.begin(locator, segmentNumber, fileSize);
    }

    @Override
    public void skipTo(int block) throws InterruptedException {
        Objects.requireNonNull(current, "a file has begun").skipTo(block);
    }

    @Override
    public void data(byte[] bytes, int offset, int length) throws InterruptedException {
        Objects.requireNonNull(current, "data comes within a file").data(bytes, offset, length);
    }

    @Override
    public void end() throws InterruptedException {
        Objects.requireNonNull(current, "a file has begun").end();
    }

    /** As {@link BaselineLoader#leave}. */
    void leave() {
        loaders.values().forEach(BaselineLoader::leave);
    }

    /** As {@link BaselineLoader#keepValues}. */
    void keepValues() {
        loaders.values().forEach(BaselineLoader::keepValues);
    }

    @Override
    public void close() {
        loaders.values().forEach(BaselineLoader::close);
    }
}
