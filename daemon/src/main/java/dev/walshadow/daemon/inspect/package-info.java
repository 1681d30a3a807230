/**
 * What an operator can look at without touching anything: {@link
 * dev.walshadow.daemon.inspect.SchemaReport} says how source tables and ClickHouse tables belong
 * together. Reads the state directory and ClickHouse; starts, changes and locks nothing.
 */
@org.jspecify.annotations.NullMarked
package dev.walshadow.daemon.inspect;
