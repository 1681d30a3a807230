package dev.walshadow.transaction;

/** Takes committed transactions in commit order. */
public interface CommitSink {
    /**
     * Takes ownership: whoever implements this closes {@code changes}. May block: that is the
     * back-pressure towards the source.
     */
    void commit(CommittedChanges changes) throws InterruptedException;
}
