/**
 * Tuple bytes to ClickHouse columns in one pass: {@link dev.walshadow.pipeline.encode.RowEncoder}
 * is compiled per (descriptor, mapping) and appends to a {@link
 * dev.walshadow.pipeline.encode.TableBlock}. No object per row or value; no network, no clock.
 */
@NullMarked
package dev.walshadow.pipeline.encode;

import org.jspecify.annotations.NullMarked;
