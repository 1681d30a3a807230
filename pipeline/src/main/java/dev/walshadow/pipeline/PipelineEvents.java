package dev.walshadow.pipeline;

import dev.walshadow.catalog.RelationDescriptor;

/**
 * What the daemon wants to hear about. Called on pipeline threads; implementations return quickly
 * and do not call back into the pipeline, except to read.
 */
public interface PipelineEvents {
    PipelineEvents NONE = new PipelineEvents() {};

    /** Durable progress; monotone in {@link Watermark#durableLsn}. */
    default void watermark(Watermark watermark) {}

    default void quarantined(TableStatus table) {}

    /** A table's rows are wanted from the source: {@link TableLoading}. */
    default void loadWanted(LoadTicket load) {}

    /** A followed kind of table appeared that the attach did not know; once per table. */
    default void unknownTable(RelationDescriptor relation, long commitPosition) {}

    /** ClickHouse stopped answering ({@code reachable} false, with the reason) or is back. */
    default void targetReachable(boolean reachable, String reason) {}

    /** The pipeline stopped for good; {@code commit} throws the same from now on. */
    default void failed(Throwable cause) {}
}
