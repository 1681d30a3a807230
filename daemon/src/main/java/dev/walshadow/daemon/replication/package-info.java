/**
 * The running parts plugged together: preflight's result, the WAL pump with the boundary hold, the
 * hand-off of the initial load, and the keeper of the durable positions.
 */
@NullMarked
package dev.walshadow.daemon.replication;

import org.jspecify.annotations.NullMarked;
