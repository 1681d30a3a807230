/**
 * What people and machines see of a running daemon over HTTP: {@link MonitorServer} serves metrics
 * ({@link Metrics}), health and the status page. Everything is drawn from the one JSON object that
 * {@code walshadow status --json} prints too. Knows nothing of how the daemon replicates; the parts
 * tell {@link CommitLatency}, {@link PositionClock} and {@link EventLog} what happens.
 */
@NullMarked
package dev.walshadow.daemon.monitor;

import org.jspecify.annotations.NullMarked;
