package dev.walshadow.bootstrap.load;

import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.DatabaseRecord;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.StorageRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Finds in the WAL from B on the blocks of loaded relations that their page in the backup cannot be
 * trusted for: it may have been copied while it was written. What the first record that touches a
 * block says of it takes the page's place: {@code docs/bootstrap.md}, "Pages that are written
 * meanwhile".
 *
 * <p>{@link #onRecord} belongs to the WAL pump, from the first record at or after B on, before
 * {@link WalGate#readTo} tells of it; relations are added before that. Costs a look-up for each
 * block reference, and a lock only at the first touch of a block.
 */
public final class TouchedBlocks {
    private final TransactionRecord transaction;
    private final StorageRecord storage = new StorageRecord();
    private final DatabaseRecord database = new DatabaseRecord();
    private final SpeculativeInserts speculative;
    private final List<Target> targets = new ArrayList<>();

    /** Open addressing by locator, at most half full; a power of two long. */
    private @Nullable Target[] table = new @Nullable Target[64];

    private volatile boolean ended;

    /** A loaded relation as the pump sees it. */
    private static final class Target {
        private final LoadedRelation relation;
        private final ImageSpool images;

        /** Blocks that a record was seen of; the pump's own. */
        private final RoaringBitmap touched = new RoaringBitmap();

        /** What lies from this block on was touched. */
        private long touchedFrom = Long.MAX_VALUE;

        private Target(LoadedRelation relation, ImageSpool images) {
            this.relation = relation;
            this.images = images;
        }

        private boolean isTouched(int block) {
            return Integer.toUnsignedLong(block) >= touchedFrom || touched.contains(block);
        }

        private void touchFrom(int block) {
            touchedFrom = Math.min(touchedFrom, Integer.toUnsignedLong(block));
            relation.claims().claimFrom(block);
        }

        private void gone() {
            relation.gone();
            touchFrom(0);
        }
    }

    public TouchedBlocks(int majorVersion, OpenTransactions open) {
        speculative = new SpeculativeInserts(open);
        transaction = new TransactionRecord(majorVersion);
    }

    SpeculativeInserts speculative() {
        return speculative;
    }

    /** Before the first record. */
    void add(LoadedRelation relation, ImageSpool images) {
        Target target = new Target(relation, images);
        targets.add(target);
        if (targets.size() * 2 > table.length) {
            table = new @Nullable Target[table.length * 2];
            targets.forEach(this::place);
        } else {
            place(target);
        }
    }

    private void place(Target target) {
        RelationLocator locator = target.relation.locator();
        int slot = slot(locator.databaseOid(), locator.relationNumber());
        while (table[slot] != null) {
            slot = (slot + 1) & (table.length - 1);
        }
        table[slot] = target;
    }

    private int slot(int databaseOid, int relationNumber) {
        int hash = (relationNumber * 31 + databaseOid) * 0x9E3779B9;
        return (hash ^ hash >>> 16) & (table.length - 1);
    }

    private @Nullable Target find(int tablespaceOid, int databaseOid, int relationNumber) {
        int slot = slot(databaseOid, relationNumber);
        for (Target target = table[slot]; target != null; target = table[slot]) {
            RelationLocator locator = target.relation.locator();
            if (locator.relationNumber() == relationNumber
                    && locator.databaseOid() == databaseOid
                    && locator.tablespaceOid() == tablespaceOid) {
                return target;
            }
            slot = (slot + 1) & (table.length - 1);
        }
        return null;
    }

    /** Nothing is wanted any more. Any thread. */
    public void end() {
        ended = true;
    }

    /** Every record from B on, in order. */
    public void onRecord(WalRecord record) {
        if (ended) {
            return;
        }
        switch (record.resourceManager()) {
            case ResourceManager.TRANSACTION -> onTransactionRecord(record);
            case ResourceManager.STORAGE -> onStorageRecord(record);
            case ResourceManager.DATABASE -> onDatabaseRecord(record);
            default -> {
                for (int i = 0; i < record.blockCount(); i++) {
                    if (record.forkNumber(i) == XLogLayout.FORK_MAIN) {
                        onBlock(record, i);
                    }
                }
            }
        }
    }

    private void onBlock(WalRecord record, int i) {
        Target target =
                find(record.tablespaceOid(i), record.databaseOid(i), record.relationNumber(i));
        if (target == null) {
            return;
        }
        int block = record.blockNumber(i);
        if (i == 0 && !target.relation.isToast()) {
            speculative.onRecord(record);
        }
        if (target.isTouched(block)) {
            return;
        }
        if (record.willInit(i)) {
            // it was empty: whatever was there at B was deleted, and what comes is in the WAL
            target.relation.claims().claim(block);
        } else if (record.hasImage(i)) {
            target.images.offer(target.relation, record, i);
        } else if (isVisible(record)) {
            // sets PD_ALL_VISIBLE, nothing else: not even the page's LSN, so an image still comes
            return;
        } else {
            target.relation.unexplained(record.lsn(), block);
        }
        target.touched.add(block);
    }

    private static boolean isVisible(WalRecord record) {
        return record.resourceManager() == ResourceManager.HEAP2
                && (record.info() & HeapRecordLayout.XLOG_HEAP_OPMASK)
                        == HeapRecordLayout.XLOG_HEAP2_VISIBLE;
    }

    /** Blocks that VACUUM cuts off have no row any more; should they come back, they are new. */
    private void onStorageRecord(WalRecord record) {
        storage.wrap(record);
        if (storage.truncatesMainFork()) {
            Target target =
                    find(storage.tablespaceOid(), storage.databaseOid(), storage.relationNumber());
            if (target != null) {
                target.touchFrom(storage.blockCount());
            }
        }
    }

    /** The files of dropped and of rewritten tables are cut to nothing while they are copied. */
    private void onTransactionRecord(WalRecord record) {
        transaction.wrap(record);
        if (!transaction.isCommit() && !transaction.isAbort()) {
            return;
        }
        for (int i = 0; i < transaction.relationCount(); i++) {
            RelationLocator locator = transaction.relation(i);
            Target target =
                    find(locator.tablespaceOid(), locator.databaseOid(), locator.relationNumber());
            if (target != null) {
                target.gone();
            }
        }
    }

    /** DROP DATABASE, and ALTER DATABASE SET TABLESPACE where the files were. */
    private void onDatabaseRecord(WalRecord record) {
        database.wrap(record);
        if (database.operation() != DatabaseRecord.XLOG_DBASE_DROP) {
            return;
        }
        for (Target target : targets) {
            RelationLocator locator = target.relation.locator();
            for (int i = 0; i < database.tablespaceCount(); i++) {
                if (locator.databaseOid() == database.databaseOid()
                        && locator.tablespaceOid() == database.tablespace(i)) {
                    target.gone();
                }
            }
        }
    }
}
