package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.MemoryBudget;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.wal.BlockImage;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * Takes the heap files of a base backup and delivers their rows as of B to the {@link
 * BaselineSink}, with bounded memory whatever their number and the order of files.
 *
 * <pre>
 * backup thread: bytes -> page batches -> bounded queue -> walkers -> baseline chunks -> sink
 * WAL pump: touched blocks -> images, on disk ---------/      \-> spool: rows with TOAST values
 *                                                              \-> spool: deferred rows
 *                                                              \-> TOAST store
 * finish: walk the last images, seal the TOAST store, deliver the spooled rows, make the deferred
 *         rows durable
 * </pre>
 *
 * <p>A walker that has a batch of the backup waits until the WAL has been read as far as it was
 * written when the batch had arrived, and leaves out the blocks that the WAL has touched.
 */
public final class BaselineLoader implements HeapFileSink, AutoCloseable {
    /** Asks the source; each walker has a session of its own. */
    public interface Sessions {
        Connection open() throws SQLException;
    }

    /**
     * @param directory for spool files and the deferred rows; exists
     * @param startLsn B; an interrupted load that began there is gone on with
     * @param startMicros the backup's start, PostgreSQL epoch: {@code _commit_ts} of the rows
     * @param walkers threads that walk pages, at least 1
     * @param memoryBytes bound on chunks that the sink has not given back
     * @param checksums whether the source's pages have checksums
     */
    public record Options(
            Path directory,
            long systemIdentifier,
            int databaseOid,
            long startLsn,
            long startMicros,
            int walkers,
            long memoryBytes,
            boolean checksums) {}

    /**
     * How the WAL since B is followed.
     *
     * @param touched told of every record before {@code gate} is told of its position
     * @param insertPosition where the source's next record will be
     * @param copiedBefore what every page was copied before, of a backup that is finished: its file
     *     of every relation must then be there. Empty: the source is asked
     */
    public record WalSinceStart(
            TouchedBlocks touched,
            WalGate gate,
            OpenTransactions open,
            DeferredDelivery.Positions insertPosition,
            OptionalLong copiedBefore) {
        /** Of a backup that is being taken. */
        public WalSinceStart(
                TouchedBlocks touched,
                WalGate gate,
                OpenTransactions open,
                DeferredDelivery.Positions insertPosition) {
            this(touched, gate, open, insertPosition, OptionalLong.empty());
        }
    }

    /**
     * What did not go well, by table; the table of a TOAST relation is its owner.
     *
     * @param damaged what is wrong with the source's files: their baseline is not complete
     * @param doubtful why rows may be wrong although nothing is damaged: to be loaded anew
     */
    public record Outcome(Map<Integer, String> damaged, Map<Integer, String> doubtful) {}

    private static final int SEGMENT_BLOCKS = 131_072;
    private static final int CHUNK_BYTES = 1 << 20;
    private static final int QUEUED_BATCHES = 16;
    private static final long POLL_MILLIS = 20;

    /** Before a spooled row with values out of line: its deleter that was open at B. */
    private static final int SPOOL_HEADER = Integer.BYTES;

    /** Positions are compared unsigned. */
    private static final long LAST_POSITION = -1;

    private final Options options;
    private final BaselineSink sink;
    private final Sessions sessions;
    private final WalSinceStart wal;
    private final SourcePosition sourcePosition = new SourcePosition();
    private final ImageSpool images;
    private final Map<RelationLocator, LoadedRelation> relations = new HashMap<>();
    private final ToastStore toast;
    private final SpoolFile externals;
    private final DeferredSpool deferred;

    /** Walkers, each between two batches, against who keeps how far they are. */
    private final ReentrantReadWriteLock walking = new ReentrantReadWriteLock();

    /** What the walkers have not handed on yet. */
    private final Set<Chunks> unsent = ConcurrentHashMap.newKeySet();

    private final LoadCheckpoints checkpoints;
    private final long blocksKept;
    private final BlockingQueue<PageBatch> queue = new ArrayBlockingQueue<>(QUEUED_BATCHES);
    private final BlockingQueue<PageBatch> free;
    private final List<Thread> threads = new ArrayList<>();
    private final MemoryBudget memory;
    private final AtomicLong lastSubmitted = new AtomicLong();
    private final LongAdder rows = new LongAdder();
    private final LongAdder pages = new LongAdder();

