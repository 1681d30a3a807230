package dev.walshadow.transaction;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The records of one top-level transaction and those of its subtransactions that are known to be
 * its own, in LSN order: a spilled part in front, then chunks in memory. A <em>position</em> is the
 * number of record bytes before a record, over both parts.
 *
 * <p>A session runs one statement at a time, so a subtransaction that rolls back owns the end of
 * the arena and is simply cut off.
 *
 * <p>Owned by the WAL pump until the commit, then read only.
 */
final class Arena {
    private static final long NO_POSITION = -1;
    private static final byte[] EMPTY = {};

    private final ChunkPool pool;

    private byte[][] chunks = new byte[1][];
    private int[] used = new int[1];
    private long[] starts = new long[1];
    private ToastRange[] toastRanges = new ToastRange[1];
    private int chunkCount;
    private long bytesInMemory;

    private long end;
    private long lastPosition = NO_POSITION;
    private long recordCount;
    private final LongArray cancelled = new LongArray();
    private @Nullable Set<RelationLocator> toastLocators;
    private @Nullable RelationLocator lastToastLocator;
    private boolean unreadableToastChunks;
    private final ChangedRelations spilledRelations = new ChangedRelations();
    private @Nullable SpillFile spill;

    Arena(ChunkPool pool) {
        this.pool = pool;
    }

    /** The position behind the last record: all bytes of records, spilled or not. */
    long end() {
        return end;
    }

    /** Where the last appended record starts; -1 if it was cut off or spilled. */
    long lastPosition() {
        return lastPosition;
    }

    /** Records to hand on; too many by those cancelled or rolled back on disk. */
    long recordCount() {
        return recordCount;
    }

    /** Memory reserved, the unused rest of chunks included. */
    long bytesInMemory() {
        return bytesInMemory;
    }

    int chunkCount() {
        return chunkCount;
    }

    byte[] chunk(int i) {
        return chunks[i];
    }

    int used(int i) {
        return used[i];
    }

    long start(int i) {
        return starts[i];
    }

    ToastRange toastRange(int i) {
        return toastRanges[i];
    }

    @Nullable SpillFile spill() {
        return spill;
    }

    /** Locators that TOAST chunks were inserted into. */
    Set<RelationLocator> toastLocators() {
        Set<RelationLocator> locators = toastLocators;
        return locators == null ? Set.of() : locators;
    }

    /**
     * Adds the storage that the records change, perhaps some more that only rolled-back ones did.
     *
     * @return false: there is more than is known
     */
    boolean addRelations(Set<RelationLocator> all) {
        ChangedRelations inMemory = new ChangedRelations();
        for (int i = 0; i < chunkCount; i++) {
            for (int at = 0; at < used[i]; ) {
                inMemory.add(chunks[i], at);
                at += LittleEndian.getInt(chunks[i], at + RawRecordLayout.LENGTH_OFFSET);
            }
        }
        return inMemory.addTo(all) && spilledRelations.addTo(all);
    }

    boolean isCancelled(long position) {
        return cancelled.contains(position);
    }

    /** Room for a record in the last chunk: its offset there, or -1 if a new chunk is needed. */
    int reserve(int length) {
        int last = chunkCount - 1;
        if (last < 0 || chunks[last].length - used[last] < length) {
            return -1;
        }
        int offset = used[last];
        used[last] = offset + length;
        lastPosition = end;
        end += length;
        recordCount++;
        return offset;
    }

    /** The chunk that {@link #reserve} has found room in. */
    byte[] lastChunk() {
        return chunks[chunkCount - 1];
    }

    void addChunk(byte[] chunk) {
        if (chunkCount == chunks.length) {
            int capacity = chunkCount * 2;
            chunks = Arrays.copyOf(chunks, capacity);
            used = Arrays.copyOf(used, capacity);
            starts = Arrays.copyOf(starts, capacity);
            toastRanges = Arrays.copyOf(toastRanges, capacity);
        }
        chunks[chunkCount] = chunk;
        used[chunkCount] = 0;
        starts[chunkCount] = end;
        toastRanges[chunkCount] = new ToastRange();
        chunkCount++;
        bytesInMemory += chunk.length;
    }

