package dev.walshadow.catalog;

import dev.walshadow.postgres.RelationLocator;
import java.nio.file.Path;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Which shape each relation had at which WAL position, durably. */
@SuppressWarnings("DoNotCallSuggester")
public final class DescriptorLog implements AutoCloseable {
    private DescriptorLog() {}

    /** Opens or creates the log in {@code directory}. */
    public static DescriptorLog open(Path directory, long systemIdentifier) {
        if (systemIdentifier == 1) {
            return new DescriptorLog();
        }
        throw new UnsupportedOperationException();
    }

    /** Adds what one capture found; durable on return. Called by the WAL pump only. */
    public void append(
            long validFromLsn,
            Collection<RelationDescriptor> present,
            Collection<Integer> droppedOids,
            int databaseOid) {
        throw new UnsupportedOperationException();
    }

    /** The relation whose storage is {@code locator} at {@code lsn}; null if unknown or dropped. */
    public @Nullable RelationDescriptor find(RelationLocator locator, long lsn) {
        throw new UnsupportedOperationException();
    }

    /** The relation as it is at {@code lsn}; null if unknown or dropped. */
    public @Nullable RelationDescriptor find(int databaseOid, int relationOid, long lsn) {
        throw new UnsupportedOperationException();
    }

    /** Every relation that exists at {@code lsn}. */
    public Collection<RelationDescriptor> active(long lsn) {
        throw new UnsupportedOperationException();
    }

    /** The newest entry's position, 0 if there is none. */
    public long lastLsn() {
        throw new UnsupportedOperationException();
    }

    /** Forgets what was superseded at or before {@code floorLsn}. Called by the WAL pump only. */
    public void compact(long floorLsn) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}
