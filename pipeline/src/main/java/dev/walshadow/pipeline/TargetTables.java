package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The followed tables and their twins in ClickHouse, with the ledger kept there. */
@SuppressWarnings("DoNotCallSuggester")
public final class TargetTables {
    /**
     * @param metadataDatabase ClickHouse database of the ledger
     * @param sourceName what messages call the source, e.g. host:port
     */
    public record Options(
            String metadataDatabase,
            long systemIdentifier,
            String sourceName,
            MappingRules rules,
            SourceEncoding encoding) {}

    private TargetTables() {}

    /** Reads the ledger, if there is one. Changes nothing. Refuses another source's. */
    public static TargetTables open(ClickHouseClient client, Options options) {
        throw new UnsupportedOperationException();
    }

    /** True if this source has been attached before: the ledger has its tables. */
    public boolean isAttached() {
        throw new UnsupportedOperationException();
    }

    /** True if every table that can be replicated has its baseline. */
    public boolean isComplete() {
        throw new UnsupportedOperationException();
    }

    /** What {@link #attach} would refuse, each with its remedy. Changes nothing. */
    public List<String> problems(Collection<RelationDescriptor> selected) {
        throw new UnsupportedOperationException();
    }

    /**
     * First attach, or the restart of an unfinished one: creates databases and tables; tables whose
     * baseline is unfinished are dropped and made anew; finished ones stay.
     *
     * @throws dev.walshadow.base.ConfigurationException with all {@link #problems}
     */
    public void attach(Collection<RelationDescriptor> selected, long baselineLsn) {
        throw new UnsupportedOperationException();
    }

    /** A later start: takes the ledger's tables up again with these shapes. */
    public void resume(Collection<RelationDescriptor> selected) {
        throw new UnsupportedOperationException();
    }

    /** True if existing rows of this relation are to be loaded now. */
    public boolean wantsBaseline(int databaseOid, int relationOid) {
        throw new UnsupportedOperationException();
    }

    /** How a table is mapped; null if it is held back or not followed. */
    public @Nullable TableMapping mapping(int databaseOid, int relationOid) {
        throw new UnsupportedOperationException();
    }

    public Collection<TableStatus> status() {
        throw new UnsupportedOperationException();
    }
}
