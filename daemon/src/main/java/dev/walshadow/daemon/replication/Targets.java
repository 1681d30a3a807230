package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.clickhouse.Cluster;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.embedded.EmbeddedPostgresBinaries;
import dev.walshadow.pipeline.Companion.Distributed;
import dev.walshadow.pipeline.TargetOptions;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.pipeline.ToastMode;
import dev.walshadow.pipeline.ViewNames;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.encode.ValueLimits;
import dev.walshadow.pipeline.mapping.HashKey;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TablePattern;
import dev.walshadow.postgres.value.DatumRenderer;
import dev.walshadow.shadow.ShadowBinaries;
import dev.walshadow.source.replication.ConnectionSettings;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Opens the target as the configuration says. */
public final class Targets {
    /** Silence for so long is no answer: https to a port that speaks http, for one. */
    private static final Duration PING_TIMEOUT = Duration.ofMinutes(1);

    private Targets() {}

    public static ClickHouseClient client(Configuration configuration) {
        return ClickHouseClient.ofShards(options(configuration));
    }

    /** Fails, classified, unless ClickHouse answers soon and lets this user in. */
    static void ping(Configuration configuration) {
        for (ClickHouseOptions shard : options(configuration)) {
            try (ClickHouseClient client =
                    new ClickHouseClient(shard.withTimeouts(PING_TIMEOUT, PING_TIMEOUT))) {
                client.ping();
            }
        }
    }

    /**
     * How to reach each shard; of one alone it is the ClickHouse.
     *
     * @throws ConfigurationException if the settings do not go together
     */
    static List<ClickHouseOptions> options(Configuration configuration) {
        List<String> shards = configuration.get(Settings.CLICKHOUSE_SHARDS);
        Optional<String> url = configuration.find(Settings.CLICKHOUSE_URL);
        require(
                url.isPresent() != shards.size() > 1,
                "either [clickhouse] url names the ClickHouse, or [clickhouse] shards two or more");
        boolean distributed = !configuration.get(Settings.TABLES_DISTRIBUTED).isEmpty();
        require(
                !distributed || !shards.isEmpty(),
                "[tables] distributed reads several shards; set [clickhouse] shards");
        require(
                !distributed
                        || configuration.find(Settings.CLICKHOUSE_DISTRIBUTED_CLUSTER).isPresent(),
                "[tables] distributed needs [clickhouse] distributed_cluster, the cluster of all"
                        + " shards");
        require(
                configuration.get(Settings.TABLES_APPEND).isEmpty()
                        || configuration.get(Settings.TABLES_INITIAL_LOAD).equals("copy")
                        || toastMode(configuration) == ToastMode.DISABLED,
                "[tables] append and [tables] initial_load = \"none\" do not go together: an update"
                        + " that leaves a value out of line unchanged takes it from the row's"
                        + " version before, which would be in ClickHouse for no row that is there"
                        + " already. Set initial_load = \"copy\", or [toast] mode = \"disabled\" to"
                        + " have NULL there");
        String views = configuration.get(Settings.TABLES_VIEWS);
        require(
                shards.isEmpty() || distributed || views.isEmpty(),
                "[tables] views would each show one shard's rows: set [tables] distributed too, and"
                        + " they show the rows of all");
        require(
                views.isEmpty() || !views.equals(configuration.get(Settings.TABLES_DISTRIBUTED)),
                "[tables] views and distributed must be different names");
        List<String> urls = shards.isEmpty() ? List.of(url.orElseThrow()) : shards;
        List<String> clusters = clusters(configuration, shards.size());
        List<ClickHouseOptions> all = new ArrayList<>();
        for (int i = 0; i < urls.size(); i++) {
            Cluster cluster =
                    clusters.isEmpty()
                            ? null
                            : new Cluster(
                                    clusters.get(i), configuration.get(Settings.CLICKHOUSE_QUORUM));
            all.add(options(configuration, urls.get(i)).withCluster(cluster));
        }
        return all;
    }

    /** The name of each shard's cluster; none if there are no replicas. */
    private static List<String> clusters(Configuration configuration, int shards) {
        Optional<String> names = configuration.find(Settings.CLICKHOUSE_CLUSTER);
        if (names.isEmpty() || shards == 0) {
            return names.stream().toList();
        }
        List<String> clusters = List.of(names.get().split("\\s*,\\s*", -1));
        require(
                clusters.size() == shards,
                "[clickhouse] cluster must name a cluster for each of the "
                        + shards
                        + " shards, separated by commas: that of its replicas");
        return clusters;
    }

    private static void require(boolean fits, String otherwise) {
        if (!fits) {
            throw new ConfigurationException(DaemonCodes.BAD_CONFIGURATION, otherwise);
        }
    }

