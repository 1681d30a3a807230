package dev.walshadow.daemon.replication;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.source.replication.ConnectionSettings;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntFunction;

/** Opens the target as the configuration says. */
public final class Targets {
    private Targets() {}

    public static ClickHouseClient client(Configuration configuration) {
        String password =
                configuration
                        .find(Settings.CLICKHOUSE_PASSWORD_FILE)
                        .map(PasswordFiles::firstLine)
                        .orElseGet(() -> configuration.get(Settings.CLICKHOUSE_PASSWORD));
        ClickHouseOptions options =
                ClickHouseOptions.at(configuration.get(Settings.CLICKHOUSE_URL))
                        .withCredentials(configuration.get(Settings.CLICKHOUSE_USER), password);
        return new ClickHouseClient(options);
    }

    public static TargetTables tables(
            Configuration configuration,
            ClickHouseClient client,
            long systemIdentifier,
            ConnectionSettings source,
            IntFunction<SourceEncoding> encoding) {
        String metadata = configuration.get(Settings.CLICKHOUSE_METADATA_DATABASE);
        MappingRules rules =
                MappingRules.defaults()
                        .withTime64(hasTime64(client))
                        .withNames("", metadata, Map.of());
        return TargetTables.open(
                client,
                new TargetTables.Options(
                        metadata,
                        systemIdentifier,
                        source.toString(),
                        rules,
                        encoding,
                        TargetTables.OnDrop.valueOf(
                                configuration
                                        .get(Settings.TABLES_ON_DROP)
                                        .toUpperCase(Locale.ROOT)),
                        configuration.get(Settings.TABLES_ON_DETACH).equals("retain")));
    }

    private static boolean hasTime64(ClickHouseClient client) {
        return "1"
                .equals(
                        client.queryValue(
                                "SELECT count() FROM system.data_type_families WHERE name ="
                                        + " 'Time64'"));
    }
}
