/**
 * From WAL bytes to records: where WAL comes from ({@link dev.walshadow.source.WalSource}), the
 * record stream, the filter and the filtered segment archive. Knows no ClickHouse and no shadow.
 */
@NullMarked
package dev.walshadow.source;

import org.jspecify.annotations.NullMarked;
