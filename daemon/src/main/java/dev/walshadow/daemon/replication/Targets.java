package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.source.replication.ConnectionSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Opens the target as the configuration says. */
public final class Targets {
    private Targets() {}

    public static ClickHouseClient client(Configuration configuration) {
        String password =
                configuration
                        .find(Settings.CLICKHOUSE_PASSWORD_FILE)
                        .map(Targets::firstLine)
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
            String encoding) {
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
                        SourceEncoding.named(encoding)));
    }

    private static boolean hasTime64(ClickHouseClient client) {
        return "1"
                .equals(
                        client.queryValue(
                                "SELECT count() FROM system.data_type_families WHERE name ="
                                        + " 'Time64'"));
    }

    static String firstLine(Path file) {
        try {
            List<String> lines = Files.readAllLines(file);
            return lines.isEmpty() ? "" : lines.getFirst();
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "the password file " + file + " cannot be read: " + e,
                    e);
        }
    }
}