    private @Nullable BackupSnapshot snapshot;
    private volatile @Nullable Throwable failure;

    /** A walker has ended within a batch: what there is cannot be kept. */
    private volatile boolean halfDone;

    // the file that streams by; backup thread
    private @Nullable LoadedRelation current;
    private @Nullable PageBatch batch;
    private int firstBlock;
    private int nextBlock;

    /** The last batch of the backup is in the queue, or was. */
    private volatile boolean allArrived;

    /** Ends a walker. */
    private static final PageBatch END = new PageBatch();

    public BaselineLoader(
            Options options,
            Collection<RelationDescriptor> tables,
            Collection<RelationDescriptor> toastRelations,
            BaselineSink sink,
            Sessions sessions,
            WalSinceStart wal) {
        this.options = options;
        this.sink = sink;
        this.sessions = sessions;
        this.wal = wal;
        List<LoadedRelation> byIndex = new ArrayList<>();
        tables.forEach(table -> add(table, false, byIndex));
        toastRelations.forEach(relation -> add(relation, true, byIndex));
        images = new ImageSpool(options.directory().resolve("images"), byIndex);
        byIndex.forEach(relation -> wal.touched().add(relation, images));
        LoadCheckpoint kept =
                LoadCheckpoint.read(
                        options.directory(), options.systemIdentifier(), options.startLsn());
        kept.relations()
                .forEach((locator, done) -> {
                    LoadedRelation relation = relations.get(locator);
                    if (relation != null) {
                        relation.restore(done);
                        rows.add(done.rows());
                    }
                });
        blocksKept = kept.blocks();
        toast = new ToastStore(options.directory(), kept.toast());
        externals = new SpoolFile(options.directory().resolve("externals"), kept.externals());
        deferred = new DeferredSpool(options.directory(), kept, wal.touched().speculative());
        checkpoints =
                new LoadCheckpoints(
                        options.directory(),
                        options.systemIdentifier(),
                        sink,
                        this::checkpoint,
                        this::forceSpools);
        memory = new MemoryBudget(options.memoryBytes());
        free = new ArrayBlockingQueue<>(QUEUED_BATCHES + options.walkers() + 1);
        for (int i = 0; i < QUEUED_BATCHES + options.walkers() + 1; i++) {
            free.add(new PageBatch());
        }
    }

    private void add(RelationDescriptor relation, boolean isToast, List<LoadedRelation> byIndex) {
        RelationLocator locator = relation.locator();
        if (locator != null) {
            LoadedRelation loaded = new LoadedRelation(byIndex.size(), relation, locator, isToast);
            byIndex.add(loaded);
            relations.put(locator, loaded);
        }
    }

    /** The files may come: {@code known} says which transactions were open at B. */
    public void start(BackupSnapshot known) {
        snapshot = known;
        startWalkers();
        checkpoints.start();
    }

    private void startWalkers() {
        for (int i = 0; i < options.walkers(); i++) {
            threads.add(Thread.ofPlatform().name("page-walker-" + i).start(this::work));
        }
    }

