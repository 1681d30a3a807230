package dev.walshadow.pipeline;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.pipeline.ItemsTable.Big;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.transaction.ChunkCursor;
import dev.walshadow.transaction.CommittedChanges;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.RawRecordLayout;
import dev.walshadow.transaction.RecordCursor;
import dev.walshadow.transaction.ToastValues;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A committed transaction made of real record bytes. Records get LSNs 8 apart. */
final class TestTransaction implements CommittedChanges {
    private final int xid;
    private final long firstLsn;
    private final ByteBuilder records = new ByteBuilder(1024);
    private final Map<Integer, byte[]> toast = new HashMap<>();

    /** By value id the number of the first chunk, where it is not 0. */
    private final Map<Integer, Integer> firstChunks = new HashMap<>();

    private boolean stable = true;
    private boolean baseline;
    private long nextLsn;
    private long position;
    private long micros;
    private int count;
    private int block0;
    private int block1 = -1;
    private boolean closed;
    private long bytes;
    private final Map<Integer, Step> interruptions = new HashMap<>();
    private @Nullable Set<RelationLocator> relations = new HashSet<>();

    TestTransaction(int xid, long firstLsn) {
        this.xid = xid;
        this.firstLsn = firstLsn;
        this.nextLsn = firstLsn;
    }

    /** A transaction whose first record is at {@code lsn}. */
    static TestTransaction at(long lsn) {
        return new TestTransaction(700, lsn);
    }

    /** Rows of the initial load at B. */
    static TestTransaction baseline(long b) {
        TestTransaction chunk = new TestTransaction(0, b);
        chunk.baseline = true;
        chunk.nextLsn = 0;
        return chunk.committed(b, 0);
    }

    /** Rows that the backup had of a transaction that was open at its start. */
    TestTransaction ofBackup() {
        baseline = true;
        return this;
    }

    /** Chunks are overwritten by the next record, as when spilled. */
    TestTransaction spilled() {
        stable = false;
        return this;
    }

    /** As if it had so many bytes that others may pass it. */
    TestTransaction large() {
        bytes = PlanOrder.LARGE_BYTES;
        return this;
    }

    /** What happens in the middle of the reading. */
    interface Step {
        void run() throws Exception;
    }

    /** The step comes when so many records have been read. */
    TestTransaction interrupted(int after, Step step) {
        interruptions.put(after, step);
        return this;
    }

    TestTransaction committed(long commitPosition, long commitMicros) {
        position = commitPosition;
        micros = commitMicros;
        return this;
    }

    long nextLsn() {
        return nextLsn;
    }

    boolean isClosed() {
        return closed;
    }

    TestTransaction toast(int valueId, String text) {
        toast.put(valueId, text.getBytes(StandardCharsets.UTF_8));
        return this;
    }

    /** Of a value that began before the stream: what comes from this chunk on. */
    TestTransaction toastTail(int valueId, int firstChunk, String text) {
        firstChunks.put(valueId, firstChunk);
        return toast(valueId, text);
    }

