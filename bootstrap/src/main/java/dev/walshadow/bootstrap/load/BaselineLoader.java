package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.MemoryBudget;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.HeapFileSink;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Takes the heap files of a base backup and delivers their rows as of B to the {@link
 * BaselineSink}, with bounded memory whatever their number and the order of files.
 *
 * <pre>
 * backup thread: bytes -> page batches -> bounded queue -> walkers -> baseline chunks -> sink
 *                                                      \-> spool: rows with out-of-line values
 *                                                      \-> spool: deferred rows
 *                                                      \-> TOAST store
 * finish: seal the TOAST store, deliver the spooled rows, make the deferred rows durable
 * </pre>
 */
public final class BaselineLoader implements HeapFileSink, AutoCloseable {
    /** Asks the source; each walker has a session of its own. */
    public interface Sessions {
        Connection open() throws SQLException;
    }

    /**
     * @param directory for spool files and the deferred rows; exists
     * @param startMicros the backup's start, PostgreSQL epoch: {@code _commit_ts} of the rows
     * @param walkers threads that walk pages, at least 1
     * @param memoryBytes bound on chunks that the sink has not given back
     */
    public record Options(
            Path directory,
            long systemIdentifier,
            int databaseOid,
            long startMicros,
            int walkers,
            long memoryBytes) {}

    private static final int SEGMENT_BLOCKS = 131_072;
    private static final int CHUNK_BYTES = 1 << 20;
    private static final int QUEUED_BATCHES = 8;

    private final Options options;
    private final BaselineSink sink;
    private final Sessions sessions;
    private final Map<RelationLocator, LoadedRelation> relations = new HashMap<>();
    private final ToastStore toast;
    private final SpoolFile externals;
    private final SpoolFile deferred;
    private final BlockingQueue<PageBatch> queue = new ArrayBlockingQueue<>(QUEUED_BATCHES);
    private final BlockingQueue<PageBatch> free;
    private final List<Thread> threads = new ArrayList<>();
    private final MemoryBudget memory;
    private final AtomicLong lastSubmitted = new AtomicLong();
    private final LongAdder rows = new LongAdder();
    private final LongAdder pages = new LongAdder();

    private @Nullable BackupSnapshot snapshot;
    private volatile @Nullable Throwable failure;

    // the file that streams by; backup thread
    private @Nullable LoadedRelation current;
    private @Nullable PageBatch batch;
    private int nextBlock;

    /** Ends a walker. */
    private static final PageBatch END = new PageBatch();

    public BaselineLoader(
            Options options,
            Collection<RelationDescriptor> tables,
            Collection<RelationDescriptor> toastRelations,
            BaselineSink sink,
            Sessions sessions) {
        this.options = options;
        this.sink = sink;
        this.sessions = sessions;
        for (RelationDescriptor table : tables) {
            add(table, false);
        }
        for (RelationDescriptor relation : toastRelations) {
            add(relation, true);
        }
        toast = new ToastStore(options.directory());
        externals = new SpoolFile(options.directory().resolve("externals"));
        deferred = new SpoolFile(options.directory().resolve("deferred-spool"));
        memory = new MemoryBudget(options.memoryBytes());
        free = new ArrayBlockingQueue<>(QUEUED_BATCHES + options.walkers() + 1);
        for (int i = 0; i < QUEUED_BATCHES + options.walkers() + 1; i++) {
            free.add(new PageBatch());
        }
    }

    private void add(RelationDescriptor relation, boolean isToast) {
        RelationLocator locator = relation.locator();
        if (locator != null) {
            relations.put(locator, new LoadedRelation(relation, locator, isToast));
        }
    }

    /** The files may come: {@code known} says which transactions were open at B. */
    public void start(BackupSnapshot known) {
        snapshot = known;
        for (int i = 0; i < options.walkers(); i++) {
            threads.add(Thread.ofPlatform().name("page-walker-" + i).start(this::work));
        }
    }

    /** Rows found so far. */
    public long rows() {
        return rows.sum();
    }

    /** Pages walked so far. */
    public long pages() {
        return pages.sum();
    }

    // ---- backup thread

    @Override
    public boolean wants(RelationLocator locator) {
        return relations.containsKey(locator);
    }

    @Override
    public void begin(RelationLocator locator, int segmentNumber, long fileSize)
            throws InterruptedException {
        current = Objects.requireNonNull(relations.get(locator), "a wanted relation");
        nextBlock = segmentNumber * SEGMENT_BLOCKS;
        batch = fresh();
    }

