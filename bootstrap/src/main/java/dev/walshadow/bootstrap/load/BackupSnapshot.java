package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import java.util.Arrays;
import java.util.Optional;

/**
 * Which transactions had what said about them before the backup's start (design: R and nextXid).
 * Immutable.
 */
public final class BackupSnapshot {
    /**
     * Stands for an open inserter that certainly committed and has no commit record from B on: it
     * waited for a synchronous standby at B. PostgreSQL's FrozenTransactionId.
     */
    static final int COMMITTED_BEFORE = 2;

    private static final int FIRST_NORMAL_XID = 3;
    private static final int FIXED_LENGTH = 21;

    private final long startLsn;
    private final int nextXid;
    private final int oldestRunningXid;
    private final boolean overflowed;
    private final int[] members;

    /**
     * @param overflowed the list of running transactions has no subtransactions: every transaction
     *     from {@code oldestRunningXid} on is a member
     * @param members any order
     */
    BackupSnapshot(
            long startLsn, int nextXid, int oldestRunningXid, boolean overflowed, int[] members) {
        this.startLsn = startLsn;
        this.nextXid = nextXid;
        this.oldestRunningXid = oldestRunningXid;
        this.overflowed = overflowed;
        this.members = members.clone();
        Arrays.sort(this.members);
    }

    /** Whether it is the id of a transaction, not 0 and not one of PostgreSQL's special ones. */
    static boolean isTransaction(int xid) {
        return Integer.compareUnsigned(xid, FIRST_NORMAL_XID) >= 0;
    }

    /** B. */
    public long startLsn() {
        return startLsn;
    }

    public int nextXid() {
        return nextXid;
    }

    /** At or above nextXid, modulo 2^32: whatever it did is in the WAL from B on. */
    boolean isLater(int xid) {
        return xid - nextXid >= 0;
    }

    /** In R: it may have changed rows before B and ended after it. */
    boolean isOpen(int xid) {
        boolean maybeRunning = overflowed && xid - oldestRunningXid >= 0 && !isLater(xid);
        return maybeRunning || Arrays.binarySearch(members, xid) >= 0;
    }

    /** Whether what it wrote may have come, or have been committed, at B or later. */
    public boolean maySinceStart(int xid) {
        return isTransaction(xid) && (isLater(xid) || isOpen(xid));
    }

    /** See {@link DeferredFile}. */
    void encode(ByteBuilder out) {
        out.putLong(startLsn);
        out.putInt(nextXid);
        out.putInt(oldestRunningXid);
        out.putByte(overflowed ? 1 : 0);
        out.putInt(members.length);
        for (int member : members) {
            out.putInt(member);
        }
    }

    /** Empty if the bytes are cut off. */
    static Optional<BackupSnapshot> decode(byte[] bytes, int from, int end) {
        if (end - from < FIXED_LENGTH) {
            return Optional.empty();
        }
        int count = LittleEndian.getInt(bytes, from + FIXED_LENGTH - 4);
        if (count < 0 || end - from - FIXED_LENGTH < (long) count * Integer.BYTES) {
            return Optional.empty();
        }
        int[] members = new int[count];
        for (int i = 0; i < count; i++) {
            members[i] = LittleEndian.getInt(bytes, from + FIXED_LENGTH + i * Integer.BYTES);
        }
        return Optional.of(
                new BackupSnapshot(
                        LittleEndian.getLong(bytes, from),
                        LittleEndian.getInt(bytes, from + 8),
                        LittleEndian.getInt(bytes, from + 12),
                        bytes[from + 16] != 0,
                        members));
    }
}
