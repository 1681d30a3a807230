package dev.walshadow.pipeline;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which tables were set aside, durably. */
public final class Quarantine {
    /**
     * One table set aside.
     *
     * @param label the table's name at that time
     * @param positionLsn commit position of the first transaction that is not replicated for it
     * @param code message code of the reason
     * @param reason what happened, with the statement or record, and what the operator can do
     * @param discardedRows changes dropped since
     */
    public record Entry(
            int databaseOid,
            int relationOid,
            String label,
            long positionLsn,
            int code,
            String reason,
            long discardedRows) {}

    private Quarantine() {}

    /** Opens or creates {@code <stateDirectory>/quarantine}; refuses a foreign or newer file. */
    public static Quarantine open(Path stateDirectory, long systemIdentifier) {
        return new Quarantine();
    }

    public Collection<Entry> entries() {
        return List.of();
    }

    public @Nullable Entry find(int databaseOid, int relationOid) {
        return null;
    }

    /** Sets a table aside; durable on return. The first reason stays. */
    public Entry add(Entry entry) {
        return entry;
    }

    /** Takes a table back in, after a new load. */
    public void remove(int databaseOid, int relationOid) {}
}
