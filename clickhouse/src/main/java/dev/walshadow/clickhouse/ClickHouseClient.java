package dev.walshadow.clickhouse;

import com.clickhouse.client.api.Client;
import com.clickhouse.client.api.ClientFaultCause;
import com.clickhouse.client.api.insert.InsertResponse;
import com.clickhouse.client.api.insert.InsertSettings;
import com.clickhouse.client.api.query.QueryResponse;
import com.clickhouse.client.api.query.QuerySettings;
import com.clickhouse.data.ClickHouseFormat;
import dev.walshadow.base.ConfigurationException;
import java.io.IOException;
import java.io.InputStream;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The one way to ClickHouse: HTTP through client-v2. Thread safe; calls block. Nothing is repeated
 * here: every failure is thrown once, classified ({@link ServerErrors}) as
 *
 * <ul>
 *   <li>{@link dev.walshadow.base.RetryException}: network, overload; repeat the same call;
 *   <li>{@link ConfigurationException}: user, password, rights, URL;
 *   <li>{@link dev.walshadow.base.QuarantineException}: ClickHouse refuses this statement or rows.
 * </ul>
 *
 * <p>ClickHouse's own code is found by {@link ServerError#codeOf}.
 */
public final class ClickHouseClient implements AutoCloseable {
    private static final long KEEP_ALIVE_SECONDS = 5;

    private final ClickHouseOptions options;
    private final Client client;

    public ClickHouseClient(ClickHouseOptions options) {
        this.options = options;
        this.client = build(options);
    }

    private static Client build(ClickHouseOptions options) {
        try {
            Client.Builder builder =
                    new Client.Builder()
                            .addEndpoint(options.url())
                            .setUsername(options.user())
                            .setPassword(options.password())
                            .setDefaultDatabase(options.database())
                            .compressClientRequest(options.compression())
                            .compressServerResponse(options.compression())
                            .useHttpCompression(false)
                            .setMaxConnections(options.maxConnections())
                            .setConnectTimeout(options.connectTimeout().toMillis())
                            .setSocketTimeout(options.socketTimeout().toMillis())
                            // below the idle limits of servers and proxies, which close silently
                            .setKeepAliveTimeout(KEEP_ALIVE_SECONDS, ChronoUnit.SECONDS)
                            .setMaxRetries(0)
                            .retryOnFailures(ClientFaultCause.None)
                            .useAsyncRequests(false)
                            .setClientName("walshadow");
            options.settings().forEach(builder::serverSetting);
            return builder.build();
        } catch (RuntimeException e) {
            throw new ConfigurationException(
                    ClickHouseCodes.OPTIONS,
                    "the ClickHouse connection cannot be set up: expected a URL like"
                            + " http://host:8123, found "
                            + options.url()
                            + " ("
                            + e.getMessage()
                            + ")",
                    e);
        }
    }

    public ClickHouseOptions options() {
        return options;
    }

    /**
     * Inserts the blocks in one statement; on return they are durable by ClickHouse's own rules.
     *
     * @param deduplicationToken the same for a repetition of the same rows; the table drops what it
     *     has seen under this token within its window
     * @return rows that ClickHouse says it wrote
     */
    public long insert(
            String database, String table, List<NativeBlock> blocks, String deduplicationToken) {
        InsertSettings settings =
                new InsertSettings()
                        .setDatabase(options.database())
                        .setDeduplicationToken(deduplicationToken)
                        .serverSetting("async_insert", "0")
                        // the default drops columns that the table lacks, without a word
                        .serverSetting("input_format_skip_unknown_fields", "0");
        String target = Ddl.qualified(database, table);
        String what = "insert into " + target;
        CompletableFuture<InsertResponse> answer;
        try {
            answer =
                    client.insert(
                            target,
                            out -> {
                                for (NativeBlock block : blocks) {
                                    block.writeTo(out);
                                }
                                out.close();
                            },
                            ClickHouseFormat.Native,
                            settings);
            try (InsertResponse response = answer.get()) {
                return response.getWrittenRows();
            }
        } catch (ExecutionException | RuntimeException e) {
            throw ServerErrors.classify(what, options, e);
        } catch (InterruptedException e) {
            throw ServerErrors.interrupted(what, e);
        }
    }

    public long insert(String database, String table, NativeBlock block, String token) {
        return insert(database, table, List.of(block), token);
    }

    /** Runs a statement without a result, e.g. DDL or {@code INSERT ... SELECT}. */
    public void execute(String sql) {
        execute(sql, Map.of());
    }

    public void execute(String sql, Map<String, String> settings) {
        read(sql, settings, ClickHouseFormat.TabSeparated, true, in -> in.skip(Long.MAX_VALUE));
    }

    /** A small result as text, NULL as null. */
    public List<@Nullable String[]> query(String sql) {
        List<@Nullable String[]> rows = new ArrayList<>();
        RowConsumer collect =
                row -> {
                    @Nullable String[] texts = new @Nullable String[row.columns()];
                    Arrays.setAll(texts, row::text);
                    rows.add(texts);
                };
        read(
                sql,
                Map.of(),
                ClickHouseFormat.TabSeparated,
                true,
                in -> TabSeparatedReader.readAll(in, collect));
        return rows;
    }

    /** The first column of the first row; null for no row or NULL. */
    public @Nullable String queryValue(String sql) {
        List<@Nullable String[]> rows = query(sql);
        return rows.isEmpty() ? null : rows.getFirst()[0];
    }

    /** A result of any size, row by row, without holding it. */
    public void stream(String sql, Map<String, String> settings, RowConsumer consumer) {
        read(
                sql,
                settings,
                ClickHouseFormat.TabSeparated,
                false,
                in -> TabSeparatedReader.readAll(in, consumer));
    }

    public void stream(String sql, RowConsumer consumer) {
        stream(sql, Map.of(), consumer);
    }

    /** Reads a whole answer. */
    @FunctionalInterface
    public interface BodyReader {
        void read(InputStream in) throws IOException;
    }

    /** A result in RowBinary, for {@link ColumnBuffer#appendRowBinary}. */
    public void readRowBinary(String sql, BodyReader reader) {
        read(sql, Map.of(), ClickHouseFormat.RowBinary, true, reader);
    }

    @SuppressWarnings("try") // client-v2 declares close() throws Exception
    private void read(
            String sql,
            Map<String, String> settings,
            ClickHouseFormat format,
            boolean whole,
            BodyReader reader) {
        QuerySettings query = new QuerySettings().setFormat(format);
        if (whole) {
            query.waitEndOfQuery(true);
        }
        settings.forEach(query::serverSetting);
        String what = "\"" + shortened(sql) + "\"";
        try (QueryResponse response = client.query(sql, query).get()) {
            InputStream in = response.getInputStream();
            if (in != null) {
                reader.read(in);
            }
        } catch (InterruptedException e) {
            throw ServerErrors.interrupted(what, e);
        } catch (Exception e) {
            throw ServerErrors.classify(what, options, e);
        }
    }

    private static String shortened(String sql) {
        String oneLine = sql.strip().replaceAll("\\s+", " ");
        return oneLine.length() <= 120 ? oneLine : oneLine.substring(0, 117) + "...";
    }

    /** Fails, classified, unless ClickHouse answers and lets this user in. */
    public void ping() {
        query("SELECT 1");
    }

    public String serverVersion() {
        String version = queryValue("SELECT version()");
        return version == null ? "" : version;
    }

    @Override
    public void close() {
        client.close();
    }
}
