package dev.walshadow.source;

/** Takes the filtered bytes for the shadow, in order, without gaps. Called by the WAL pump. */
public interface WireSink {
    /**
     * The bytes of [startLsn, startLsn + length). They end at a page's end or at a record's end,
     * never inside a record's part of a page (a walreceiver could otherwise read a torn record).
     * Called before the record that they complete goes to the {@link RecordSink} (I1). The array is
     * valid during the call only.
     */
    void publish(long startLsn, byte[] bytes, int offset, int length);

    /**
     * Before bytes are published whose replay sends that many shared-invalidation messages (at
     * most) to the sessions of the server that replays them.
     */
    default void invalidates(long messages) {}
}
