/**
 * Compares the source with ClickHouse, all columns of all rows. The oracle is PostgreSQL's own text
 * (COPY) on one side and ClickHouse's text on the other; no codec of the replication takes part.
 */
@NullMarked
package dev.walshadow.daemon.verify;

import org.jspecify.annotations.NullMarked;
