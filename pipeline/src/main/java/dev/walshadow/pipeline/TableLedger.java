package dev.walshadow.pipeline;

import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What {@link MetadataDatabase} says of the tables, as it was read or written last. After {@link
 * #read} and {@link #create} safe for any thread.
 */
final class TableLedger {
    private final MetadataDatabase metadata;
    private final Map<Long, LedgerRow> rows = new ConcurrentHashMap<>();
    private final Map<Long, Written> written = new ConcurrentHashMap<>();
    private final LedgerRecorder<TargetTable> recorder =
            new LedgerRecorder<>(
                    recorded -> write(recorded.stream().map(TableLedger::row).toList()));
    private boolean exists;

    /** What this process has written, or gone on from. */
    private record Written(TableState state, long position) {}

    TableLedger(MetadataDatabase metadata) {
        this.metadata = metadata;
    }

    /** Reads it, if there is one; throws what the client throws. */
    void read() {
        exists = metadata.exists();
        if (exists) {
            for (LedgerRow row : metadata.readTables()) {
                rows.put(key(row), row);
            }
        }
    }

    void create() {
        metadata.create();
        exists = true;
    }

    boolean exists() {
        return exists;
    }

    /** By {@link Quarantine#key}. */
    Map<Long, LedgerRow> rows() {
        return rows;
    }

    /** All tables wait for their baseline again. */
    void startOver() {
        rows.replaceAll((_, row) -> row.startedOver());
    }

    /** The table goes on from what the row says. */
    void isWritten(LedgerRow row) {
        written.put(key(row), new Written(row.state(), row.positionLsn()));
    }

    private static long key(LedgerRow row) {
        return Quarantine.key(row.databaseOid(), row.relationOid());
    }

    /** What is to be said of a table now. */
    static LedgerRow row(TargetTable table) {
        TargetTable.Pin pin = table.pin();
        TableMapping mapping = table.isStaged() ? table.mapping() : pin.applied();
        if (mapping == null) {
            mapping = table.mapping();
        }
        TableMapping pending = pin.pending();
        return new LedgerRow(
                table.databaseOid(),
                table.relationOid(),
                table.shape().name().schema(),
                table.shape().name().name(),
                mapping == null ? "" : mapping.database(),
                mapping == null ? "" : mapping.table(),
                table.isStaged() && table.state() == TableState.LIVE
                        ? TableState.LOADING
                        : table.state(),
                table.reason(),
                table.positionLsn(),
                table.baselineLsn(),
                table.discardedRows.sum(),
                mapping == null ? "" : mapping.toJson(),
                pin.since(),
                pending == null ? "" : pending.toJson(),
                rootOid(table));
    }

    private static int rootOid(TargetTable table) {
        TargetTable root = table.root();
        return root == null ? 0 : root.relationOid();
    }

    /** As {@link TargetTables#record}. */
    void record(TargetTable table) {
        recorder.record(table);
    }

    /** Before the pipeline starts, or by the recorder. */
    void write(List<LedgerRow> now) {
        metadata.writeTables(now);
        for (LedgerRow row : now) {
            isWritten(row);
            rows.put(key(row), row);
        }
    }

    /** As {@link TargetTables#writeChanges}, of these. */
    boolean writeChanges(Collection<TargetTable> tables) {
        return recorder.alone(() -> {
            List<LedgerRow> changed = new ArrayList<>();
            for (TargetTable table : tables) {
                if (!table.isOpen() || table.isStaged()) {
                    continue; // what is on its way writes itself
                }
                Written now = new Written(table.state(), table.positionLsn());
                if (!now.equals(written.get(table.key()))) {
                    changed.add(row(table));
                }
            }
            write(changed);
            return !changed.isEmpty();
        });
    }
}
