package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.LogicalMessageRecord;
import dev.walshadow.postgres.wal.ParameterChangeRecord;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the heap records of every open transaction, raw, until its commit record hands them to the
 * {@link CommitSink}, in commit order. Bounded memory: beyond the budget the largest transaction
 * goes to disk (I10).
 *
 * <p>Single-threaded: the WAL pump. Only {@link #counters}, {@link #prepared} and what the sink was
 * given may be used by other threads. The pump waits in two places: in the sink, and for room on a
 * full spill disk.
 */
public final class TransactionBuffer implements AutoCloseable {
    /** Subtransactions whose top level is remembered; beyond it, the commit's list alone joins. */
    static final int MAX_LINKS = 1 << 17;

    /**
     * @param bytesBudget memory for records, of open transactions and of committed ones that the
     *     sink has not closed yet; at least 16 KiB, sensible from 64 MiB
     * @param spillDirectory for spill files only
     * @param systemIdentifier of the source cluster
     * @param majorVersion of the source, 15-18
     * @param patience how long a commit waits for the sink to give memory back before the
     *     transaction is spilled instead
     */
    public record Options(
            long bytesBudget,
            Path spillDirectory,
            long systemIdentifier,
            int majorVersion,
            RecordFilter filter,
            ToastRelations toastRelations,
            Duration patience) {
        public static final Duration DEFAULT_PATIENCE = Duration.ofMillis(100);

        public Options {
            if (bytesBudget < ChunkPool.SMALLEST_BUDGET) {
                throw new ConfigurationException(
                        TransactionCodes.BUDGET_TOO_SMALL,
                        "the memory for open transactions must be at least "
                                + ChunkPool.SMALLEST_BUDGET
                                + " bytes, found "
                                + bytesBudget
                                + ": raise it.");
            }
        }
    }

    private final Options options;
    private final CommitSink sink;
    private final ChunkPool pool;
    private final TransactionCounters counters;
    private final RecordStore store;
    private final OpenTransactions open;
    private final TransactionRecord end;
    private final RunningXactsRecord running = new RunningXactsRecord();
    private final ParameterChangeRecord parameters = new ParameterChangeRecord();
    private final LogicalMessageRecord message = new LogicalMessageRecord();
    private MessageSink messages = MessageSink.NONE;

    public TransactionBuffer(Options options, CommitSink sink) {
        this(options, sink, SpillDirectory::openFile, MAX_LINKS);
    }

    TransactionBuffer(
            Options options, CommitSink sink, SpillDirectory.Opener opener, int maxLinks) {
        this.options = options;
        this.sink = sink;
        pool = new ChunkPool(options.bytesBudget());
        counters = new TransactionCounters(pool);
        open = new OpenTransactions(pool, counters, maxLinks);
        end = new TransactionRecord(options.majorVersion());
        SpillDirectory directory =
                new SpillDirectory(options.spillDirectory(), options.systemIdentifier(), opener);
        store = new RecordStore(pool, directory, open, counters);
    }

    /** Who takes logical messages. Before the first record. */
    public void listen(MessageSink newMessages) {
        messages = newMessages;
    }

    public TransactionCounters counters() {
        return counters;
    }

    /** Transactions that are prepared and have not ended, in no order. */
    public Collection<PreparedTransaction> prepared() {
        return open.prepared();
    }

    /**
     * Takes the next record of the WAL, whatever it is. Those that concern catalogs only must come
     * too: they count for the resume floor, and they may be the one that names a subtransaction's
     * top level.
     *
     * @throws HaltException if the source's wal_level is no longer logical, or a record is corrupt
     */
    public void onRecord(WalRecord record) throws InterruptedException {
        switch (record.resourceManager()) {
            case ResourceManager.TRANSACTION -> onTransactionRecord(record);
            case ResourceManager.HEAP -> onHeapRecord(record);
            case ResourceManager.HEAP2 -> onHeap2Record(record);
            case ResourceManager.STANDBY -> onStandbyRecord(record);
            case ResourceManager.XLOG -> onXlogRecord(record);
            case ResourceManager.LOGICAL_MESSAGE -> onMessage(record);
            default -> note(record);
        }
    }

    /**
     * Where a restart must begin to read so that no open or prepared transaction loses a record
     * (I5). Committed ones are the sink's concern: {@link CommittedChanges#firstLsn}.
     *
     * @param currentLsn the end of the last record given to {@link #onRecord}
     */
    public long resumeFloor(long currentLsn) {
        OpenTransaction oldest = open.first();
        return oldest == null ? currentLsn : Math.min(oldest.firstLsn(), currentLsn);
    }

    /** Drops all open transactions and their spill files. What the sink has stays valid. */
    @Override
    public void close() {
        for (OpenTransaction each = open.first(); each != null; each = open.first()) {
            open.drop(each);
        }
    }

    // ---- heap records

    private void onHeapRecord(WalRecord record) throws InterruptedException {
        switch (record.info() & XLOG_HEAP_OPMASK) {
            case XLOG_HEAP_INSERT -> {
                OpenTransaction owner = ownerOf(record, INSERT_LENGTH);
                if (keeps(record)) {
                    onInsert(owner, record);
                }
            }
            case XLOG_HEAP_DELETE -> {
                OpenTransaction owner = ownerOf(record, DELETE_LENGTH);
                if (keeps(record)) {
                    onDelete(owner, record);
                }
            }
            case XLOG_HEAP_UPDATE, XLOG_HEAP_HOT_UPDATE -> {
                OpenTransaction owner = ownerOf(record, UPDATE_LENGTH);
                if (keeps(record)) {
                    store.append(owner, record, 0, 0);
                }
            }
            case XLOG_HEAP_TRUNCATE -> {
                OpenTransaction owner = ownerOf(record, TRUNCATE_RELATIONS);
                int database =
                        LittleEndian.getInt(
                                record.buffer(), record.mainDataOffset() + TRUNCATE_DATABASE);
                if (options.filter().keepsDatabase(database)) {
                    store.append(owner, record, -1, database);
                }
            }
            case XLOG_HEAP_CONFIRM -> {
                OpenTransaction owner = ownerOf(record, CONFIRM_LENGTH);
                requireBlock0(record);
                settleSpeculative(owner, record, CONFIRM_OFFNUM, false);
            }
            default -> note(record);
        }
    }

    private void onHeap2Record(WalRecord record) throws InterruptedException {
        if ((record.info() & XLOG_HEAP_OPMASK) != XLOG_HEAP2_MULTI_INSERT) {
            note(record);
            return;
        }
        OpenTransaction owner = ownerOf(record, MULTI_INSERT_LENGTH);
        if (keeps(record)) {
            store.append(owner, record, 0, 0);
        }
    }

    private boolean keeps(WalRecord record) {
        requireBlock0(record);
        return options.filter()
                .keepsRelation(
                        record.tablespaceOid(0), record.databaseOid(0), record.relationNumber(0));
    }

    private static void requireBlock0(WalRecord record) {
        if (record.blockCount() == 0 || record.blockId(0) != 0) {
            throw record.corrupt("a heap record without its block 0");
        }
    }

    private void onInsert(OpenTransaction owner, WalRecord record) throws InterruptedException {
        long position = store.append(owner, record, 0, 0);
        int main = record.mainDataOffset();
        if ((record.buffer()[main + INSERT_FLAGS] & XLH_INSERT_IS_SPECULATIVE) != 0) {
            owner.speculative()
                    .add(
                            record.tablespaceOid(0),
                            record.databaseOid(0),
                            record.relationNumber(0),
                            record.blockNumber(0),
                            LittleEndian.getUnsignedShort(record.buffer(), main + INSERT_OFFNUM),
                            record.xid(),
                            position);
        }
    }

    /**
     * A super-delete takes back its own speculative insert and is never a deletion of a row: it is
     * not kept. Where the insert is not here (the chunks of a TOAST value, which are inserted the
     * normal way, or an insert before the start) nothing refers to what it deletes.
     */
    private void onDelete(OpenTransaction owner, WalRecord record) throws InterruptedException {
        int flags = record.buffer()[record.mainDataOffset() + DELETE_FLAGS];
        if ((flags & XLH_DELETE_IS_SUPER) == 0) {
            store.append(owner, record, 0, 0);
            return;
        }
        settleSpeculative(owner, record, DELETE_OFFNUM, true);
    }

    /** Ends a speculative insert; it may lie where the writer belonged before it was forgotten. */
    private void settleSpeculative(
            OpenTransaction owner, WalRecord record, int offnum, boolean cancelled) {
        if (settles(owner, record, offnum, cancelled) || !open.hasForgotten()) {
            return;
        }
        for (OpenTransaction each = open.first(); each != null; each = each.next) {
            if (settles(each, record, offnum, cancelled)) {
                return;
            }
        }
    }

    private static boolean settles(
            OpenTransaction owner, WalRecord record, int offnum, boolean cancelled) {
        if (owner.speculative().isEmpty()) {
            return false;
        }
        long position =
                owner.speculative()
                        .take(
                                record.tablespaceOid(0),
                                record.databaseOid(0),
                                record.relationNumber(0),
                                record.blockNumber(0),
                                LittleEndian.getUnsignedShort(
                                        record.buffer(), record.mainDataOffset() + offnum),
                                record.xid());
        if (position >= 0 && cancelled) {
            owner.arena().cancel(position);
        }
        return position >= 0;
    }

    // ---- logical messages

    /** One that belongs to its transaction waits for the end of that, like a row. */
    private void onMessage(WalRecord record) throws InterruptedException {
        note(record);
        if (messages.isEmpty() || !message.wrap(record)) {
            return;
        }
        String text = messages.wanted(message, record.lsn());
        if (text == null) {
            return;
        }
        MessageSink.Message wanted = new MessageSink.Message(record.lsn(), record.xid(), text);
        if (!message.isTransactional()) {
            messages.counts(List.of(wanted), record.nextLsn(), 0);
        } else if (record.xid() == 0) {
            throw record.corrupt("a message of a transaction without a transaction id");
        } else if (!open.ownerOf(record).add(wanted)) {
            messages.overflow(record.lsn());
        }
    }

    // ---- who a record belongs to

    /** A record of a kind that nothing keeps; its transaction is noted all the same. */
    private void note(WalRecord record) {
        if (record.xid() != 0) {
            open.ownerOf(record);
        }
    }

    private OpenTransaction ownerOf(WalRecord record, int mainLength) {
        if (record.xid() == 0) {
            throw record.corrupt("a change of a row without a transaction id");
        }
        if (record.mainDataLength() < mainLength) {
            throw record.corrupt(
                    "expected at least "
                            + mainLength
                            + " bytes of main data, found "
                            + record.mainDataLength());
        }
        return open.ownerOf(record);
    }

    // ---- ends of transactions

    private void onTransactionRecord(WalRecord record) throws InterruptedException {
        end.wrap(record);
        if (end.isCommit()) {
            onCommit(record);
        } else if (end.isAbort()) {
            onAbort();
        } else if (end.isPrepare()) {
            note(record);
            onPrepare(record);
        } else {
            note(record);
        }
    }

    private void onPrepare(WalRecord record) {
        long firstLsn = open.markPrepared(end.xid());
        for (int i = 0; i < end.subxactCount(); i++) {
            firstLsn = Math.min(firstLsn, open.markPrepared(end.subxact(i)));
        }
        open.prepared(
                new PreparedTransaction(
                        end.gid(),
                        end.xid(),
                        end.databaseOid(),
                        end.ownerOid(),
                        end.timestampMicros(),
                        firstLsn,
                        record.lsn()));
    }

    private void onCommit(WalRecord record) throws InterruptedException {
        Committing committing = new Committing();
        OpenTransaction topLevel = open.find(end.xid());
        if (topLevel != null) {
            committing.joined = topLevel.hasSubtransactions;
            committing.add(topLevel);
        }
        for (int i = 0; i < end.subxactCount(); i++) {
            open.unlink(end.subxact(i));
            OpenTransaction own = open.find(end.subxact(i));
            if (own != null) {
                committing.joined = true;
                committing.add(own);
            }
        }
        if (topLevel != null) {
            open.forgetLinks(topLevel);
        }
        List<MessageSink.Message> counting = committing.counting();
        if (!committing.parts.isEmpty()) {
            handOver(record, committing, messages.ignores(counting));
        }
        if (!counting.isEmpty()) {
            messages.counts(counting, record.nextLsn(), end.timestampMicros());
        }
    }

    /** What a commit record has brought together. */
    private final class Committing {
        final List<OpenTransaction> parts = new ArrayList<>(1);
        long firstLsn = Long.MAX_VALUE;
        boolean joined;
        private List<MessageSink.Message> sent = List.of();

        /** Messages that were not rolled back, in order. */
        List<MessageSink.Message> counting() {
            if (sent.isEmpty()) {
                return sent;
            }
            CommittedMembers members = members();
            return sent.stream()
                    .filter(each -> members.contains(each.xid()))
                    .sorted(Comparator.comparingLong(MessageSink.Message::lsn))
                    .toList();
        }

        /** Takes the transaction out of the buffer; keeps it if it has records. */
        void add(OpenTransaction transaction) {
            firstLsn = Math.min(firstLsn, transaction.firstLsn());
            transaction.cancelUnconfirmed();
            if (!transaction.messages().isEmpty()) {
                sent = new ArrayList<>(sent);
                sent.addAll(transaction.messages());
            }
            open.remove(transaction);
            if (transaction.arena().recordCount() > 0) {
                parts.add(transaction);
            } else {
                transaction.arena().free();
            }
        }
    }

    private CommittedMembers members() {
        int[] xids = new int[end.subxactCount()];
        for (int i = 0; i < xids.length; i++) {
            xids[i] = end.subxact(i);
        }
        return new CommittedMembers(end.xid(), xids);
    }

    private void handOver(WalRecord record, Committing committing, boolean ignored)
            throws InterruptedException {
        OpenTransaction[] parts = committing.parts.toArray(new OpenTransaction[0]);
        Arena[] arenas = new Arena[parts.length];
        for (int i = 0; i < arenas.length; i++) {
            arenas[i] = parts[i].arena();
        }
        CommittedTransaction.Commit commit =
                new CommittedTransaction.Commit(
                        end.xid(),
                        end.databaseOid() != 0 ? end.databaseOid() : databaseOf(arenas[0]),
                        committing.firstLsn,
                        record.lsn(),
                        record.nextLsn(),
                        end.timestampMicros(),
                        ignored);
        CommittedMembers members = committing.joined ? members() : null;
        store.handOver(parts, options.patience().toNanos());
        TransactionCounters.add(counters.committed, 1);
        sink.commit(
                new CommittedTransaction(commit, arenas, members, options.toastRelations(), pool));
    }

    /** A commit record names the database where wal_level is logical; its records always do. */
    private static int databaseOf(Arena arena) {
        RawRecord first = new RawRecord();
        return new ArenaCursor(arena, null).next(first) ? first.databaseOid() : 0;
    }

    /** Of a top-level transaction, or of a subtransaction with those that had joined it. */
    private void onAbort() {
        Rollback rollback = new Rollback();
        rollback.unlink(end.xid());
        for (int i = 0; i < end.subxactCount(); i++) {
            rollback.unlink(end.subxact(i));
            dropOwn(end.subxact(i));
        }
        if (open.find(end.xid()) != null) {
            TransactionCounters.add(counters.aborted, 1);
            dropOwn(end.xid());
        }
        rollback.apply(end.xid());
    }

    private void dropOwn(int xid) {
        OpenTransaction own = open.find(xid);
        if (own != null) {
            open.drop(own);
        }
    }

    /** The part of one top-level transaction's arena that a subtransaction's rollback frees. */
    private final class Rollback {
        private @Nullable OpenTransaction topLevel;
        private long position = Long.MAX_VALUE;

        void unlink(int xid) {
            SubtransactionLink link = open.unlink(xid);
            if (link != null) {
                topLevel = link.topLevel();
                position = Math.min(position, link.position());
            }
        }

        void apply(int xid) {
            OpenTransaction owner = topLevel;
            if (owner != null && !owner.ended) {
                owner.speculative().forgetFrom(xid);
                owner.arena().rollBack(position, xid);
                TransactionCounters.add(counters.rolledBackSubtransactions, 1);
            }
        }
    }

    // ---- transactions that a crash left without an end record

    private void onStandbyRecord(WalRecord record) {
        if ((record.info() & XLogLayout.XLR_RMGR_INFO_MASK)
                != RunningXactsRecord.XLOG_RUNNING_XACTS) {
            note(record);
            return;
        }
        running.wrap(record);
        open.vanishBefore(running.oldestRunningXid());
    }

    private void onXlogRecord(WalRecord record) {
        switch (record.info() & XLogLayout.XLR_RMGR_INFO_MASK) {
            case XLogLayout.XLOG_CHECKPOINT_SHUTDOWN, XLogLayout.XLOG_END_OF_RECOVERY ->
                    open.vanishAll();
            case XLogLayout.XLOG_PARAMETER_CHANGE -> onParameterChange(record);
            default -> note(record);
        }
    }

    private void onParameterChange(WalRecord record) {
        parameters.wrap(record);
        int level = parameters.walLevel();
        if (level < ParameterChangeRecord.WAL_LEVEL_LOGICAL) {
            throw new HaltException(
                    TransactionCodes.WAL_LEVEL_LOWERED,
                    "the source was started with wal_level = "
                            + (level == ParameterChangeRecord.WAL_LEVEL_REPLICA
                                    ? "replica"
                                    : "minimal")
                            + ", expected logical, at "
                            + Lsn.format(record.lsn())
                            + ": from there on its WAL does not hold every row. Set wal_level ="
                            + " logical, restart the source, and load the tables again.");
        }
    }
}
