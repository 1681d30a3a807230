package dev.walshadow.pipeline;

import org.jspecify.annotations.Nullable;

/**
 * A row of {@link SequenceTable}.
 *
 * @param lastValue null: not known yet
 * @param lsn the position that the value is of; 0 without one
 */
public record SequenceRow(
        int databaseOid,
        int sequenceOid,
        String database,
        String schema,
        String name,
        @Nullable Long lastValue,
        boolean called,
        long lsn) {
    long key() {
        return Quarantine.key(databaseOid, sequenceOid);
    }
}
