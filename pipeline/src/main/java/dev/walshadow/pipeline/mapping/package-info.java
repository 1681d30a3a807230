/**
 * What a PostgreSQL table becomes in ClickHouse: names, types, key, meta columns. {@link
 * dev.walshadow.pipeline.mapping.TableMapping#derive} turns a descriptor and the rules into a
 * mapping or into the reasons why the table is held back. Pure: asks no server, holds no state.
 */
@NullMarked
package dev.walshadow.pipeline.mapping;

import org.jspecify.annotations.NullMarked;
