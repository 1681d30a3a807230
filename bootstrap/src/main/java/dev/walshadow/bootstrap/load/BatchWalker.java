package dev.walshadow.bootstrap.load;

import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import java.sql.Connection;
import java.sql.SQLException;

/**
 * Walks batches of pages, those of the backup not before the WAL has been read far enough to know
 * which of them it has touched. One thread.
 */
final class BatchWalker {
    private static final String REMEDY =
            "find the file with pg_amcheck or pg_checksums and restore it from a backup";

    private final PageWalker pages;
    private final Connection session;
    private final BaselineLoader.WalSinceStart wal;
    private final SourcePosition position;
    private final boolean checksums;

    BatchWalker(
            PageWalker pages,
            Connection session,
            BaselineLoader.WalSinceStart wal,
            SourcePosition position,
            boolean checksums) {
        this.pages = pages;
        this.session = session;
        this.wal = wal;
        this.position = position;
        this.checksums = checksums;
    }

    /** Images were claimed when they came. */
    void walkImages(PageBatch batch) throws InterruptedException {
        pages.walk(batch, -1L);
        for (int i = 0; i < batch.pages(); i++) {
            batch.relation(i).claims().done(batch.block(i));
        }
    }

    /** Waits until the WAL has said which of a relation's consecutive pages it has touched. */
    void await(PageBatch batch) throws InterruptedException {
        if (batch.pages() > 0) {
            wal.gate().await(flushedAfter(batch.arrivedNanos));
        }
    }

    /** Claims what of the pages, waited for, the WAL has not touched, and walks it. */
    void walkFile(PageBatch batch) throws InterruptedException {
        int count = batch.pages();
        if (count == 0) {
            return;
        }
        LoadedRelation relation = batch.relation(0);
        if (checksums) {
            verify(batch, count);
        }
        long claimed = relation.claims().claim(batch.block(0), count);
        pages.walk(batch, claimed);
        relation.claims().done(batch.block(0), claimed);
    }

    private long flushedAfter(long arrivedNanos) {
        if (wal.copiedBefore().isPresent()) {
            return wal.copiedBefore().getAsLong();
        }
        try {
            return position.flushedAfter(arrivedNanos, session);
        } catch (SQLException e) {
            throw failed(e);
        }
    }

    /** A page that is not what its checksum says, and that nobody wrote meanwhile, is damaged. */
    private void verify(PageBatch batch, int count) throws InterruptedException {
        LoadedRelation relation = batch.relation(0);
        long wrong = wrong(batch, relation.claims().unclaimed(batch.block(0), count));
        if (wrong == 0) {
            return;
        }
        // the one thing that reaches a file before its record is flushed: older minor releases cut
        // off a file's end first
        wal.gate().await(insertPosition());
        wrong &= relation.claims().unclaimed(batch.block(0), count);
        if (wrong != 0) {
            PageWalker.damaged(
                    batch,
                    Long.numberOfTrailingZeros(wrong),
                    "its checksum is wrong, and the page was not written while it was copied: the"
                            + " source's file is damaged; "
                            + REMEDY);
        }
    }

    private long wrong(PageBatch batch, long looked) {
        long wrong = 0;
        for (int i = 0; i < batch.pages(); i++) {
            if ((looked >>> i & 1) != 0 && !pages.hasRightChecksum(batch, i)) {
                wrong |= 1L << i;
            }
        }
        return wrong;
    }

    private long insertPosition() {
        if (wal.copiedBefore().isPresent()) {
            return wal.copiedBefore().getAsLong();
        }
        try {
            return wal.insertPosition().current(session);
        } catch (SQLException e) {
            throw failed(e);
        }
    }

    private static RetryException failed(SQLException e) {
        return new RetryException(
                BootstrapCodes.SOURCE_QUERY,
                "the source could not be asked for its WAL position: "
                        + e.getMessage()
                        + "; the initial load is tried again",
                e);
    }
}
