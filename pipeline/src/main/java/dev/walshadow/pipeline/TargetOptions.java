package dev.walshadow.pipeline;

import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.MappingRules;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What {@link TargetTables} are made with.
 *
 * @param metadataDatabase ClickHouse database of the ledger
 * @param sourceName what messages call the source, e.g. host:port
 * @param rules how tables are mapped
 * @param encoding of a source database's text, by its OID
 * @param onDrop what becomes of a table that is dropped on the source
 * @param keepsDetached rows of a partition that is detached, dropped or truncated stay
 * @param loadsAdded the existing rows of tables that are added later are loaded
 * @param onExisting what becomes of tables that are where ours are to be
 * @param views how the views of current rows are called
 * @param distributed what reads all shards; null: there is one
 */
public record TargetOptions(
        String metadataDatabase,
        long systemIdentifier,
        String sourceName,
        MappingRules rules,
        IntFunction<SourceEncoding> encoding,
        OnDrop onDrop,
        boolean keepsDetached,
        boolean loadsAdded,
        OnExisting onExisting,
        ViewNames views,
        Companion.@Nullable Distributed distributed) {
    /** Tables that are added later are loaded; nothing that exists is touched; no views. */
    public TargetOptions(
            String metadataDatabase,
            long systemIdentifier,
            String sourceName,
            MappingRules rules,
            IntFunction<SourceEncoding> encoding,
            OnDrop onDrop,
            boolean keepsDetached) {
        this(
                metadataDatabase,
                systemIdentifier,
                sourceName,
                rules,
                encoding,
                onDrop,
                keepsDetached,
                true,
                OnExisting.REFUSE,
                ViewNames.NONE,
                null);
    }

    TargetOptions withOnExisting(OnExisting policy) {
        return new TargetOptions(
                metadataDatabase,
                systemIdentifier,
                sourceName,
                rules,
                encoding,
                onDrop,
                keepsDetached,
                loadsAdded,
                policy,
                views,
                distributed);
    }

    /** What is to stand beside each table; of none the names are empty. */
    List<Companion> companions() {
        List<Companion> all = new ArrayList<>();
        if (distributed != null) {
            all.add(distributed);
        }
        boolean local = distributed == null || distributed.names().isNone();
        all.add(new Companion.CurrentRows(views, local ? null : distributed));
        return all;
    }

    /** A table in ClickHouse is where one of ours is to be. */
    public enum OnExisting {
        /** It stays as it is, and nothing is attached, unless it is empty and in shape. */
        REFUSE,
        /** It is emptied and used if it is in shape. */
        EMPTY,
        /** It is kept under another name. */
        REPLACE
    }

    /** A table was dropped on the source. */
    public enum OnDrop {
        /** Its rows stay. */
        RETAIN,
        /** Its rows stay, and a warning is logged. */
        WARN,
        /** It is dropped too. */
        DROP
    }
}