    /** A chunk as it is inserted into the table's TOAST relation; {@link #toast} finds it not. */
    TestTransaction chunk(ItemsTable table, int valueId, int sequence, String text, Place at) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteBuilder main = new ByteBuilder(16);
        main.putShort(at.offset());
        main.putByte(XLH_INSERT_CONTAINS_NEW_TUPLE | XLH_INSERT_ON_TOAST_RELATION);
        ByteBuilder data = new ByteBuilder(64);
        data.putShort(3); // attributes
        data.putShort(2); // HEAP_HASVARWIDTH
        data.putByte(24); // t_hoff
        data.putZeros(1);
        data.putInt(valueId);
        data.putInt(sequence);
        data.putInt((bytes.length + 4) << 2);
        data.putBytes(bytes);
        block0 = at.block();
        long lsn = nextLsn;
        boolean loaded = baseline;
        baseline = false; // it has its insertion's record in any case
        record(table.toastLocator(), ResourceManager.HEAP, XLOG_HEAP_INSERT, main, data);
        baseline = loaded;
        nextLsn = loaded ? lsn : nextLsn;
        return this;
    }

    TestTransaction insert(ItemsTable table, long id, @Nullable String text, Big big, int n) {
        ByteBuilder main = new ByteBuilder(16);
        main.putShort(1 + count % 100);
        if (!baseline) {
            main.putByte(XLH_INSERT_CONTAINS_NEW_TUPLE);
        }
        ByteBuilder data = new ByteBuilder(64);
        table.appendTuple(data, id, text, big, n);
        return record(table.locator(), ResourceManager.HEAP, XLOG_HEAP_INSERT, main, data);
    }

    /** An INSERT as wal_level = replica logs it beside a page image. */
    TestTransaction insertWithoutTuple(ItemsTable table) {
        ByteBuilder main = new ByteBuilder(16);
        main.putShort(1);
        main.putByte(0);
        ByteBuilder data = new ByteBuilder(16);
        return record(table.locator(), ResourceManager.HEAP, XLOG_HEAP_INSERT, main, data);
    }

    /** Rows (id, text, n) in one record. */
    TestTransaction multiInsert(ItemsTable table, List<Long> ids, String text, int n) {
        ByteBuilder main = new ByteBuilder(16);
        main.putByte(XLH_INSERT_CONTAINS_NEW_TUPLE);
        main.putByte(0);
        main.putShort(ids.size());
        ByteBuilder data = new ByteBuilder(64);
        for (int i = 0; i < ids.size(); i++) {
            main.putShort(i + 1);
            table.appendMulti(data, 0, ids.get(i), text, Big.inline("m"), n);
        }
        return record(table.locator(), ResourceManager.HEAP2, XLOG_HEAP2_MULTI_INSERT, main, data);
    }

    /**
     * @param oldId null if the key is not logged: unchanged
     */
    TestTransaction update(
            ItemsTable table,
            @Nullable Long oldId,
            long id,
            @Nullable String text,
            Big big,
            int n) {
        ByteBuilder main = new ByteBuilder(16);
        main.putZeros(UPDATE_LENGTH);
        int flags = XLH_UPDATE_CONTAINS_NEW_TUPLE;
        LittleEndian.putShort(main.array(), UPDATE_NEW_OFFNUM, updated(nextLsn).offset());
        if (oldId != null) {
            flags |= XLH_UPDATE_CONTAINS_OLD_KEY;
            table.appendKey(main, oldId);
        }
        main.array()[UPDATE_FLAGS] = (byte) flags;
        ByteBuilder data = new ByteBuilder(64);
        table.appendTuple(data, id, text, big, n);
        return record(table.locator(), ResourceManager.HEAP, XLOG_HEAP_HOT_UPDATE, main, data);
    }

    /** Where {@link #update} puts the row with the record of this LSN. */
    static Place updated(long lsn) {
        return new Place(0, 1 + (int) (lsn / 8 % 1000));
    }

    /** A place: block and offset number. */
    record Place(int block, int offset) {
        long tid() {
            return (long) block << 16 | offset;
        }
    }

    TestTransaction insertAt(Place place, ItemsTable table, long id, String text, Big big) {
        ByteBuilder main = new ByteBuilder(16);
        main.putShort(place.offset());
        if (!baseline) {
            main.putByte(XLH_INSERT_CONTAINS_NEW_TUPLE);
        }
        ByteBuilder data = new ByteBuilder(64);
        table.appendTuple(data, id, text, big, 0);
        block0 = place.block();
        return record(table.locator(), ResourceManager.HEAP, XLOG_HEAP_INSERT, main, data);
    }

    /** Rows at offsets 1, 2, ... of a fresh page. */
    TestTransaction fillPage(int block, ItemsTable table, List<Long> ids, String text) {
        ByteBuilder main = new ByteBuilder(16);
        main.putByte(XLH_INSERT_CONTAINS_NEW_TUPLE);
        main.putByte(0);
        main.putShort(ids.size());
        ByteBuilder data = new ByteBuilder(64);
        for (long id : ids) {
            table.appendMulti(data, 0, id, text, Big.inline("m"), 0);
        }
        block0 = block;
        return record(
                table.locator(),
                ResourceManager.HEAP2,
                XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE,
                main,
                data);
    }

    /** An UPDATE without an old key. */
    TestTransaction move(Place from, Place to, ItemsTable table, long id, String text, Big big) {
        ByteBuilder main = new ByteBuilder(16);
        main.putZeros(UPDATE_LENGTH);
        main.array()[UPDATE_FLAGS] = XLH_UPDATE_CONTAINS_NEW_TUPLE;
        LittleEndian.putShort(main.array(), UPDATE_OLD_OFFNUM, from.offset());
        LittleEndian.putShort(main.array(), UPDATE_NEW_OFFNUM, to.offset());
        ByteBuilder data = new ByteBuilder(64);
        table.appendTuple(data, id, text, big, 0);
        block0 = to.block();
        boolean same = from.block() == to.block();
        block1 = same ? -1 : from.block();
        int info = same ? XLOG_HEAP_HOT_UPDATE : XLOG_HEAP_UPDATE;
        return record(table.locator(), ResourceManager.HEAP, info, main, data);
    }

    TestTransaction deleteAt(Place place, ItemsTable table) {
        ByteBuilder main = new ByteBuilder(16);
        main.putZeros(DELETE_LENGTH);
        LittleEndian.putShort(main.array(), DELETE_OFFNUM, place.offset());
        block0 = place.block();
        return record(
                table.locator(), ResourceManager.HEAP, XLOG_HEAP_DELETE, main, new ByteBuilder(16));
    }

    TestTransaction delete(ItemsTable table, long id) {
        ByteBuilder main = new ByteBuilder(16);
        main.putZeros(DELETE_LENGTH);
        main.array()[DELETE_FLAGS] = XLH_DELETE_CONTAINS_OLD_KEY;
        table.appendKey(main, id);
        return record(
                table.locator(), ResourceManager.HEAP, XLOG_HEAP_DELETE, main, new ByteBuilder(16));
    }

    /** A DELETE as it is logged without a usable replica identity. */
    TestTransaction deleteWithoutKey(ItemsTable table) {
        ByteBuilder main = new ByteBuilder(16);
        main.putZeros(DELETE_LENGTH);
        return record(
                table.locator(), ResourceManager.HEAP, XLOG_HEAP_DELETE, main, new ByteBuilder(16));
    }

    TestTransaction truncate(ItemsTable... tables) {
        ByteBuilder main = new ByteBuilder(16);
        main.putInt(ItemsTable.DATABASE);
        main.putInt(tables.length);
        main.putInt(0);
        for (ItemsTable table : tables) {
            main.putInt(table.oid());
        }
        return record(null, ResourceManager.HEAP, XLOG_HEAP_TRUNCATE, main, new ByteBuilder(16));
    }

    private TestTransaction record(
            @Nullable RelationLocator locator,
            int manager,
            int info,
            ByteBuilder main,
            ByteBuilder data) {
        if (locator == null) {
            relations = null;
        } else if (relations != null) {
            relations.add(locator);
        }
        int start = records.length();
        long length = RawRecordLayout.length(main.length(), data.length());
        records.putZeros(RawRecordLayout.HEADER_LENGTH);
        records.putBytes(main.array(), 0, main.length());
        records.putBytes(data.array(), 0, data.length());
        records.putZeros((int) length - (records.length() - start));
        byte[] b = records.array();
        LittleEndian.putInt(b, start + RawRecordLayout.LENGTH_OFFSET, (int) length);
        b[start + RawRecordLayout.RESOURCE_MANAGER_OFFSET] = (byte) manager;
        b[start + RawRecordLayout.INFO_OFFSET] = (byte) info;
        int flags =
                (locator == null ? 0 : RawRecordLayout.HAS_BLOCK0)
                        | (block1 < 0 ? 0 : RawRecordLayout.HAS_BLOCK1)
                        | (baseline ? RawRecordLayout.BASELINE : 0);
        LittleEndian.putShort(b, start + RawRecordLayout.FLAGS_OFFSET, flags);
        LittleEndian.putLong(b, start + RawRecordLayout.LSN_OFFSET, nextLsn);
        LittleEndian.putInt(b, start + RawRecordLayout.XID_OFFSET, xid);
        LittleEndian.putInt(b, start + RawRecordLayout.DATABASE_OFFSET, ItemsTable.DATABASE);
        if (locator != null) {
            LittleEndian.putInt(
                    b, start + RawRecordLayout.TABLESPACE_OFFSET, locator.tablespaceOid());
            LittleEndian.putInt(
                    b, start + RawRecordLayout.RELATION_OFFSET, locator.relationNumber());
        }
        LittleEndian.putInt(b, start + RawRecordLayout.BLOCK0_OFFSET, block0);
        LittleEndian.putInt(b, start + RawRecordLayout.BLOCK1_OFFSET, block1);
        block0 = 0;
        block1 = -1;
        LittleEndian.putInt(b, start + RawRecordLayout.MAIN_LENGTH_OFFSET, main.length());
        LittleEndian.putInt(b, start + RawRecordLayout.DATA_LENGTH_OFFSET, data.length());
        count++;
        if (!baseline) {
            nextLsn += 8;
        }
        return this;
    }

    @Override
    public int xid() {
        return xid;
    }

    @Override
    public int databaseOid() {
        return ItemsTable.DATABASE;
    }

    @Override
    public long firstLsn() {
        return firstLsn;
    }

    @Override
    public long commitLsn() {
        return position - 8;
    }

    @Override
    public long commitPosition() {
        return position;
    }

    @Override
    public long commitMicros() {
        return micros;
    }

    @Override
    public RecordCursor records() {
        ChunkCursor all = new ChunkCursor(records.array(), records.length());
        RecordCursor cursor = stable ? all : new Overwriting(all);
        return interruptions.isEmpty() ? cursor : new Interrupted(cursor, interruptions);
    }

    @Override
    public ToastValues toast() {
        return new ToastValues() {
            @Override
            public boolean append(int relation, int value, ByteBuilder out) {
                byte[] bytes = toast.get(value);
                if (bytes != null && !firstChunks.containsKey(value)) {
                    out.putBytes(bytes);
                }
                return bytes != null;
            }

            @Override
            public int appendTail(int relation, int value, ByteBuilder out) {
                byte[] bytes = toast.get(value);
                if (bytes == null) {
                    return -1;
                }
                out.putBytes(bytes);
                return firstChunks.getOrDefault(value, 0);
            }
        };
    }

    @Override
    public long recordCount() {
        return count;
    }

    @Override
    public long bytes() {
        return Math.max(bytes, records.length());
    }

    @Override
    public @Nullable Set<RelationLocator> relations() {
        return relations;
    }

    @Override
    public void close() {
        if (closed) {
            throw new IllegalStateException("closed twice");
        }
        closed = true;
    }

    private static final class Interrupted implements RecordCursor {
        private final RecordCursor inner;
        private final Map<Integer, Step> interruptions;
        private int read;

        Interrupted(RecordCursor inner, Map<Integer, Step> interruptions) {
            this.inner = inner;
            this.interruptions = interruptions;
        }

        @Override
        public boolean next(RawRecord into) {
            Step step = interruptions.get(read++);
            if (step != null) {
                try {
                    step.run();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
            return inner.next(into);
        }

        @Override
        public boolean chunkIsStable() {
            return inner.chunkIsStable();
        }
    }

    /** Each record in the same buffer, as a spill reader gives them. */
    private static final class Overwriting implements RecordCursor {
        private final RecordCursor inner;
        private final RawRecord record = new RawRecord();
        private byte[] buffer = new byte[0];

        Overwriting(RecordCursor inner) {
            this.inner = inner;
        }

        @Override
        public boolean next(RawRecord into) {
            if (!inner.next(record)) {
                return false;
            }
            if (buffer.length < record.length()) {
                buffer = new byte[record.length()];
            }
            System.arraycopy(record.buffer(), record.offset(), buffer, 0, record.length());
            into.wrap(buffer, 0);
            return true;
        }

        @Override
        public boolean chunkIsStable() {
            return false;
        }
    }
}