    /** What is set by itself wins over what the URL has. */
    private static ClickHouseOptions options(Configuration configuration, String url) {
        ClickHouseOptions inUrl = ClickHouseOptions.at(url);
        String user = configuration.get(Settings.CLICKHOUSE_USER);
        String password =
                configuration
                        .find(Settings.CLICKHOUSE_PASSWORD_FILE)
                        .map(PasswordFiles::firstLine)
                        .orElseGet(() -> configuration.get(Settings.CLICKHOUSE_PASSWORD));
        return inUrl.withCredentials(
                        user.equals(Settings.CLICKHOUSE_USER.defaultText()) ? inUrl.user() : user,
                        password.isEmpty() ? inUrl.password() : password)
                .withCompression(compresses(configuration, inUrl.endpoints()));
    }

    private static boolean compresses(Configuration configuration, List<String> urls) {
        String wanted = configuration.get(Settings.CLICKHOUSE_COMPRESSION);
        return wanted.equals("auto")
                ? !urls.stream().allMatch(Targets::isLoopback)
                : wanted.equals("lz4");
    }

    /** Of literal addresses and {@code localhost}; no name is resolved for this. */
    private static boolean isLoopback(String url) {
        String host;
        try {
            host = new URI(url).getHost();
        } catch (URISyntaxException e) {
            return false; // the client says what is wrong with it
        }
        return host != null
                && (host.equalsIgnoreCase("localhost")
                        || host.startsWith("127.")
                        || host.equals("[::1]"));
    }

    /** The largest values that arrive exact. */
    static ValueLimits valueLimits(Configuration configuration) {
        return new ValueLimits(
                (int) Math.min(ValueLimit.NONE.bytes(), configuration.get(Settings.MEMORY_VALUE)),
                ValueLimit.Oversized.valueOf(
                        configuration.get(Settings.TABLES_OVERSIZED).toUpperCase(Locale.ROOT)),
                configuration.nameRules().oversized());
    }

    /** Where unchanged values out of line come from. */
    static ToastMode toastMode(Configuration configuration) {
        return ToastMode.valueOf(configuration.get(Settings.TOAST_MODE).toUpperCase(Locale.ROOT));
    }

    public static TargetTables tables(
            Configuration configuration,
            ClickHouseClient client,
            long systemIdentifier,
            ConnectionSettings source,
            IntFunction<SourceEncoding> encoding,
            DatumRenderer renderer) {
        String metadata = configuration.get(Settings.CLICKHOUSE_METADATA_DATABASE);
        MappingRules rules =
                MappingRules.defaults()
                        .withTime64(hasTime64(client))
                        .withRenderer(renderer)
                        .withKeptToast(toastMode(configuration) == ToastMode.CLICKHOUSE)
                        .withNames(
                                configuration.get(Settings.CLICKHOUSE_DATABASE_PREFIX),
                                metadata,
                                configuration.nameRules().schemas())
                        .withTables(configuration.nameRules().tables())
                        .withAppend(
                                configuration.get(Settings.TABLES_APPEND).stream()
                                        .map(TablePattern::of)
                                        .toList());
        HashKey salt = salt(configuration);
        if (salt != null) {
            rules = rules.withHashKey(salt);
        }
        return TargetTables.open(
                client,
                new TargetOptions(
                        metadata,
                        systemIdentifier,
                        source.toString(),
                        rules,
                        encoding,
                        TargetOptions.OnDrop.valueOf(
                                configuration
                                        .get(Settings.TABLES_ON_DROP)
                                        .toUpperCase(Locale.ROOT)),
                        configuration.get(Settings.TABLES_ON_DETACH).equals("retain"),
                        configuration.get(Settings.TABLES_INITIAL_LOAD).equals("copy"),
                        TargetOptions.OnExisting.valueOf(
                                configuration
                                        .get(Settings.TABLES_ON_EXISTING)
                                        .toUpperCase(Locale.ROOT)),
                        new ViewNames(configuration.get(Settings.TABLES_VIEWS)),
                        distributed(configuration)));
    }

    /** What reads all shards; null: there is one. */
    private static @Nullable Distributed distributed(Configuration configuration) {
        return configuration.get(Settings.CLICKHOUSE_SHARDS).isEmpty()
                ? null
                : new Distributed(
                        new ViewNames(configuration.get(Settings.TABLES_DISTRIBUTED)),
                        configuration.find(Settings.CLICKHOUSE_DISTRIBUTED_CLUSTER).orElse(""));
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

    /** The shadow's server binaries. */
    static Path binaries(Configuration configuration, int major) {
        return ShadowBinaries.find(
                configuration.find(Settings.SHADOW_BINARIES).orElse(null),
                major,
                () -> EmbeddedPostgresBinaries.unpack(major));
    }

    private static boolean hasTime64(ClickHouseClient client) {
        return client.shards().stream()
                .allMatch(shard ->
                        "1"
                                .equals(
                                        shard.queryValue(
                                                "SELECT count() FROM system.data_type_families"
                                                        + " WHERE name = 'Time64'")));
    }
}
