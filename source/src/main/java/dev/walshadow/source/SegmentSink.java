package dev.walshadow.source;

/** Takes filtered segments when their last record is complete. Called by the WAL pump. */
public interface SegmentSink {
    /** {@code segment[0..length)} is the whole segment; the array is valid during the call only. */
    void segmentComplete(long startLsn, byte[] segment, int length);
}
