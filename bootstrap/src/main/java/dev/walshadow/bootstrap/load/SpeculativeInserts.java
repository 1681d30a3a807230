package dev.walshadow.bootstrap.load;

import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.WalRecord;
import java.util.HashMap;
import java.util.Map;

/**
 * What became of insertions of {@code INSERT ... ON CONFLICT} that were under way at B: confirmed,
 * or cancelled by a super-delete. A transaction has one under way at most, so its first record from
 * B on that begins, confirms or cancels one tells all that has to be known. Written by the WAL
 * pump, asked by the loader; thread safe.
 */
final class SpeculativeInserts {
    private final OpenTransactions open;

    /** The place of the cancelled tuple by xid; {@link Place#NONE} if it was not cancelled. */
    private final Map<Integer, Place> outcomes = new HashMap<>();

    /** Of a tuple. */
    private record Place(RelationLocator locator, int block, int offsetNumber) {
        static final Place NONE = new Place(new RelationLocator(0, 0, 0), 0, 0);
    }

    SpeculativeInserts(OpenTransactions open) {
        this.open = open;
    }

    /** A heap record of a loaded table. */
    void onRecord(WalRecord record) {
        if (record.resourceManager() != ResourceManager.HEAP) {
            return;
        }
        byte[] bytes = record.buffer();
        int main = record.mainDataOffset();
        switch (record.info() & HeapRecordLayout.XLOG_HEAP_OPMASK) {
            case HeapRecordLayout.XLOG_HEAP_INSERT -> {
                int flags = bytes[main + HeapRecordLayout.INSERT_FLAGS];
                if ((flags & HeapRecordLayout.XLH_INSERT_IS_SPECULATIVE) != 0) {
                    learn(record.xid(), Place.NONE);
                }
            }
            case HeapRecordLayout.XLOG_HEAP_CONFIRM -> learn(record.xid(), Place.NONE);
            case HeapRecordLayout.XLOG_HEAP_DELETE -> {
                int flags = bytes[main + HeapRecordLayout.DELETE_FLAGS];
                if ((flags & HeapRecordLayout.XLH_DELETE_IS_SUPER) != 0) {
                    cancelled(record, main);
                }
            }
            default -> {}
        }
    }

    private void cancelled(WalRecord record, int main) {
        RelationLocator locator =
                new RelationLocator(
                        record.tablespaceOid(0), record.databaseOid(0), record.relationNumber(0));
        int offset =
                LittleEndian.getUnsignedShort(
                        record.buffer(), main + HeapRecordLayout.DELETE_OFFNUM);
        learn(record.xid(), new Place(locator, record.blockNumber(0), offset));
    }

    private void learn(int xid, Place place) {
        if (open.mayBeOpen(xid)) {
            synchronized (outcomes) {
                outcomes.putIfAbsent(xid, place);
            }
        }
    }

    /** Whether the WAL has told what became of the insertion that the transaction had at B. */
    boolean isDecided(int xid) {
        synchronized (outcomes) {
            return outcomes.containsKey(xid) || open.hasEnded(xid);
        }
    }

    /** Whether the transaction took back its tuple at this place. */
    boolean isCancelled(int xid, RelationLocator locator, int block, int offsetNumber) {
        synchronized (outcomes) {
            Place place = outcomes.get(xid);
            return place != null
                    && place.block() == block
                    && place.offsetNumber() == offsetNumber
                    && place.locator().equals(locator);
        }
    }
}
