package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.heap.HeapPage;
import dev.walshadow.postgres.wal.BlockImage;
import dev.walshadow.postgres.wal.WalRecord;
import java.nio.file.Path;
import java.util.List;

/**
 * The page images of the blocks that the WAL touched before their page of the backup was looked at,
 * on their way from the WAL pump, which must not wait for walkers, to the walkers. On disk as they
 * came, compressed; a block has one at most. Thread safe.
 *
 * <pre>
 * entries: i32 length of the entry, i32 index of the relation, i32 block, i64 LSN of the record,
 *          the image ({@link BlockImage})
 * </pre>
 */
final class ImageSpool implements AutoCloseable {
    private static final int RELATION = 4;
    private static final int BLOCK = 8;
    private static final int LSN = 12;
    private static final int IMAGE = 20;
    private static final int READ_BYTES = 1 << 17;

    private final List<LoadedRelation> relations;
    private final SpoolFile file;
    private final ByteBuilder entry = new ByteBuilder(2 * HeapPage.SIZE);
    private volatile long count;
    private volatile boolean sealed;

    /** Guards the four below: readers and the pump do not wait for each other. */
    private final Object reading = new Object();

    private final byte[] window = new byte[READ_BYTES];
    private int windowStart;
    private int windowEnd;
    private long next;

    /**
     * @param relations by their index
     */
    ImageSpool(Path file, List<LoadedRelation> relations) {
        this.file = new SpoolFile(file);
        this.relations = relations;
    }

    /**
     * Claims the block of block reference {@code i} and keeps its image, unless it was claimed
     * before. In one step, so that no claimed image is missing when the spool has been sealed.
     */
    synchronized void offer(LoadedRelation relation, WalRecord record, int i) {
        if (sealed || !relation.claims().claim(record.blockNumber(i))) {
            return;
        }
        entry.clear();
        entry.putInt(0);
        entry.putInt(relation.index());
        entry.putInt(record.blockNumber(i));
        entry.putLong(record.lsn());
        BlockImage.store(record, i, entry);
        LittleEndian.putInt(entry.array(), 0, entry.length());
        file.append(entry.array(), 0, entry.length());
        count = count + 1;
    }

    /** Images kept so far. */
    long count() {
        return count;
    }

    /** No image is wanted any more; all that are here can be taken. */
    synchronized void seal() {
        sealed = true;
        file.flush();
    }

    boolean isSealed() {
        return sealed;
    }

    /**
     * Fills a batch with the next images that are in the file.
     *
     * @return false if there is none
     */
    boolean take(PageBatch into, BlockImage images) {
        into.clear();
        synchronized (reading) {
            while (into.hasRoom() && findNext()) {
                int at = windowStart;
                long lsn = LittleEndian.getLong(window, at + LSN);
                images.restore(window, at + IMAGE, lsn, into.bytes, into.length);
                into.addImage(
                        relations.get(LittleEndian.getInt(window, at + RELATION)),
                        LittleEndian.getInt(window, at + BLOCK),
                        lsn);
                windowStart += LittleEndian.getInt(window, at);
            }
        }
        return into.length > 0;
    }

    /** Brings the next whole entry into the window, to {@link #windowStart}. */
    private boolean findNext() {
        if (hasEntry()) {
            return true;
        }
        boolean whole = sealed;
        int rest = windowEnd - windowStart;
        System.arraycopy(window, windowStart, window, 0, rest);
        windowStart = 0;
        int more = (int) Math.min(window.length - rest, file.flushedLength() - next);
        file.read(next, window, rest, more);
        next += more;
        windowEnd = rest + more;
        Invariant.check(
                !whole || hasEntry() || windowEnd == 0, "the spool ends with a whole entry");
        return hasEntry();
    }

    private boolean hasEntry() {
        int there = windowEnd - windowStart;
        return there >= Integer.BYTES && LittleEndian.getInt(window, windowStart) <= there;
    }

    @Override
    public synchronized void close() {
        sealed = true;
        file.close();
    }
}
