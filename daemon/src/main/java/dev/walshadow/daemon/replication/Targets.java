package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.HashKey;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.source.replication.ConnectionSettings;
import java.util.Locale;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

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
                        .withNames(
                                configuration.get(Settings.CLICKHOUSE_DATABASE_PREFIX),
                                metadata,
                                configuration.nameRules().schemas())
                        .withTables(configuration.nameRules().tables());
        HashKey salt = salt(configuration);
        if (salt != null) {
            rules = rules.withHashKey(salt);
        }
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

    /**
     * The salt of hashed columns; null if there is none.
     *
     * @throws ConfigurationException if there is none, and a rule needs it
     */
    private static @Nullable HashKey salt(Configuration configuration) {
        String salt =
                configuration
                        .find(Settings.TRANSFORM_SALT_FILE)
                        .map(PasswordFiles::firstLine)
                        .or(() -> configuration.find(Settings.TRANSFORM_SALT))
                        .orElse("");
        if (salt.isEmpty() && configuration.nameRules().hashes()) {
            throw new ConfigurationException(
                    DaemonCodes.BAD_CONFIGURATION,
                    "a column's transform is hash, which needs a salt: set [transform] salt or"
                            + " salt_file");
        }
        return salt.isEmpty() ? null : HashKey.of(salt);
    }

    private static boolean hasTime64(ClickHouseClient client) {
        return "1"
                .equals(
                        client.queryValue(
                                "SELECT count() FROM system.data_type_families WHERE name ="
                                        + " 'Time64'"));
    }
}
