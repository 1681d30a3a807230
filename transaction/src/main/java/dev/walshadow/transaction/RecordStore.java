package dev.walshadow.transaction;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.wal.WalRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts records into arenas within the memory budget. When no chunk is left, the largest open
 * transaction goes to disk; when the disk is full, the pump waits here and tries again, and nothing
 * is lost. Used by the WAL pump only.
 */
final class RecordStore {
    private static final Logger LOG = LoggerFactory.getLogger(RecordStore.class);
    private static final long RETRY_CEILING_MILLIS = 5_000;

    private final ChunkPool pool;
    private final SpillDirectory directory;
    private final OpenTransactions open;
    private final TransactionCounters counters;
    private final Backoff backoff = new Backoff(RETRY_CEILING_MILLIS);
    private final ToastChunk toastChunk = new ToastChunk();

    RecordStore(
            ChunkPool pool,
            SpillDirectory directory,
            OpenTransactions open,
            TransactionCounters counters) {
        this.pool = pool;
        this.directory = directory;
        this.open = open;
        this.counters = counters;
    }

    /**
     * Appends the record to the transaction's arena.
     *
     * @param block the index of block 0 in the record, -1 if it has none (TRUNCATE)
     * @param databaseOid where there is no block
     * @return the record's position
     */
    long append(OpenTransaction owner, WalRecord record, int block, int databaseOid)
            throws InterruptedException {
        int dataLength = block < 0 ? 0 : record.dataLength(block);
        long length = RawRecordLayout.length(record.mainDataLength(), dataLength);
        Arena arena = owner.arena();
        long position;
        if (length <= pool.longestRecord()) {
            int offset = arena.reserve((int) length);
            if (offset < 0) {
                arena.addChunk(takeChunk(arena, (int) length));
                offset = arena.reserve((int) length);
            }
            position = arena.lastPosition();
            write(arena, offset, (int) length, record, block, databaseOid);
        } else {
            Invariant.check(length <= Integer.MAX_VALUE, "a WAL record is below 2 GB");
            position = arena.end();
            appendSpilled(owner, (int) length, record, block, databaseOid);
        }
        TransactionCounters.add(counters.records, 1);
        TransactionCounters.add(counters.recordBytes, length);
        return position;
    }

    private void write(
            Arena arena, int offset, int length, WalRecord record, int block, int databaseOid) {
        byte[] chunk = arena.lastChunk();
        writeHeader(chunk, offset, length, record, block, databaseOid);
        int mainLength = record.mainDataLength();
        int main = offset + RawRecordLayout.HEADER_LENGTH;
        System.arraycopy(record.buffer(), record.mainDataOffset(), chunk, main, mainLength);
        int end = main + mainLength;
        if (block >= 0) {
            int dataLength = record.dataLength(block);
            System.arraycopy(record.buffer(), record.dataOffset(block), chunk, end, dataLength);
            if (ToastChunk.isInsert(record.resourceManager(), record.info(), chunk, main)) {
                if (toastChunk.wrap(chunk, end, dataLength)) {
                    arena.noteToastChunk(
                            record.tablespaceOid(block),
                            record.databaseOid(block),
                            record.relationNumber(block),
                            toastChunk.valueId());
                } else {
                    arena.noteUnreadableToastChunk();
                }
            }
            end += dataLength;
        }
        Arrays.fill(chunk, end, offset + length, (byte) 0);
    }

    private static void writeHeader(
            byte[] chunk, int offset, int length, WalRecord record, int block, int databaseOid) {
        LittleEndian.putInt(chunk, offset + RawRecordLayout.LENGTH_OFFSET, length);
        chunk[offset + RawRecordLayout.RESOURCE_MANAGER_OFFSET] = (byte) record.resourceManager();
        chunk[offset + RawRecordLayout.INFO_OFFSET] = (byte) record.info();
        LittleEndian.putLong(chunk, offset + RawRecordLayout.LSN_OFFSET, record.lsn());
        LittleEndian.putInt(chunk, offset + RawRecordLayout.XID_OFFSET, record.xid());
        int flags = 0;
        int tablespace = 0;
        int database = databaseOid;
        int relation = 0;
        int block0 = 0;
        int block1 = 0;
        int dataLength = 0;
        if (block >= 0) {
            flags = RawRecordLayout.HAS_BLOCK0;
            if (record.hasImage(block)) {
                flags |= RawRecordLayout.HAS_IMAGE;
            }
            tablespace = record.tablespaceOid(block);
            database = record.databaseOid(block);
            relation = record.relationNumber(block);
            block0 = record.blockNumber(block);
            block1 = block0;
            dataLength = record.dataLength(block);
            if (record.blockCount() > block + 1) {
                flags |= RawRecordLayout.HAS_BLOCK1;
                block1 = record.blockNumber(block + 1);
            }
        }
        LittleEndian.putShort(chunk, offset + RawRecordLayout.FLAGS_OFFSET, flags);
        LittleEndian.putInt(chunk, offset + RawRecordLayout.TABLESPACE_OFFSET, tablespace);
        LittleEndian.putInt(chunk, offset + RawRecordLayout.DATABASE_OFFSET, database);
        LittleEndian.putInt(chunk, offset + RawRecordLayout.RELATION_OFFSET, relation);
        LittleEndian.putInt(chunk, offset + RawRecordLayout.BLOCK0_OFFSET, block0);
        LittleEndian.putInt(chunk, offset + RawRecordLayout.BLOCK1_OFFSET, block1);
        LittleEndian.putInt(
                chunk, offset + RawRecordLayout.MAIN_LENGTH_OFFSET, record.mainDataLength());
        LittleEndian.putInt(chunk, offset + RawRecordLayout.DATA_LENGTH_OFFSET, dataLength);
    }

