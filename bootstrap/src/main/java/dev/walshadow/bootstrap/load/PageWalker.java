package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Walks the pages of one worker: tuples become stored rows, spooled rows (with out-of-line values),
 * deferred rows, or chunks of the {@link ToastStore}. One thread.
 */
final class PageWalker {
    /** Where the walker's findings go. */
    interface Output {
        /** Asked for once a complete row: the walker's own buffer, to append it to. */
        ByteBuilder rows();

        /** Called after each page: the buffer may be handed on. */
        void pageDone(LoadedRelation relation, long rows) throws InterruptedException;

        /**
         * A row that waits until every TOAST chunk is here.
         *
         * @param deleter that was open at B, 0 for none
         */
        void spool(int deleter, byte[] record, int length);

        /** The row that is deferred next is an insertion that may still be taken back. */
        void speculative(int inserter);

        /** A row that waits for the end of open transactions, 0 for none. */
        void defer(int inserter, int deleter, byte[] record, int length);
    }

    private final BackupSnapshot snapshot;
    private final TransactionStatuses statuses;
    private final RowFate fate;
    private final ToastStore toast;
    private final Output output;
    private final boolean wantsChunks;
    private final HeapPage page = new HeapPage();
    private final TupleView tuple = new TupleView();
    private final ByteBuilder aside = new ByteBuilder(HeapPage.SIZE);
    private final Set<Integer> xids = new HashSet<>();
    private final Set<Integer> multixacts = new HashSet<>();

    PageWalker(
            BackupSnapshot snapshot,
            OpenTransactions open,
            TransactionStatuses statuses,
            ToastStore toast,
            Output output,
            boolean wantsChunks) {
        this.snapshot = snapshot;
        this.statuses = statuses;
        this.fate = new RowFate(snapshot, open, statuses);
        this.toast = toast;
        this.output = output;
        this.wantsChunks = wantsChunks;
    }

    /** Whether page i, if it is initialised, has the checksum that PostgreSQL gives its block. */
    boolean hasRightChecksum(PageBatch batch, int i) {
        try {
            return !page.wrap(batch.bytes, i * HeapPage.SIZE)
                    || page.checksumMatches(batch.block(i));
        } catch (QuarantineException e) {
            return false;
        }
    }

    /**
     * Walks pages.
     *
     * @param wanted bit i: page i is to be walked
     */
    void walk(PageBatch batch, long wanted) throws InterruptedException {
        ask(batch, wanted);
        for (int i = 0; i < batch.pages(); i++) {
            LoadedRelation relation = batch.relation(i);
            if ((wanted >>> i & 1) != 0 && relation.damage() == null) {
                try {
                    page(batch, i);
                } catch (QuarantineException e) {
                    damaged(batch, i, e.getMessage());
                }
            }
        }
    }

    private void page(PageBatch batch, int i) throws InterruptedException {
        if (!page.wrap(batch.bytes, i * HeapPage.SIZE)) {
            return;
        }
        LoadedRelation relation = batch.relation(i);
        int block = batch.block(i);
        long imageLsn = batch.imageLsn(i);
        if (imageLsn == 0 && Long.compareUnsigned(page.lsn(), snapshot.startLsn()) > 0) {
            relation.ahead(page.lsn(), block);
        }
        fate.ofPage(imageLsn);
        long rows = relation.isToast() ? chunks(relation, block) : rows(relation, block);
        output.pageDone(relation, rows);
    }

    /** Sets the relation's table aside. */
    static void damaged(PageBatch batch, int i, @Nullable String found) {
        LoadedRelation relation = batch.relation(i);
        relation.damaged(
                "file of "
                        + relation.label()
                        + " ("
                        + relation.locator()
                        + "), block "
                        + Integer.toUnsignedString(batch.block(i))
                        + ": "
                        + found);
    }

    /** One question to the source for all pages. */
    private void ask(PageBatch batch, long wanted) {
        statuses.trim();
        xids.clear();
        multixacts.clear();
        for (int i = 0; i < batch.pages(); i++) {
            LoadedRelation relation = batch.relation(i);
            if ((wanted >>> i & 1) == 0 || relation.isToast() || relation.damage() != null) {
                continue;
            }
            try {
                questions(batch.bytes, i * HeapPage.SIZE);
            } catch (QuarantineException e) {
                damaged(batch, i, e.getMessage());
            }
        }
        if (!multixacts.isEmpty()) {
            statuses.learn(Set.of(), multixacts);
            fate.questionsOfUpdaters(multixacts, xids);
        }
        if (!xids.isEmpty()) {
            statuses.learn(xids, Set.of());
        }
    }

    private void questions(byte[] bytes, int at) {
        if (page.wrap(bytes, at)) {
            for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
                wrap(i);
                fate.questions(tuple, xids, multixacts);
            }
        }
    }

    private void wrap(int offsetNumber) {
        try {
            page.tuple(offsetNumber, tuple);
        } catch (QuarantineException e) {
            throw new QuarantineException(
                    e.code(), "tuple " + offsetNumber + ": " + e.getMessage(), e);
        }
    }

    private long chunks(LoadedRelation relation, int block) {
        for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
            wrap(i);
            toast.add(relation.oid(), tuple);
            if (wantsChunks) {
                RowWriter.chunk(output.rows(), relation.locator(), block, i, tuple);
            }
        }
        return 0;
    }

    private long rows(LoadedRelation relation, int block) {
        long rows = 0;
        for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
            wrap(i);
            switch (fate.decide(tuple)) {
                case ABSENT -> {}
                case ROW -> {
                    rows++;
                    row(relation, block, i);
                }
                case DEFERRED -> {
                    if (!BackupSnapshot.isTransaction(fate.openInserter())) {
                        // a row until its deleter commits
                        rows++;
                        row(relation, block, i);
                    }
                    if (tuple.isSpeculative()) {
                        output.speculative(tuple.xmin());
                    }
                    aside.clear();
                    RowWriter.row(aside, relation.locator(), block, i, tuple);
                    output.defer(
                            fate.openInserter(), fate.openDeleter(), aside.array(), aside.length());
                }
            }
        }
        return rows;
    }

    private void row(LoadedRelation relation, int block, int offsetNumber) {
        ByteBuilder out = aside;
        if (tuple.hasExternal()) {
            aside.clear();
        } else {
            out = output.rows();
        }
        int start = RowWriter.row(out, relation.locator(), block, offsetNumber, tuple);
        if (fate.openInserter() == BackupSnapshot.COMMITTED_BEFORE) {
            RowWriter.setLow(out, start, RowWriter.OPEN_INSERTER);
        }
        if (tuple.hasExternal()) {
            output.spool(fate.openDeleter(), aside.array(), aside.length());
        }
    }
}
