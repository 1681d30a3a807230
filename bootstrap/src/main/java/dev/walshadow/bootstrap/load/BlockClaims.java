package dev.walshadow.bootstrap.load;

import org.roaringbitmap.RoaringBitmap;

/**
 * Who brings the baseline of each block of a relation: the page in the backup or the first record
 * from B on that touches the block; whoever comes first. Every block is claimed once, so no tuple
 * and no chunk is read twice. At most 8 KB for every 512 MB of the relation. Thread safe.
 */
final class BlockClaims {
    private final RoaringBitmap claimed = new RoaringBitmap();

    /** From this block on nothing is in the backup that could be needed. */
    private long end = Long.MAX_VALUE;

    /** Those that were walked in full, what they brought included. */
    private final RoaringBitmap done = new RoaringBitmap();

    /** These were walked by an earlier process. */
    synchronized void restore(RoaringBitmap walked) {
        claimed.or(walked);
        done.or(walked);
    }

    /** A block was walked. */
    synchronized void done(int block) {
        done.add(block);
    }

    /** Of at most 64 blocks those of the mask were walked; as {@link #unclaimed}. */
    synchronized void done(int first, long mask) {
        if (mask == -1L) {
            long from = Integer.toUnsignedLong(first);
            done.add(from, from + Long.SIZE);
            return;
        }
        for (long left = mask; left != 0; left &= left - 1) {
            done.add(first + Long.numberOfTrailingZeros(left));
        }
    }

    /** A copy. */
    synchronized RoaringBitmap walked() {
        return done.clone();
    }

    /** False if the block was claimed before. */
    synchronized boolean claim(int block) {
        if (Integer.toUnsignedLong(block) >= end) {
            return false;
        }
        return claimed.checkedAdd(block);
    }

    /** Claims every block from this one on. */
    synchronized void claimFrom(int block) {
        end = Math.min(end, Integer.toUnsignedLong(block));
    }

    /** Which of at most 64 blocks are not claimed: bit i is block {@code first + i}. */
    synchronized long unclaimed(int first, int count) {
        long free = 0;
        for (int i = 0; i < count; i++) {
            if (Integer.toUnsignedLong(first + i) < end && !claimed.contains(first + i)) {
                free |= 1L << i;
            }
        }
        return free;
    }

    /** Claims what of at most 64 blocks is not claimed; as {@link #unclaimed}. */
    synchronized long claim(int first, int count) {
        long free = unclaimed(first, count);
        long from = Integer.toUnsignedLong(first);
        claimed.add(from, from + count);
        return free;
    }
}