    private byte[] takeChunk(Arena arena, int recordLength) throws InterruptedException {
        while (true) {
            int size = pool.chunkSize(arena.bytesInMemory(), recordLength);
            byte[] chunk = pool.tryTake(size);
            if (chunk != null) {
                return chunk;
            }
            OpenTransaction largest = open.largest();
            if (largest == null) {
                throw new IllegalStateException(
                        "a quarter of the memory belongs to open transactions");
            }
            spillOrWait(largest);
        }
    }

    /** A record larger than any chunk: what came before it goes to disk, then it itself. */
    private void appendSpilled(
            OpenTransaction owner, int length, WalRecord record, int block, int databaseOid)
            throws InterruptedException {
        byte[] header = new byte[RawRecordLayout.HEADER_LENGTH];
        writeHeader(header, 0, length, record, block, databaseOid);
        int mainLength = record.mainDataLength();
        int dataLength = block < 0 ? 0 : record.dataLength(block);
        int dataOffset = block < 0 ? 0 : record.dataOffset(block);
        int padding = length - header.length - mainLength - dataLength;
        boolean done = false;
        while (!done) {
            try {
                spillNow(owner);
                owner.arena()
                        .appendSpilled(
                                directory,
                                owner,
                                record.xid(),
                                ByteBuffer.wrap(header),
                                ByteBuffer.wrap(
                                        record.buffer(), record.mainDataOffset(), mainLength),
                                ByteBuffer.wrap(record.buffer(), dataOffset, dataLength),
                                ByteBuffer.wrap(new byte[padding]));
                TransactionCounters.add(counters.spilledBytes, length);
                done = true;
            } catch (IOException e) {
                waitForRoom(e);
            }
        }
        goneOn();
    }

    /** Spills the transaction, or waits a little because the disk is full. */
    private void spillOrWait(OpenTransaction transaction) throws InterruptedException {
        try {
            spillNow(transaction);
            goneOn();
        } catch (IOException e) {
            waitForRoom(e);
        }
    }

    private void spillNow(OpenTransaction transaction) throws IOException {
        Arena arena = transaction.arena();
        SpillFile before = arena.spill();
        long lengthBefore = before == null ? 0 : before.length();
        try {
            arena.spill(directory, transaction.xid(), transaction.firstLsn());
        } finally {
            SpillFile after = arena.spill();
            if (after != null) {
                TransactionCounters.add(counters.spilledBytes, after.length() - lengthBefore);
                if (before == null) {
                    TransactionCounters.add(counters.spilledTransactions, 1);
                }
            }
        }
    }

    /**
     * Brings the memory of a committed transaction within the consumer's share: waits while memory
     * comes back, else spills.
     */
    void handOver(OpenTransaction[] parts, long patienceNanos) throws InterruptedException {
        while (true) {
            long bytes = 0;
            OpenTransaction largest = null;
            for (OpenTransaction part : parts) {
                long held = part.arena().bytesInMemory();
                bytes += held;
                if (held > 0 && (largest == null || held > largest.arena().bytesInMemory())) {
                    largest = part;
                }
            }
            if (largest == null || pool.tryHandOver(bytes, patienceNanos)) {
                return;
            }
            spillOrWait(largest);
        }
    }

    private void waitForRoom(IOException failure) throws InterruptedException {
        if (!isFull(failure)) {
            throw new HaltException(
                    TransactionCodes.SPILL_FAILED,
                    "cannot write to the spill directory "
                            + directory.directory()
                            + ": "
                            + failure
                            + ". Check it; then start walshadow again: it reads open transactions"
                            + " from the WAL anew, nothing is lost.",
                    failure);
        }
        if (counters.waitsForDisk == null) {
            String message =
                    TransactionCodes.SPILL_WAITS
                            + " the spill directory "
                            + directory.directory()
                            + " has no room ("
                            + failure.getMessage()
                            + "): reading the source waits until there is. Free space there, or"
                            + " raise the memory budget.";
            counters.waitsForDisk = message;
            LOG.warn("{}", message);
        }
        backoff.pause();
    }

    private void goneOn() {
        if (counters.waitsForDisk != null) {
            counters.waitsForDisk = null;
            backoff.reset();
            LOG.info("The spill directory {} has room again.", directory.directory());
        }
    }

    /** The JDK tells ENOSPC, EDQUOT and EFBIG apart from other failures by their text only. */
    private boolean isFull(IOException failure) {
        String text = String.valueOf(failure.getMessage());
        if (text.contains("No space left")
                || text.contains("quota exceeded")
                || text.contains("File too large")) {
            return true;
        }
        try {
            return Files.getFileStore(directory.directory()).getUsableSpace() < ChunkPool.LARGEST;
        } catch (IOException e) {
            failure.addSuppressed(e);
            return false;
        }
    }
}
