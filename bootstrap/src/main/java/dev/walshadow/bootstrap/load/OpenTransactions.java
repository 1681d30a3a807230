package dev.walshadow.bootstrap.load;

/** What the WAL has said so far of transactions that were open at B. Thread safe. */
public interface OpenTransactions {
    /** Whether it was open at B, or that is not known yet. */
    boolean mayBeOpen(int xid);

    /** Of one that was open: whether its end record has been read. */
    boolean hasEnded(int xid);

    /** Of one that was open: whether its commit record lies between B and {@code lsn}. */
    boolean committedBefore(int xid, long lsn);
}