    private void joinWalkers() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        threads.clear();
        throwIfFailed();
    }

    /** Rows found so far. */
    public long rows() {
        return rows.sum();
    }

    /** Blocks that an earlier process had walked, and that are not walked again. */
    public long blocksKept() {
        return blocksKept;
    }

    /** Pages walked so far by this process, images included. */
    public long pages() {
        return pages.sum();
    }

    /** Blocks so far whose image in the WAL took the place of their page in the backup. */
    public long images() {
        return images.count();
    }

    // ---- backup thread

    @Override
    public boolean wants(RelationLocator locator) {
        return relations.containsKey(locator);
    }

    @Override
    public void begin(RelationLocator locator, int segmentNumber, long fileSize)
            throws InterruptedException {
        LoadedRelation relation =
                Objects.requireNonNull(relations.get(locator), "a wanted relation");
        relation.arrived();
        current = relation;
        firstBlock = segmentNumber * SEGMENT_BLOCKS;
        nextBlock = firstBlock;
        batch = fresh();
    }

    @Override
    public void skipTo(int block) throws InterruptedException {
        end();
        nextBlock = firstBlock + block;
        batch = fresh();
    }

    private PageBatch fresh() throws InterruptedException {
        PageBatch next = null;
        while (next == null) {
            throwIfFailed();
            next = free.poll(100, TimeUnit.MILLISECONDS);
        }
        next.clear();
        next.ofFile(Objects.requireNonNull(current, "a file has begun"), nextBlock);
        return next;
    }

    @Override
    public void data(byte[] bytes, int offset, int length) throws InterruptedException {
        int from = offset;
        int end = offset + length;
        while (from < end) {
            PageBatch into = Objects.requireNonNull(batch, "data comes within a file");
            int count = Math.min(end - from, PageBatch.BYTES - into.length);
            System.arraycopy(bytes, from, into.bytes, into.length, count);
            into.length += count;
            from += count;
            if (into.length == PageBatch.BYTES) {
                nextBlock += PageBatch.PAGES;
                into.arrivedNanos = System.nanoTime();
                enqueue(into);
                batch = fresh();
            }
        }
    }

    /** A page that was cut short grew while it was copied: the WAL has all of it. */
    @Override
    public void end() throws InterruptedException {
        PageBatch last = Objects.requireNonNull(batch, "a file has begun");
        batch = null;
        last.length -= last.length % HeapPage.SIZE;
        last.arrivedNanos = System.nanoTime();
        enqueue(last);
    }

    private void enqueue(PageBatch full) throws InterruptedException {
        while (!queue.offer(full, 100, TimeUnit.MILLISECONDS)) {
            throwIfFailed();
        }
    }

    private void throwIfFailed() {
        switch (failure) {
            case null -> {}
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case Throwable e -> throw new IllegalStateException(e);
        }
    }

    // ---- walkers

    private void work() {
        BackupSnapshot known = Objects.requireNonNull(snapshot, "the loader was started");
        try (Connection session = sessions.open()) {
            Chunks chunks = new Chunks();
            BatchWalker walker =
                    new BatchWalker(
                            new PageWalker(
                                    known,
                                    wal.open(),
                                    new TransactionStatuses(session),
                                    toast,
                                    chunks,
                                    sink.wantsChunks()),
                            session,
                            wal,
                            sourcePosition,
                            options.checksums());
            BlockImage restorer = new BlockImage();
            PageBatch own = new PageBatch();
            unsent.add(chunks);
            for (PageBatch next = next(own, restorer); next != END; next = next(own, restorer)) {
                walk(walker, next, next == own);
                pages.add(next.pages());
                if (next != own) {
                    free.add(next);
                }
            }
            walking.readLock().lockInterruptibly();
            try {
                chunks.submit();
                unsent.remove(chunks);
            } finally {
                walking.readLock().unlock();
            }
        } catch (InterruptedException e) {
            failure = new IllegalStateException("a page walker was interrupted", e);
        } catch (SQLException e) {
            failure =
                    new RetryException(
                            BootstrapCodes.SOURCE_QUERY,
                            "the source could not be asked how transactions ended: "
                                    + e.getMessage()
                                    + "; the initial load is tried again",
                            e);
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    /** Whoever keeps how far the walkers are finds none of them within a batch. */
    private void walk(BatchWalker walker, PageBatch batch, boolean ofImages)
            throws InterruptedException {
        if (!ofImages) {
            walker.await(batch);
        }
        walking.readLock().lockInterruptibly();
        boolean whole = false;
        try {
            if (ofImages) {
                walker.walkImages(batch);
            } else {
                walker.walkFile(batch);
            }
            whole = true;
        } finally {
            halfDone |= !whole;
            walking.readLock().unlock();
        }
    }

    /** How far the walkers are; null if that cannot be told. */
    private LoadCheckpoints.@Nullable State checkpoint() throws InterruptedException {
        walking.writeLock().lockInterruptibly();
        try {
            if (halfDone) {
                return null;
            }
            for (Chunks each : unsent) {
                each.submit();
            }
            externals.flush();
            Map<RelationLocator, LoadCheckpoint.Done> done = new HashMap<>();
            relations.forEach((locator, relation) -> done.put(locator, relation.done()));
            return new LoadCheckpoints.State(
                    lastSubmitted.get(),
                    pages.sum(),
                    new LoadCheckpoint(
                            options.startLsn(),
                            externals.length(),
                            deferred.flushed(),
                            deferred.speculators(),
                            toast.keep(),
                            done));
        } finally {
            walking.writeLock().unlock();
        }
    }

    private void forceSpools() {
        externals.force();
        deferred.force();
        toast.force();
    }

    /** Pages of the backup first: they hold it back. {@code own} takes images. */
    private PageBatch next(PageBatch own, BlockImage restorer) throws InterruptedException {
        while (true) {
            boolean all = allArrived; // asked before the queue is found empty
            PageBatch next = queue.poll();
            if (next != null) {
                return next;
            }
            if (images.take(own, restorer)) {
                return own;
            }
            next = all ? END : queue.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
            if (next != null) {
                return next;
            }
        }
    }

    private BaselineChunk.Origin origin() {
        long start = Objects.requireNonNull(snapshot, "the loader was started").startLsn();
        return new BaselineChunk.Origin(
                0, options.databaseOid(), start, start, options.startMicros());
    }

    private static final ToastValues NO_VALUES = (_, _, _) -> false;

    /** Collects one walker's rows into chunks. */
    private final class Chunks implements PageWalker.Output {
        private final ByteBuilder buffer = new ByteBuilder(CHUNK_BYTES + HeapPage.SIZE * 4);
        private long records;

        @Override
        public ByteBuilder rows() {
            records++;
            return buffer;
        }

        @Override
        public void pageDone(LoadedRelation relation, long found) throws InterruptedException {
            relation.addRows(found);
            rows.add(found);
            if (buffer.length() >= CHUNK_BYTES) {
                submit();
            }
        }

        void submit() throws InterruptedException {
            if (buffer.length() > 0) {
                deliver(buffer.toByteArray(), records, false);
            }
            buffer.clear();
            records = 0;
        }

        @Override
        public void spool(int deleter, byte[] record, int length) {
            byte[] header = new byte[SPOOL_HEADER];
            LittleEndian.putInt(header, 0, deleter);
            synchronized (externals) {
                externals.append(header, 0, header.length);
                externals.append(record, 0, length);
            }
        }

        @Override
        public void speculative(int inserter) {
            deferred.speculative(inserter);
        }

        @Override
        public void defer(int inserter, int deleter, byte[] record, int length) {
            deferred.defer(inserter, deleter, record, length);
        }
    }

    private void deliver(byte[] bytes, long records, boolean withToast)
            throws InterruptedException {
        memory.reserve(bytes.length);
        BaselineChunk chunk =
                new BaselineChunk(
                        origin(),
                        bytes,
                        bytes.length,
                        records,
                        () -> withToast ? toast.values() : NO_VALUES,
                        () -> memory.release(bytes.length));
        long number = sink.submit(chunk);
        lastSubmitted.accumulateAndGet(number, Math::max);
    }

    // ---- after the last file

    /**
     * Walks what is left, delivers every row and waits until all are durable; the deferred rows are
     * durable in the directory.
     *
     * @param end E, where the backup ended
     */
    public Outcome finish(long end) throws InterruptedException {
        allArrived = true;
        joinWalkers();
        // every block of the backup is claimed: no further image can be wanted
        images.seal();
        startWalkers();
        joinWalkers();
        checkpoints.last();
        toast.seal();
        sink.toastReady(toast.values());
        deliverExternals(end);
        keepDeferred();
        sink.await(lastSubmitted.get());
        Outcome outcome = outcome(end);
        for (LoadedRelation relation : relations.values()) {
            if (!relation.isToast() && !outcome.damaged().containsKey(relation.oid())) {
                sink.tableComplete(options.databaseOid(), relation.oid());
            }
        }
        return outcome;
    }

    private Outcome outcome(long end) {
        Map<Integer, String> damaged = new HashMap<>();
        Map<Integer, String> doubtful = new HashMap<>();
        for (LoadedRelation relation : relations.values()) {
            if (relation.isGone()) {
                // what became of the table comes with the catalogs
                continue;
            }
            String damage = relation.damage();
            if (damage != null) {
                damaged.putIfAbsent(relation.tableOid(), damage);
            }
            String doubt = relation.doubt(end);
            if (doubt == null && wal.copiedBefore().isPresent() && !relation.hasArrived()) {
                doubt = "the backup has no file of " + relation.label();
            }
            if (doubt != null) {
                doubtful.putIfAbsent(relation.tableOid(), doubt);
            }
        }
        doubtful.keySet().removeAll(damaged.keySet());
        return new Outcome(damaged, doubtful);
    }

    private void deliverExternals(long end) throws InterruptedException {
        ByteBuilder chunk = new ByteBuilder(CHUNK_BYTES);
        long[] records = new long[1];
        RawRecord record = new RawRecord();
        externals.records(
                SPOOL_HEADER,
                (bytes, offset, length) -> {
                    record.wrap(bytes, offset + SPOOL_HEADER);
                    if (areValuesGone(record, LittleEndian.getInt(bytes, offset), end)) {
                        return;
                    }
                    chunk.putBytes(bytes, offset + SPOOL_HEADER, length - SPOOL_HEADER);
                    records[0]++;
                    if (chunk.length() >= CHUNK_BYTES) {
                        deliver(chunk.toByteArray(), records[0], true);
                        chunk.clear();
                        records[0] = 0;
                    }
                });
        if (chunk.length() > 0) {
            deliver(chunk.toByteArray(), records[0], true);
        }
    }

    /**
     * Whether a row's values out of line were taken away by right, so that the row is of no use:
     * its table's files were removed, or the transaction that was deleting it at B has committed
     * and VACUUM came before the copying. Any other row without its values is damaged, and for the
     * sink to refuse.
     */
    private boolean areValuesGone(RawRecord record, int deleter, long end)
            throws InterruptedException {
        LoadedRelation relation = relations.get(DeferredSpool.locator(record));
        if (relation == null) {
            return false;
        }
        try {
            if (ExternalValues.areAllIn(toast, relation.layout(), record)) {
                return false;
            }
        } catch (QuarantineException e) {
            return false; // the sink says what is wrong with it
        }
        wal.gate().await(end);
        return areFilesGone(relation)
                || (BackupSnapshot.isTransaction(deleter)
                        && wal.open().committedBefore(deleter, LAST_POSITION));
    }

    /** Those of the table, or of its TOAST relation. */
    private boolean areFilesGone(LoadedRelation table) {
        return relations.values().stream()
                .anyMatch(each -> each.tableOid() == table.oid() && each.isGone());
    }

    private void keepDeferred() throws InterruptedException {
        DeferredFile file = new DeferredFile(options.directory(), options.systemIdentifier());
        if (deferred.flushed() == 0) {
            file.delete(); // of an attempt that was interrupted behind this
            return;
        }
        BackupSnapshot known = Objects.requireNonNull(snapshot, "the loader was started");
        try (DeferredFile.Writer writer = file.new Writer(known, options.startMicros())) {
            deferred.keep(writer, relations, toast, sink.valueBytes());
        }
    }

    /** Whether an earlier process kept in this directory how far a load was. */
    public static boolean isKept(Path directory) {
        return LoadCheckpoint.exists(directory);
    }

    /** The load is done: of the spool files only those with the values out of line are left. */
    public void keepValues() {
        stop();
        images.close();
        externals.close();
        deferred.close();
    }

    /** The load is done or void: removes the spool files; the deferred rows stay. */
    @Override
    public void close() {
        keepValues();
        toast.close();
        checkpoints.remove();
    }

    /** The load is interrupted: what was kept of it stays for {@link Options#startLsn}. */
    public void leave() {
        stop();
        images.close();
        externals.leave();
        deferred.leave();
        toast.leave();
    }

    private void stop() {
        checkpoints.close();
        threads.forEach(Thread::interrupt);
        for (Thread thread : threads) {
            joinUninterruptibly(thread);
        }
    }

    private static void joinUninterruptibly(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
