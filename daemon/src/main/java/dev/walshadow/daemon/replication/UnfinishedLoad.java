package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.FileTree;
import dev.walshadow.base.HaltException;
import dev.walshadow.bootstrap.backup.ShadowMarkers;
import dev.walshadow.bootstrap.load.BaselineLoader;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.state.LoadStart;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.source.SegmentArchive;
import dev.walshadow.source.StreamSnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an attempt of the initial load leaves in the state directory, for the next one: either all
 * of it is taken up, or all of it is removed.
 *
 * <p>The blocks that were walked stay loaded, as of the first backup's start B; the next attempt
 * reads the WAL from B again, which the slot has kept, and takes the other blocks from a backup of
 * its own: a page that no record has touched since B is the same in both. The shadow is laid anew.
 */
final class UnfinishedLoad {
    /** Of the shapes from before B, in the descriptor log. */
    static final long SEED_POSITION = 1;

    private static final Logger LOG = LoggerFactory.getLogger(UnfinishedLoad.class);

    private UnfinishedLoad() {}

    /** What is taken up: what the load goes by, and the shapes from before B. */
    record Kept(
            LoadStart start,
            List<DatabaseDescriptor> databases,
            List<RelationDescriptor> relations) {}

    /**
     * Null: there is nothing, or it was removed; a completed shadow is never touched (I12).
     *
     * @param allowed false: the load begins anew, whatever there is; so does one of a stored backup
     */
    static @Nullable Kept takeUp(StateDirectory state, Prepared prepared, boolean allowed) {
        boolean incomplete =
                ShadowMarkers.inspect(state.shadow()) == ShadowMarkers.State.INCOMPLETE;
        // the marker goes with the shadow, also where the attempt then fails before its backup
        boolean unfinished = incomplete || Files.exists(state.loadStart());
        Kept kept = unfinished && allowed ? find(state, prepared) : null;
        if (unfinished && kept == null) {
            LOG.info("an earlier initial load was not finished; it begins anew");
            prepared.tables().startOver();
        }
        if (incomplete) {
            ShadowMarkers.discard(state.shadow());
        }
        if (kept != null) {
            empty(state.spill());
            return kept;
        }
        clear(state);
        return null;
    }

    private static @Nullable Kept find(StateDirectory state, Prepared prepared) {
        LoadStart start = LoadStart.read(state.loadStart()).orElse(null);
        if (start == null
                || start.systemIdentifier() != prepared.identity().systemIdentifier()
                || start.timeline() != prepared.identity().timeline()
                || start.segmentSize() != prepared.segmentSize()
                || !isWorthIt(state)) {
            return null;
        }
        try {
            beginning(state, start, prepared.major());
            return find(state, prepared, start);
        } catch (HaltException | ConfigurationException e) {
            LOG.warn("what an earlier initial load left cannot be used: {}", e.getMessage());
            return null;
        }
    }

    private static @Nullable Kept find(StateDirectory state, Prepared prepared, LoadStart start) {
        try (DescriptorLog log =
                DescriptorLog.open(state.descriptorLog(), start.systemIdentifier())) {
            if (log.lastLsn() != SEED_POSITION) {
                LOG.info("tables have changed behind the base backup of an earlier initial load");
                return null;
            }
            List<RelationDescriptor> relations = List.copyOf(log.active(SEED_POSITION));
            prepared.databases().resume(log, SEED_POSITION);
            String difference =
                    prepared.databases().differFromConfiguration()
                            ? "other databases are to be followed"
                            : prepared.tables()
                                    .goOn(
                                            prepared.selection().of(relations),
                                            Partitions.among(relations),
                                            start.startLsn());
            if (difference != null) {
                LOG.info("an earlier initial load does not fit: {}", difference);
                return null;
            }
            return new Kept(start, log.databases(SEED_POSITION), relations);
        }
    }

    /** Whether anything was walked. */
    private static boolean isWorthIt(StateDirectory state) {
        try (Stream<Path> folders = Files.list(state.deferred())) {
            return folders.anyMatch(BaselineLoader::isKept);
        } catch (IOException e) {
            return false;
        }
    }

    /** Where the stream begins. */
    static StreamSnapshot beginning(StateDirectory state, LoadStart start, int major) {
        WalPages pages =
                new WalPages(
                        major, start.systemIdentifier(), start.timeline(), start.segmentSize());
        return new SegmentArchive(state.archive(), pages).resumeAt(start.startLsn());
    }

    /** From here on this load can be taken up. */
    static void begin(StateDirectory state, LoadStart start) {
        try {
            start.write(state.loadStart());
        } catch (IOException e) {
            throw unusable(state.loadStart() + " cannot be written: " + e, e);
        }
    }

    /** The load is done, or not to be taken up. */
    static void forget(StateDirectory state) {
        try {
            Files.deleteIfExists(state.loadStart());
        } catch (IOException e) {
            throw unusable(state.loadStart() + " cannot be removed: " + e, e);
        }
    }

    private static void clear(StateDirectory state) {
        forget(state);
        for (Path directory :
                List.of(
                        state.descriptorLog(),
                        state.archive(),
                        state.spool(),
                        state.deferred(),
                        state.spill())) {
            empty(directory);
        }
        try {
            Files.deleteIfExists(state.root().resolve("quarantine"));
        } catch (IOException e) {
            throw unusable("the quarantine file cannot be removed: " + e, e);
        }
    }

    private static void empty(Path directory) {
        try {
            FileTree.empty(directory);
        } catch (IOException e) {
            throw unusable(
                    "what an unfinished initial load left in "
                            + directory
                            + " cannot be removed: "
                            + e,
                    e);
        }
    }

    private static ConfigurationException unusable(String message, IOException cause) {
        return new ConfigurationException(DaemonCodes.STATE_UNUSABLE, message, cause);
    }
}
