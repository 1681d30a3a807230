/**
 * PostgreSQL's own formats, pure: no network, no threads, no clock (I13). The identifiers that all
 * formats share live here; WAL in {@code wal}, heap pages and tuples in {@code heap}, the values
 * inside tuples in {@code value}, cluster files (pg_control, pg_xact) in {@code cluster}.
 */
@NullMarked
package dev.walshadow.postgres;

import org.jspecify.annotations.NullMarked;
