package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Whether a first attach that was not finished can be gone on with: the same tables, mapped as they
 * were, of the same base backup, and what is in ClickHouse has the shape for them.
 */
final class UnfinishedAttach {
    private UnfinishedAttach() {}

    /** In what it differs; null if in nothing. */
    static @Nullable String difference(
            ClickHouseClient client,
            MappingRules rules,
            Map<Long, LedgerRow> ledger,
            Collection<RelationDescriptor> selected,
            long baselineLsn) {
        Set<Long> keys = new HashSet<>();
        for (RelationDescriptor shape : selected) {
            long key = Quarantine.key(shape.databaseOid(), shape.oid());
            keys.add(key);
            LedgerRow row = ledger.get(key);
            String found =
                    row == null
                            ? "it is selected now"
                            : difference(client, rules, row, shape, baselineLsn);
            if (found != null) {
                return shape.label() + ": " + found;
            }
        }
        for (Map.Entry<Long, LedgerRow> entry : ledger.entrySet()) {
            if (!keys.contains(entry.getKey()) && entry.getValue().state() != TableState.DROPPED) {
                return entry.getValue().name() + ": it is not selected any more";
            }
        }
        return null;
    }

    private static @Nullable String difference(
            ClickHouseClient client,
            MappingRules rules,
            LedgerRow row,
            RelationDescriptor shape,
            long baselineLsn) {
        if (row.state() == TableState.DROPPED) {
            return "it is selected now";
        }
        if (row.rootOid() != 0) {
            return row.baselineLsn() == baselineLsn || row.state() == TableState.HELD
                    ? null
                    : "its rows are of another backup";
        }
        if (!(TableMapping.derive(shape, rules)
                instanceof Derivation.Mapped(TableMapping mapping, List<String> _))) {
            return row.hasTarget() ? "it would be held back now" : null;
        }
        if (!mapping.toJson().equals(row.mapping()) || !row.pendingMapping().isEmpty()) {
            return "it would be mapped in another way now";
        }
        if (row.baselineLsn() != baselineLsn) {
            return "its rows are of another backup";
        }
        TableShape existing = TableShape.read(client, row.targetDatabase(), row.targetTable());
        if (existing == null) {
            return "its table in ClickHouse is gone";
        }
        List<String> differences = mapping.differences(existing);
        return differences.isEmpty() ? null : String.join("; ", differences);
    }
}
