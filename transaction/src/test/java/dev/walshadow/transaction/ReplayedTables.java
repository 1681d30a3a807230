package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.TupleView;
import dev.walshadow.postgres.value.ToastPointer;
import dev.walshadow.postgres.value.Varlena;
import dev.walshadow.postgres.wal.ResourceManager;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Tables {@code (id int primary key, val int not null, doc text)} as the committed records make
 * them: the other side of the comparison with the server's own SELECT.
 */
final class ReplayedTables {
    private final Map<Integer, Integer> relationOfLocator = new HashMap<>();
    private final Map<Integer, TreeMap<Integer, String>> rows = new HashMap<>();
    private final TupleView tuple = new TupleView();
    private final RawRecord record = new RawRecord();
    private final ToastPointer pointer = new ToastPointer();
    private final ByteBuilder value = new ByteBuilder(64);

    /** Follows the table with this relation number. */
    void follow(int relationNumber, int table) {
        relationOfLocator.put(relationNumber, table);
        rows.put(table, new TreeMap<>());
    }

    Map<Integer, String> rows(int table) {
        return Objects.requireNonNull(rows.get(table));
    }

    void apply(CommittedChanges changes) {
        RecordCursor cursor = changes.records();
        ToastValues toast = changes.toast();
        long last = 0;
        while (cursor.next(record)) {
            if (record.lsn() <= last) {
                throw new AssertionError("records out of order");
            }
            last = record.lsn();
            Integer table = relationOfLocator.get(record.relationNumber());
            if (table != null) {
                apply(rows(table), toast);
            }
        }
    }

    private void apply(Map<Integer, String> table, ToastValues toast) {
        byte[] bytes = record.buffer();
        int data = record.dataOffset();
        int main = record.mainOffset();
        if (record.resourceManager() == ResourceManager.HEAP2) {
            int tuples = LittleEndian.getUnsignedShort(bytes, main + MULTI_INSERT_NTUPLES);
            int at = data;
            for (int i = 0; i < tuples; i++) {
                at = tuple.wrapMulti(bytes, data, at, data + record.dataLength());
                put(table, toast);
            }
            return;
        }
        switch (record.info() & XLOG_HEAP_OPMASK) {
            case XLOG_HEAP_INSERT, XLOG_HEAP_UPDATE, XLOG_HEAP_HOT_UPDATE -> {
                int keyLength = record.mainLength() - UPDATE_LENGTH;
                if ((record.info() & XLOG_HEAP_OPMASK) != XLOG_HEAP_INSERT
                        && (bytes[main + UPDATE_FLAGS] & XLH_UPDATE_CONTAINS_OLD) != 0) {
                    tuple.wrapWal(bytes, main + UPDATE_LENGTH, keyLength);
                    table.remove(id());
                }
                tuple.wrapWal(bytes, data, record.dataLength());
                put(table, toast);
            }
            case XLOG_HEAP_DELETE -> {
                tuple.wrapWal(bytes, main + DELETE_LENGTH, record.mainLength() - DELETE_LENGTH);
                if (table.remove(id()) == null) {
                    throw new AssertionError("a tombstone for a row that is not there");
                }
            }
            default -> throw new AssertionError("unexpected record " + record.info());
        }
    }

    private int id() {
        return LittleEndian.getInt(tuple.buffer(), tuple.dataOffset());
    }

    private void put(Map<Integer, String> table, ToastValues toast) {
        byte[] bytes = tuple.buffer();
        int val = LittleEndian.getInt(bytes, tuple.dataOffset() + 4);
        String doc = tuple.isNull(2) ? null : doc(bytes, tuple.dataOffset() + 8, toast);
        table.put(id(), val + ":" + doc);
    }

    private String doc(byte[] bytes, int at, ToastValues toast) {
        value.clear();
        if (Varlena.isExternal(bytes, at)) {
            pointer.wrap(bytes, at);
            boolean here = toast.append(pointer.toastRelationOid(), pointer.valueId(), value);
            if (!here || value.length() != pointer.storedSize() || pointer.isCompressed()) {
                throw new AssertionError("expected the value " + pointer.valueId());
            }
        } else {
            int total = Varlena.totalLength(bytes, at, tuple.end());
            int payload = Varlena.payloadOffset(bytes, at);
            value.putBytes(bytes, payload, Varlena.payloadLength(bytes, at, total));
        }
        byte[] text = value.toByteArray();
        return text.length + "/" + new String(text, StandardCharsets.UTF_8).hashCode();
    }
}
