package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.postgres.Lsn;
import java.util.List;

/**
 * Another way to ClickHouse while the stream goes on: other credentials, or another address of the
 * same data. That it is the same is seen by the watermark, which must be as far as the one that was
 * written.
 */
final class LiveTarget {
    private final Configuration wanted;
    private final ClickHouseClient client;
    private final List<ClickHouseOptions> shards;

    LiveTarget(Configuration wanted, ClickHouseClient client) {
        this.wanted = wanted;
        this.client = client;
        this.shards = Targets.options(wanted);
    }

    /**
     * @param written the newest watermark that was written; 0: none yet
     * @throws ConfigurationException if that is not the ClickHouse that has the rows
     * @throws dev.walshadow.base.RetryException if it does not answer
     */
    void check(long systemIdentifier, long written) {
        List<ClickHouseClient> now = client.shards();
        if (now.size() != shards.size()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "the number of shards cannot change: expected "
                            + now.size()
                            + ", found "
                            + shards.size());
        }
        for (int i = 0; i < shards.size(); i++) {
            check(now.get(i), shards.get(i), systemIdentifier, written);
        }
    }

    private void check(
            ClickHouseClient now, ClickHouseOptions options, long systemIdentifier, long written) {
        if (options.equals(now.options())) {
            return;
        }
        try (ClickHouseClient tried = new ClickHouseClient(options)) {
            tried.ping();
            if (!options.url().equals(now.options().url())) {
                requireSameData(tried, systemIdentifier, written);
            }
        }
    }

    private void requireSameData(ClickHouseClient tried, long systemIdentifier, long written) {
        if (written == 0) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[clickhouse] url: nothing was written to ClickHouse since the start, so"
                            + " whether "
                            + tried.options().url()
                            + " has the same data is not known; restart instead");
        }
        String place =
                Ddl.qualified(wanted.get(Settings.CLICKHOUSE_METADATA_DATABASE), "watermark");
        String of = " WHERE system_identifier = " + Long.toUnsignedString(systemIdentifier);
        boolean there = "1".equals(tried.queryValue("EXISTS TABLE " + place));
        String found =
                there ? tried.queryValue("SELECT max(durable_lsn) FROM " + place + of) : null;
        long durable = found == null ? 0 : Long.parseUnsignedLong(found);
        if (Long.compareUnsigned(durable, written) < 0) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "[clickhouse] url: "
                            + tried.options().url()
                            + " is not the ClickHouse that has the rows: expected a watermark of "
                            + Lsn.format(written)
                            + " or later in "
                            + place
                            + ", found "
                            + (durable == 0 ? "none" : Lsn.format(durable)));
        }
    }

    void use() {
        List<ClickHouseClient> now = client.shards();
        for (int i = 0; i < shards.size(); i++) {
            if (!shards.get(i).equals(now.get(i).options())) {
                now.get(i).use(shards.get(i));
            }
        }
    }
}