    /** Notes that the record just reserved inserts a chunk of a TOAST value. */
    void noteToastChunk(int tablespaceOid, int databaseOid, int relationNumber, int valueId) {
        noteToastLocator(tablespaceOid, databaseOid, relationNumber);
        toastRanges[chunkCount - 1].add(relationNumber, valueId);
    }

    /** The record just reserved inserts what must be a chunk, of who knows which value. */
    void noteUnreadableToastChunk() {
        unreadableToastChunks = true;
    }

    boolean hasUnreadableToastChunks() {
        return unreadableToastChunks;
    }

    private void noteToastLocator(int tablespaceOid, int databaseOid, int relationNumber) {
        RelationLocator last = lastToastLocator;
        if (last != null
                && last.relationNumber() == relationNumber
                && last.tablespaceOid() == tablespaceOid
                && last.databaseOid() == databaseOid) {
            return;
        }
        RelationLocator locator = new RelationLocator(tablespaceOid, databaseOid, relationNumber);
        Set<RelationLocator> locators = toastLocators;
        if (locators == null) {
            locators = new LinkedHashSet<>();
            toastLocators = locators;
        }
        locators.add(locator);
        lastToastLocator = locator;
    }

    /** The record at {@code position} counts as never written. */
    void cancel(long position) {
        if (position == lastPosition) {
            cutOffMemory(position, 1);
        } else if (position >= memoryStart()) {
            int chunk = chunkAt(position);
            int flags = (int) (position - starts[chunk]) + RawRecordLayout.FLAGS_OFFSET;
            LittleEndian.putShort(
                    chunks[chunk],
                    flags,
                    LittleEndian.getShort(chunks[chunk], flags) | RawRecordLayout.CANCELLED);
            recordCount--;
        } else {
            cancelled.add(position);
        }
    }

    private long memoryStart() {
        return chunkCount == 0 ? end : starts[0];
    }

    private int chunkAt(long position) {
        int found = Arrays.binarySearch(starts, 0, chunkCount, position);
        return found < 0 ? -found - 2 : found;
    }

    /**
     * Frees what the rolled-back subtransaction {@code xid} wrote: everything from {@code position}
     * on, its first record's place. A spilled frame that also holds earlier records stays; the
     * commit's own list of subtransactions leaves those records out.
     */
    void rollBack(long position, int xid) {
        long from = Math.max(position, memoryStart());
        if (from < end) {
            long records = recordsFrom(from, xid);
            if (records < 0) {
                return;
            }
            cutOffMemory(from, records);
        }
        SpillFile file = spill;
        if (file != null && position < memoryStart()) {
            Invariant.check(end == memoryStart(), "memory is empty before a spill file is cut off");
            recordCount -= file.cutOff(position, xid);
            end = file.endPosition();
            file.release();
            cancelled.removeFrom(end);
        }
    }

    /** How many records lie behind {@code from}; -1 if one is of a transaction before xid. */
    private long recordsFrom(long from, int xid) {
        long records = 0;
        int offset = (int) (from - starts[chunkAt(from)]);
        for (int i = chunkAt(from); i < chunkCount; i++) {
            while (offset < used[i]) {
                int owner = LittleEndian.getInt(chunks[i], offset + RawRecordLayout.XID_OFFSET);
                if (XidOrder.precedes(owner, xid)) {
                    return -1;
                }
                int flags = LittleEndian.getShort(chunks[i], offset + RawRecordLayout.FLAGS_OFFSET);
                if ((flags & RawRecordLayout.CANCELLED) == 0) {
                    records++;
                }
                offset += LittleEndian.getInt(chunks[i], offset + RawRecordLayout.LENGTH_OFFSET);
            }
            offset = 0;
        }
        return records;
    }

