package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.heap.TupleView;
import java.util.HashSet;
import java.util.Set;

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

        /** A row that waits until every TOAST chunk is here. */
        void spool(byte[] record, int length);

        /** A row that waits for the end of open transactions, 0 for none. */
        void defer(int inserter, int deleter, byte[] record, int length);
    }

    private final TransactionStatuses statuses;
    private final RowFate fate;
    private final ToastStore toast;
    private final Output output;
    private final HeapPage page = new HeapPage();
    private final TupleView tuple = new TupleView();
    private final ByteBuilder aside = new ByteBuilder(HeapPage.SIZE);
    private final Set<Integer> xids = new HashSet<>();
    private final Set<Integer> multixacts = new HashSet<>();

    PageWalker(
            BackupSnapshot snapshot,
            TransactionStatuses statuses,
            ToastStore toast,
            Output output) {
        this.statuses = statuses;
        this.fate = new RowFate(snapshot, statuses);
        this.toast = toast;
        this.output = output;
    }

    /**
     * Walks consecutive pages.
     *
     * @param firstBlock block number of the first page
     * @param length a multiple of 8192
     */
    void walk(LoadedRelation relation, byte[] bytes, int length, int firstBlock)
            throws InterruptedException {
        if (relation.damage() != null) {
            return;
        }
        int block = firstBlock;
        try {
            if (!relation.isToast()) {
                ask(bytes, length);
            }
            for (int at = 0; at < length; at += HeapPage.SIZE, block++) {
                if (page.wrap(bytes, at)) {
                    long rows = relation.isToast() ? chunks(relation) : rows(relation, block);
                    output.pageDone(relation, rows);
                }
            }
        } catch (QuarantineException e) {
            relation.damaged(
                    "file of "
                            + relation.label()
                            + " ("
                            + relation.locator()
                            + "), block "
                            + Integer.toUnsignedString(block)
                            + ": "
                            + e.getMessage());
        }
    }

    /** One question to the source for all pages. */
    private void ask(byte[] bytes, int length) {
        statuses.trim();
        xids.clear();
        multixacts.clear();
        for (int at = 0; at < length; at += HeapPage.SIZE) {
            if (!page.wrap(bytes, at)) {
                continue;
            }
            for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
                page.tuple(i, tuple);
                fate.questions(tuple, xids, multixacts);
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

    private long chunks(LoadedRelation relation) {
        for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
            page.tuple(i, tuple);
            toast.add(relation.oid(), tuple);
        }
        return 0;
    }

    private long rows(LoadedRelation relation, int block) {
        long rows = 0;
        for (int i = page.nextNormal(0); i != 0; i = page.nextNormal(i)) {
            page.tuple(i, tuple);
            switch (fate.decide(tuple)) {
                case ABSENT -> {}
                case ROW -> {
                    rows++;
                    row(relation, block, i);
                }
                case DEFERRED -> {
                    if (fate.openInserter() == 0) {
                        // a row until its deleter commits
                        rows++;
                        row(relation, block, i);
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
        if (tuple.hasExternal()) {
            aside.clear();
            RowWriter.row(aside, relation.locator(), block, offsetNumber, tuple);
            output.spool(aside.array(), aside.length());
        } else {
            RowWriter.row(output.rows(), relation.locator(), block, offsetNumber, tuple);
        }
    }
}
