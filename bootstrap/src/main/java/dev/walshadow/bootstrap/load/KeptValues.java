package dev.walshadow.bootstrap.load;

import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.transaction.ToastValues;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The backup's values out of line, which a load that is done has left in its directory ({@link
 * BaselineLoader#keepValues}), for a later process: as long as a transaction is open that was so at
 * B, it may have written the beginning of a value before B.
 */
public final class KeptValues implements AutoCloseable {
    private final Path directory;
    private final ToastStore store;

    private KeptValues(Path directory, ToastStore store) {
        this.directory = directory;
        this.store = store;
    }

    /**
     * Removes what else the load has left there, deferred rows excepted.
     *
     * @param startLsn B
     */
    public static KeptValues open(Path directory, long systemIdentifier, long startLsn) {
        List<LoadCheckpoint.Toast> kept =
                LoadCheckpoint.readValues(directory, systemIdentifier, startLsn);
        remove(directory, "externals", "deferred-spool", "images");
        ToastStore store = new ToastStore(directory, kept);
        store.seal();
        return new KeptValues(directory, store);
    }

    /** Nobody needs what a load that is done has left there; deferred rows stay. */
    public static void forget(Path directory) {
        List<String> toast;
        try (Stream<Path> files = Files.list(directory)) {
            toast =
                    files.map(each -> String.valueOf(each.getFileName()))
                            .filter(ToastStore::isName)
                            .toList();
        } catch (IOException e) {
            throw unremovable(directory, e);
        }
        remove(directory, "externals", "deferred-spool", "images");
        remove(directory, toast.toArray(String[]::new));
        try {
            LoadCheckpoint.remove(directory);
        } catch (IOException e) {
            throw unremovable(directory, e);
        }
    }

    /** For any thread; answers false from {@link #close} on. */
    public ToastValues values() {
        return store.values();
    }

    /** Removes them. */
    @Override
    public void close() {
        store.close();
        forget(directory);
    }

    private static void remove(Path directory, String... names) {
        try {
            for (String name : names) {
                Files.deleteIfExists(directory.resolve(name));
            }
        } catch (IOException e) {
            throw unremovable(directory, e);
        }
    }

    private static RetryException unremovable(Path directory, IOException e) {
        return new RetryException(
                BootstrapCodes.SPOOL,
                "what the initial load left in " + directory + " cannot be removed: " + e,
                e);
    }
}
