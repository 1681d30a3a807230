package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.AttributeWalker;
import dev.walshadow.postgres.heap.TupleLayout;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.util.ArrayList;
import java.util.List;

/** Finds the out-of-line values that a stored row refers to. */
final class ExternalValues {
    private static final int VARLENA = -1;

    private ExternalValues() {}

    /** One reference. */
    private record Reference(int relation, int valueId, int storedSize) {}

    /**
     * Appends relation, value id, length and bytes of each value that is there to {@code out},
     * which may be the array that holds the record.
     *
     * @param limit stored bytes of each value that are wanted
     */
    static void append(
            TupleLayout layout, RawRecord record, ToastValues values, int limit, ByteBuilder out) {
        for (Reference reference : references(layout, record)) {
            int start = out.length();
            out.putInt(reference.relation());
            out.putInt(reference.valueId());
            out.putInt(0);
            int wanted = Math.min(limit, reference.storedSize());
            if (values.appendPrefix(reference.relation(), reference.valueId(), wanted, out)) {
                LittleEndian.putInt(out.array(), start + 8, out.length() - start - 12);
            } else {
                out.setLength(start);
            }
        }
    }

    /** Whether the backup has all chunks of every value that the row refers to. */
    static boolean areAllIn(ToastStore store, TupleLayout layout, RawRecord record) {
        for (Reference reference : references(layout, record)) {
            if (!store.holds(reference.relation(), reference.valueId(), reference.storedSize())) {
                return false;
            }
        }
        return true;
    }

    private static List<Reference> references(TupleLayout layout, RawRecord record) {
        TupleView tuple = new TupleView();
        tuple.wrapWal(record.buffer(), record.dataOffset(), record.dataLength());
        if (!tuple.hasExternal()) {
            return List.of();
        }
        AttributeWalker walker = new AttributeWalker(layout);
        walker.walk(tuple);
        List<Reference> references = new ArrayList<>();
        ToastPointer pointer = new ToastPointer();
        int count = Math.min(tuple.attributeCount(), layout.attributeCount());
        for (int i = 0; i < count; i++) {
            if (layout.length(i) == VARLENA
                    && walker.offset(i) >= 0
                    && Varlena.isExternal(tuple.buffer(), walker.offset(i))) {
                pointer.wrap(tuple.buffer(), walker.offset(i));
                references.add(
                        new Reference(
                                pointer.toastRelationOid(),
                                pointer.valueId(),
                                pointer.storedSize()));
            }
        }
        return references;
    }
}
