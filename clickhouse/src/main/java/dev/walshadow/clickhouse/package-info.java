/**
 * ClickHouse alone: its type language ({@link dev.walshadow.clickhouse.ClickHouseType}), column
 * bodies of the Native format ({@link dev.walshadow.clickhouse.ColumnBuffer}, {@link
 * dev.walshadow.clickhouse.NativeBlock}), DDL text ({@link dev.walshadow.clickhouse.Ddl}) and the
 * transport ({@link dev.walshadow.clickhouse.ClickHouseClient}). Knows nothing of PostgreSQL.
 */
@NullMarked
package dev.walshadow.clickhouse;

import org.jspecify.annotations.NullMarked;
