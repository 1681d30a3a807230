/**
 * What every other module stands on: little-endian access, growable byte buffers, durable files,
 * the memory budget, and the tree of operating failures. Knows neither PostgreSQL nor ClickHouse.
 */
@NullMarked
package dev.walshadow.base;

import org.jspecify.annotations.NullMarked;
