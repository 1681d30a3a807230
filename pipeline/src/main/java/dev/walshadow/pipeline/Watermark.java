package dev.walshadow.pipeline;

/**
 * How far everything is durable in ClickHouse.
 *
 * @param durableLsn every transaction whose commit position is at or below this is durable; 0 if
 *     nothing is known yet
 * @param commitMicros commit time of the last durable transaction, PostgreSQL epoch, 0 if none
 * @param pendingFloor lowest first LSN of the transactions that were handed over and are not yet
 *     durable (I5); {@link Long#MAX_VALUE} if there is none
 */
public record Watermark(long durableLsn, long commitMicros, long pendingFloor) {}
