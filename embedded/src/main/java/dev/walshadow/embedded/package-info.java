/**
 * PostgreSQL 15-18 and a ClickHouse engine as child processes, for the demo, the tests, the
 * foreground commands and as the default binaries of the shadow.
 *
 * <p>Main types: {@link dev.walshadow.embedded.EmbeddedPostgres}, {@link
 * dev.walshadow.embedded.EmbeddedClickHouse}, {@link
 * dev.walshadow.embedded.EmbeddedPostgresBinaries}, {@link
 * dev.walshadow.embedded.UnprivilegedUser}. It knows nothing of replication.
 */
@NullMarked
package dev.walshadow.embedded;

import org.jspecify.annotations.NullMarked;
