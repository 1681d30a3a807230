/**
 * Changes of a source table's shape: what one asks of its ClickHouse table ({@link
 * dev.walshadow.pipeline.ddl.ShapeChange}) and making the table conform ({@link
 * dev.walshadow.pipeline.ddl.TableAlteration}). Must not know transactions, batches or when it is
 * called.
 */
@NullMarked
package dev.walshadow.pipeline.ddl;

import org.jspecify.annotations.NullMarked;
