package dev.walshadow.source;

/** Takes filtered segments when their last record is complete. Called by the WAL pump. */
public interface SegmentSink {
    /**
     * Everything in this segment has been published and handed on.
     *
     * @param segment the whole segment in {@code [0, length)}; valid during the call only
     * @param next what a stream needs to begin behind this segment
     */
    void segmentComplete(long startLsn, byte[] segment, int length, StreamSnapshot next)
            throws InterruptedException;
}
