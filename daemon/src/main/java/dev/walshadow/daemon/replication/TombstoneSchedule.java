package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.pipeline.Pipeline;

/**
 * When tombstones are removed, and which: at each interval those below the resume floor of the one
 * before, so that an INSERT that ClickHouse has answered twice, the second time late, is through
 * too. After a start the first interval passes with nothing. {@link #tick} by one thread.
 */
final class TombstoneSchedule {
    private volatile Configuration configuration;
    private long last = System.nanoTime();
    private long earlierFloor;

    TombstoneSchedule(Configuration configuration) {
        this.configuration = configuration;
    }

    /**
     * @throws ConfigurationException if they cannot be removed where the tables are
     */
    static void check(Configuration configuration) {
        if (configuration.get(Settings.TOMBSTONES_INTERVAL).isPositive()
                && configuration.find(Settings.CLICKHOUSE_CLUSTER).isPresent()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[tombstones] interval cannot be set together with [clickhouse] cluster:"
                            + " replicas that merge at different times would remove different"
                            + " rows; leave it at 0s");
        }
    }

    /** What holds from now on. Any thread. */
    void use(Configuration wanted) {
        configuration = wanted;
    }

    /**
     * @param floor as it is durable in the manifest
     */
    void tick(Pipeline pipeline, long floor) {
        Configuration now = configuration;
        long interval = now.get(Settings.TOMBSTONES_INTERVAL).toNanos();
        if (interval == 0) {
            earlierFloor = 0;
            last = System.nanoTime();
        } else if (System.nanoTime() - last >= interval) {
            if (earlierFloor > 0) {
                pipeline.removeTombstones(earlierFloor, now.get(Settings.TOMBSTONES_PERCENT));
            }
            earlierFloor = floor;
            last = System.nanoTime();
        }
    }
}
