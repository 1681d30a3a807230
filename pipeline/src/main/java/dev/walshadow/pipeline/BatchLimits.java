package dev.walshadow.pipeline;

import java.time.Duration;

/**
 * When a table's batch is sent; may change while the pipeline runs.
 *
 * @param rows at which a batch is sealed
 * @param bytes at which a batch is sealed
 * @param age at which a batch is sealed under load; widens with the number of open tables
 */
public record BatchLimits(int rows, long bytes, Duration age) {}