    private void cutOffMemory(long position, long records) {
        int kept = chunkAt(position);
        while (chunkCount - 1 > kept) {
            dropLastChunk();
        }
        used[kept] = (int) (position - starts[kept]);
        if (used[kept] == 0) {
            dropLastChunk();
        }
        end = position;
        lastPosition = NO_POSITION;
        recordCount -= records;
    }

    private void dropLastChunk() {
        chunkCount--;
        byte[] chunk = chunks[chunkCount];
        chunks[chunkCount] = EMPTY;
        bytesInMemory -= chunk.length;
        pool.giveBack(chunk);
    }

    /** Moves every chunk to the spill file. What an IOException leaves in memory stays there. */
    void spill(SpillDirectory directory, int xid, long firstLsn) throws IOException {
        SpillFile file = spillFile(directory, xid, firstLsn);
        int done = 0;
        try {
            while (done < chunkCount) {
                if (used[done] > 0) {
                    file.append(frameOf(done), ByteBuffer.wrap(chunks[done], 0, used[done]));
                }
                bytesInMemory -= chunks[done].length;
                pool.giveBack(chunks[done]);
                done++;
            }
        } finally {
            forgetFirst(done);
        }
        lastPosition = NO_POSITION;
    }

    private SpillFile spillFile(SpillDirectory directory, int xid, long firstLsn)
            throws IOException {
        SpillFile file = spill;
        if (file == null) {
            file = directory.create(xid, firstLsn);
            spill = file;
        }
        return file;
    }

    private SpillFile.Frame frameOf(int chunk) {
        byte[] bytes = chunks[chunk];
        int records = 0;
        int smallest = LittleEndian.getInt(bytes, RawRecordLayout.XID_OFFSET);
        for (int at = 0; at < used[chunk]; ) {
            int xid = LittleEndian.getInt(bytes, at + RawRecordLayout.XID_OFFSET);
            if (XidOrder.precedes(xid, smallest)) {
                smallest = xid;
            }
            if ((LittleEndian.getShort(bytes, at + RawRecordLayout.FLAGS_OFFSET)
                            & RawRecordLayout.CANCELLED)
                    == 0) {
                records++;
            }
            spilledRelations.add(bytes, at);
            at += LittleEndian.getInt(bytes, at + RawRecordLayout.LENGTH_OFFSET);
        }
        return new SpillFile.Frame(starts[chunk], records, smallest, toastRanges[chunk]);
    }

    private void forgetFirst(int count) {
        int left = chunkCount - count;
        System.arraycopy(chunks, count, chunks, 0, left);
        System.arraycopy(used, count, used, 0, left);
        System.arraycopy(starts, count, starts, 0, left);
        System.arraycopy(toastRanges, count, toastRanges, 0, left);
        Arrays.fill(chunks, left, chunkCount, EMPTY);
        chunkCount = left;
    }

    /**
     * Appends a record that no chunk can hold, straight to the file. Memory must be empty.
     *
     * @param parts the first has the record's whole header, from its array's beginning
     */
    void appendSpilled(
            SpillDirectory directory, OpenTransaction owner, int recordXid, ByteBuffer... parts)
            throws IOException {
        Invariant.check(chunkCount == 0, "records stay in LSN order");
        spilledRelations.add(parts[0].array(), 0);
        int length = 0;
        for (ByteBuffer part : parts) {
            length += part.remaining();
        }
        spillFile(directory, owner.xid(), owner.firstLsn())
                .append(new SpillFile.Frame(end, 1, recordXid, new ToastRange()), parts);
        end += length;
        recordCount++;
    }

    /** Gives everything back. From any thread, once. */
    void free() {
        while (chunkCount > 0) {
            dropLastChunk();
        }
        SpillFile file = spill;
        if (file != null) {
            file.delete();
        }
    }
}
