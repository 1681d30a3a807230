package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.catalog.AttributeDescriptor;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.Codecs;
import dev.walshadow.postgres.value.Detoaster;
import dev.walshadow.postgres.value.ValueCodec;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RecordCursor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What a committed transaction did to small tables, as PostgreSQL's text: for tables that walshadow
 * itself obeys. Values must be of PostgreSQL's own scalar types, and in the row.
 */
public final class TableTexts {
    /** One row's change, in the order of the records. */
    public sealed interface Change {
        RelationDescriptor table();

        /** The row as it is now; a column that is NULL is absent. */
        record Row(RelationDescriptor table, Map<String, String> values) implements Change {}

        /**
         * A row is gone, or has another key.
         *
         * @param key columns of the replica identity
         */
        record Gone(RelationDescriptor table, Map<String, String> key) implements Change {}

        /** All rows are gone. */
        record Emptied(RelationDescriptor table) implements Change {}

        /** A row that cannot be read. */
        record Unreadable(RelationDescriptor table, String reason) implements Change {}
    }

    /** Finds a table by its storage. */
    public interface ByStorage {
        /** Null: it is not wanted. */
        @Nullable RelationDescriptor find(int tablespaceOid, int relationNumber);
    }

    private final ByStorage byStorage;
    private final IntFunction<@Nullable RelationDescriptor> byOid;
    private final HeapChanges heap = new HeapChanges();
    private final RowMeta meta = new RowMeta();
    private final List<Change> found = new ArrayList<>();

    /**
     * @param byOid the same by the table's OID
     */
    private TableTexts(ByStorage byStorage, IntFunction<@Nullable RelationDescriptor> byOid) {
        this.byStorage = byStorage;
        this.byOid = byOid;
    }

    /** Reads; {@code changes} may be read again by others. */
    public static List<Change> of(
            CommittedChanges changes,
            ByStorage byStorage,
            IntFunction<@Nullable RelationDescriptor> byOid) {
        TableTexts reading = new TableTexts(byStorage, byOid);
        RawRecord record = new RawRecord();
        RecordCursor cursor = changes.records();
        while (cursor.next(record)) {
            reading.record(record);
        }
        return reading.found;
    }

    private void record(RawRecord record) {
        if (HeapChanges.isTruncate(record)) {
            TruncatedTables names = TruncatedTables.of(record);
            for (int i = 0; i < names.count(); i++) {
                RelationDescriptor table = byOid.apply(names.relationOid(i));
                if (table != null) {
                    found.add(new Change.Emptied(table));
                }
            }
            return;
        }
        RelationDescriptor table = byStorage.find(record.tablespaceOid(), record.relationNumber());
        if (table == null) {
            return;
        }
        if (!(TableMapping.derive(table, MappingRules.defaults())
                instanceof Derivation.Mapped mapped)) {
            found.add(new Change.Unreadable(table, "its shape cannot be read"));
            return;
        }
        TargetTable shown =
                new TargetTable(
                        table, mapped.mapping(), SourceEncoding.UTF8, TableState.LIVE, 0, null);
        try {
            heap.decode(shown, record, meta, new Reader(table));
        } catch (QuarantineException e) {
            found.add(new Change.Unreadable(table, String.valueOf(e.getMessage())));
        }
    }

    /** One table's. */
    private final class Reader implements HeapChanges.Handler {
        private final RelationDescriptor table;
        private final AttributeWalker walker;

        Reader(RelationDescriptor table) {
            this.table = table;
            int count = table.attributes().size();
            int[] lengths = new int[count];
            char[] alignments = new char[count];
            for (int i = 0; i < count; i++) {
                lengths[i] = table.attributes().get(i).length();
                alignments[i] = table.attributes().get(i).alignment();
            }
            walker = new AttributeWalker(TupleLayout.of(lengths, alignments));
        }

        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta at) {
            if (oldKey != null) {
                found.add(new Change.Gone(table, texts(oldKey)));
            }
            found.add(new Change.Row(table, texts(tuple)));
            return true;
        }

        @Override
        public void tombstone(@Nullable TupleView key, RowMeta at) {
            if (key != null) {
                found.add(new Change.Gone(table, texts(key)));
            }
        }

        private Map<String, String> texts(TupleView tuple) {
            walker.walk(tuple);
            Map<String, String> texts = new HashMap<>();
            for (AttributeDescriptor attribute : table.attributes()) {
                int index = attribute.number() - 1;
                int offset = walker.offset(index);
                if (attribute.dropped() || offset == AttributeWalker.NULL) {
                    continue;
                }
                String text =
                        offset == AttributeWalker.MISSING
                                ? attribute.missingValue()
                                : text(attribute, tuple.buffer(), offset, walker.length(index));
                if (text != null) {
                    texts.put(attribute.name(), text);
                }
            }
            return texts;
        }

        private @Nullable String text(
                AttributeDescriptor attribute, byte[] bytes, int offset, int length) {
            ValueCodec codec = Codecs.builtin(attribute.typeOid());
            if (codec == null || (attribute.length() == -1 && Varlena.isExternal(bytes, offset))) {
                return null;
            }
            ByteBuilder text = new ByteBuilder(64);
            if (attribute.length() == -1) {
                ByteBuilder payload = new ByteBuilder(64);
                Detoaster.appendInline(bytes, offset, length, payload);
                codec.appendText(payload.array(), 0, payload.length(), text);
            } else {
                codec.appendText(bytes, offset, length, text);
            }
            return new String(text.array(), 0, text.length(), StandardCharsets.UTF_8);
        }
    }
}