    private PageBatch fresh() throws InterruptedException {
        PageBatch next = null;
        while (next == null) {
            throwIfFailed();
            next = free.poll(100, TimeUnit.MILLISECONDS);
        }
        next.length = 0;
        next.firstBlock = nextBlock;
        next.relation = current;
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
            PageWalker walker =
                    new PageWalker(known, new TransactionStatuses(session), toast, chunks);
            for (PageBatch next = queue.take(); next != END; next = queue.take()) {
                LoadedRelation relation =
                        Objects.requireNonNull(next.relation, "pages belong to a relation");
                walker.walk(relation, next.bytes, next.length, next.firstBlock);
                pages.add(next.length / HeapPage.SIZE);
                free.add(next);
            }
            queue.put(END);
            chunks.submit();
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
        public void spool(byte[] record, int length) {
            synchronized (externals) {
                externals.append(record, 0, length);
            }
        }

        @Override
        public void defer(int inserter, int deleter, byte[] record, int length) {
            byte[] header = new byte[8];
            LittleEndian.putInt(header, 0, inserter);
            LittleEndian.putInt(header, 4, deleter);
            synchronized (deferred) {
                deferred.append(header, 0, header.length);
                deferred.append(record, 0, length);
            }
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
     * @return per damaged table, or table with a damaged TOAST relation, what is wrong with it;
     *     such a table's baseline is not complete
     */
    public Map<Integer, String> finish() throws InterruptedException {
        enqueue(END);
        for (Thread thread : threads) {
            thread.join();
        }
        throwIfFailed();
        toast.seal();
        sink.toastReady(toast.values());
        deliverExternals();
        keepDeferred();
        sink.await(lastSubmitted.get());
        Map<Integer, String> damaged = new HashMap<>();
        for (LoadedRelation relation : relations.values()) {
            String damage = relation.damage();
            if (damage != null) {
                damaged.putIfAbsent(relation.tableOid(), damage);
            }
        }
        for (LoadedRelation relation : relations.values()) {
            if (!relation.isToast() && !damaged.containsKey(relation.oid())) {
                sink.tableComplete(options.databaseOid(), relation.oid());
            }
        }
        return damaged;
    }

    private interface SpooledRecord {
        void record(byte[] bytes, int offset, int length) throws InterruptedException;
    }

    /** Reads records of a spool, each behind {@code headerLength} bytes of its own. */
    private static void readSpool(SpoolFile spool, int headerLength, SpooledRecord consumer)
            throws InterruptedException {
        spool.flush();
        byte[] buffer = new byte[HeapPage.SIZE * 4];
        long end = spool.length();
        for (long at = 0; at < end; ) {
            int there = (int) Math.min(buffer.length, end - at);
            spool.read(at, buffer, 0, there);
            int from = 0;
            while (there - from >= headerLength + Integer.BYTES) {
                int length = headerLength + LittleEndian.getInt(buffer, from + headerLength);
                if (length > there - from) {
                    break;
                }
                consumer.record(buffer, from, length);
                from += length;
            }
            Invariant.check(from > 0, "a spooled record fits the buffer");
            at += from;
        }
    }

    private void deliverExternals() throws InterruptedException {
        ByteBuilder chunk = new ByteBuilder(CHUNK_BYTES);
        long[] records = new long[1];
        readSpool(
                externals,
                0,
                (bytes, offset, length) -> {
                    chunk.putBytes(bytes, offset, length);
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

    private void keepDeferred() throws InterruptedException {
        if (deferred.length() == 0) {
            return;
        }
        BackupSnapshot known = Objects.requireNonNull(snapshot, "the loader was started");
        DeferredFile file = new DeferredFile(options.directory(), options.systemIdentifier());
        ToastValues values = toast.values();
        ByteBuilder payload = new ByteBuilder(HeapPage.SIZE);
        RawRecord record = new RawRecord();
        try (DeferredFile.Writer writer = file.new Writer(known, options.startMicros())) {
            readSpool(
                    deferred,
                    8,
                    (bytes, offset, length) -> {
                        payload.clear();
                        payload.putBytes(bytes, offset, 8);
                        payload.putInt(length - 8);
                        payload.putBytes(bytes, offset + 8, length - 8);
                        record.wrap(payload.array(), 12);
                        attach(record, values, payload);
                        writer.add(payload);
                    });
            writer.finish();
        }
    }

    /** Appends the record's out-of-line values; after it the record is invalid. */
    private void attach(RawRecord record, ToastValues values, ByteBuilder payload) {
        RelationLocator locator =
                new RelationLocator(
                        record.tablespaceOid(), record.databaseOid(), record.relationNumber());
        LoadedRelation relation = relations.get(locator);
        if (relation == null) {
            return;
        }
        try {
            ExternalValues.append(relation.layout(), record, values, payload);
        } catch (QuarantineException e) {
            relation.damaged("a row of " + relation.label() + ": " + e.getMessage());
        }
    }

    /** Stops the walkers and removes the spool files; the deferred rows stay. */
    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
        for (Thread thread : threads) {
            joinUninterruptibly(thread);
        }
        externals.close();
        deferred.close();
        toast.close();
    }

    private static void joinUninterruptibly(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Removes what an unfinished load left. */
    public static void clear(Path directory) {
        try (var files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot clear " + directory, e);
        }
    }
}
