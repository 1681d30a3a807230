package dev.walshadow.pipeline;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.clickhouse.ServerError;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether ClickHouse answers, told once per change: as a whole (network) and per table (too many
 * parts, rights, memory). Thread safe.
 */
final class TargetReachability {
    private static final Logger log = LoggerFactory.getLogger(TargetReachability.class);

    private final PipelineEvents events;
    private final Set<String> busyTables = ConcurrentHashMap.newKeySet();
    private boolean reachable = true;

    TargetReachability(PipelineEvents events) {
        this.events = events;
    }

    void failed(TargetTable table, WalshadowException failure) {
        failed(table.label(), failure);
    }

    /**
     * @param what the table, or what else was asked for
     */
    void failed(String what, WalshadowException failure) {
        String reason = String.valueOf(failure.getMessage());
        if (ServerError.codeOf(failure) >= 0) {
            // it answered, so the network is fine
            if (busyTables.add(what)) {
                log.warn("{}: waiting, repeating with backoff: {}", what, reason);
            }
            return;
        }
        if (change(false)) {
            log.warn("waiting for ClickHouse: {}", reason);
            events.targetReachable(false, reason);
        }
    }

    void answered(TargetTable table) {
        answered(table.label());
    }

    void answered(String what) {
        if (!busyTables.isEmpty() && busyTables.remove(what)) {
            log.info("{}: ClickHouse takes it again", what);
        }
        if (change(true)) {
            log.info("ClickHouse answers again");
            events.targetReachable(true, "");
        }
    }

    private synchronized boolean change(boolean now) {
        boolean changed = reachable != now;
        reachable = now;
        return changed;
    }
}
