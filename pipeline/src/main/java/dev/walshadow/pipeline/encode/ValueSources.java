package dev.walshadow.pipeline.encode;

import dev.walshadow.transaction.ToastValues;
import org.jspecify.annotations.Nullable;

/**
 * Where a row's values out of line are looked for, in this order.
 *
 * @param toast chunks of its own transaction
 * @param known values that were encoded before; it is told of new ones
 * @param old the row's previous version
 */
public record ValueSources(
        ToastValues toast, @Nullable KnownValues known, @Nullable OldValues old) {}
