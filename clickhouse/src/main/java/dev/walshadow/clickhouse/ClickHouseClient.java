package dev.walshadow.clickhouse;

import com.clickhouse.client.api.Client;
import com.clickhouse.client.api.ClientFaultCause;
import com.clickhouse.client.api.insert.InsertResponse;
import com.clickhouse.client.api.insert.InsertSettings;
import com.clickhouse.client.api.query.QueryResponse;
import com.clickhouse.client.api.query.QuerySettings;
import com.clickhouse.data.ClickHouseFormat;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.WalshadowException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one way to ClickHouse: HTTP through client-v2. Thread safe; calls block. Of several hosts one
 * is used until it cannot serve; then the next is, for all calls. Nothing is repeated here: every
 * failure is thrown once, classified ({@link ServerErrors}) as
 *
 * <ul>
 *   <li>{@link dev.walshadow.base.RetryException}: network, overload; repeat the same call;
 *   <li>{@link ConfigurationException}: user, password, rights, URL;
 *   <li>{@link dev.walshadow.base.QuarantineException}: ClickHouse refuses this statement or rows.
 * </ul>
 *
 * <p>ClickHouse's own code is found by {@link ServerError#codeOf}.
 *
 * <p>Of several shards each has a client, and the first shard's knows the others ({@link #shards}).
 */
public final class ClickHouseClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ClickHouseClient.class);
    private static final long KEEP_ALIVE_SECONDS = 5;

    private volatile Connection connection;

    /** Of the shards behind the first one. */
    private final List<ClickHouseClient> others;

    public ClickHouseClient(ClickHouseOptions options) {
        this(options, List.of());
    }

    private ClickHouseClient(ClickHouseOptions options, List<ClickHouseClient> others) {
        this.connection = new Connection(options);
        this.others = others;
    }

    /**
     * The client of the first of several shards, which knows the others.
     *
     * @param shards how to reach each; one at least
     */
    public static ClickHouseClient ofShards(List<ClickHouseOptions> shards) {
        List<ClickHouseClient> others = new ArrayList<>();
        try {
            for (ClickHouseOptions other : shards.subList(1, shards.size())) {
                others.add(new ClickHouseClient(other));
            }
            return new ClickHouseClient(shards.getFirst(), List.copyOf(others));
        } catch (RuntimeException e) {
            others.forEach(ClickHouseClient::close);
            throw e;
        }
    }

    /**
     * A client for each shard in their order, this one first. What is asked of this one goes to the
     * first shard only.
     */
    public List<ClickHouseClient> shards() {
        if (others.isEmpty()) {
            return List.of(this);
        }
        List<ClickHouseClient> all = new ArrayList<>(others.size() + 1);
        all.add(this);
        all.addAll(others);
        return all;
    }

    /** Whether rows lie on several shards. */
    public boolean isSharded() {
        return !others.isEmpty();
    }

    /** How to reach ClickHouse at a time. Closed when it is not used any more. */
    private static final class Connection {
        private final ClickHouseOptions options;
        private final List<String> endpoints;
        private final List<Client> clients;
        private final AtomicInteger current = new AtomicInteger();
        private int users;
        private boolean retired;

        Connection(ClickHouseOptions options) {
            this.options = options;
            this.endpoints = options.endpoints();
            this.clients = endpoints.stream().map(endpoint -> build(options, endpoint)).toList();
        }

        /** What the call failed with at this host, after which another may be the current one. */
        WalshadowException failed(int at, String what, Exception failure) {
            String endpoint = endpoints.get(at);
            WalshadowException known =
                    ServerErrors.classify(what, endpoint, options.user(), failure);
            int next = (at + 1) % endpoints.size();
            if (next != at
                    && !Thread.currentThread().isInterrupted()
                    && ServerErrors.asksForAnotherHost(known)
                    && current.compareAndSet(at, next)) {
                LOG.warn(
                        "{} going on with ClickHouse at {}: {}",
                        ClickHouseCodes.FAILOVER,
                        endpoints.get(next),
                        known.getMessage());
            }
            return known;
        }

        private void closeAll() {
            clients.forEach(Client::close);
        }

        /** False: another connection is to be used. */
        synchronized boolean begin() {
            if (!retired) {
                users++;
            }
            return !retired;
        }

        void end() {
            if (change(-1, false)) {
                closeAll();
            }
        }

        void retire() {
            if (change(0, true)) {
                closeAll();
            }
        }

        /** Whether that was the last use. */
        private synchronized boolean change(int more, boolean retire) {
            boolean retiring = retire && !retired;
            retired |= retire;
            users += more;
            return retired && users == 0 && (more != 0 || retiring);
        }
    }

    private Connection begin() {
        while (true) {
            Connection now = connection;
            if (now.begin()) {
                return now;
            }
            if (now == connection) {
                throw new IllegalStateException("the ClickHouse client is closed");
            }
        }
    }

    /**
     * From now on calls go this way; those under way end as they began.
     *
     * @throws ConfigurationException if no connection can be set up; nothing has changed
     */
    public synchronized void use(ClickHouseOptions newOptions) {
        Connection before = connection;
        connection = new Connection(newOptions);
        before.retire();
    }

    private static Client build(ClickHouseOptions options, String endpoint) {
        try {
            Client.Builder builder =
                    new Client.Builder()
                            .addEndpoint(endpoint)
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
                            + endpoint
                            + " ("
                            + e.getMessage()
                            + ")",
                    e);
        }
    }

    public ClickHouseOptions options() {
        return connection.options;
    }

    /** The host that calls go to now. */
    public String endpoint() {
        Connection now = connection;
        return now.endpoints.get(now.current.get());
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
        return insert(
                Ddl.qualified(database, table),
                deduplicationToken,
                out -> {
                    for (NativeBlock block : blocks) {
                        block.writeTo(out);
                    }
                });
    }

    /**
     * Inserts those rows of a block that go to one place.
     *
     * @param deduplicationToken the same for a repetition of the same rows
     */
    public long insert(
            String database,
            String table,
            NativeBlock block,
            RowSplit split,
            int place,
            String deduplicationToken) {
        return insert(
                Ddl.qualified(database, table),
                deduplicationToken,
                out -> block.writeTo(out, split, place));
    }

    /** Writes a whole body. */
    @FunctionalInterface
    private interface BodyWriter {
        void write(OutputStream out) throws IOException;
    }

    private long insert(String target, String deduplicationToken, BodyWriter body) {
        Connection by = begin();
        try {
            return insert(by, target, deduplicationToken, body);
        } finally {
            by.end();
        }
    }

    private static long insert(
            Connection by, String target, String deduplicationToken, BodyWriter body) {
        InsertSettings settings =
                new InsertSettings()
                        .setDatabase(by.options.database())
                        .setDeduplicationToken(deduplicationToken)
                        .serverSetting("async_insert", "0")
                        // row versions are merged by merges and FINAL, not once more before
                        .serverSetting("optimize_on_insert", "0")
                        // the default drops columns that the table lacks, without a word
                        .serverSetting("input_format_skip_unknown_fields", "0");
        return call(
                by,
                "insert into " + target,
                client -> {
                    try (InsertResponse response =
                            client.insert(
                                            target,
                                            out -> {
                                                body.write(out);
                                                out.close();
                                            },
                                            ClickHouseFormat.Native,
                                            settings)
                                    .get()) {
                        return response.getWrittenRows();
                    }
                });
    }

    /** One statement at one host. */
    @FunctionalInterface
    private interface Call<T> {
        T on(Client client) throws Exception;
    }

    /** Where nothing has reached a host, the next one is asked at once. */
    private static <T> T call(Connection by, String what, Call<T> call) {
        for (int tried = 1; ; tried++) {
            int at = by.current.get();
            try {
                return call.on(by.clients.get(at));
            } catch (InterruptedException e) {
                throw ServerErrors.interrupted(what, e);
            } catch (Exception e) {
                WalshadowException known = by.failed(at, what, e);
                if (tried >= by.clients.size() || !ServerErrors.reachedNobody(e)) {
                    throw known;
                }
            }
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
        Cluster cluster = options().cluster();
        String statement = cluster == null ? sql : cluster.spread(sql);
        Connection by = begin();
        try {
            call(
                    by,
                    "\"" + shortened(sql) + "\"",
                    client -> read(client, statement, query, reader));
        } finally {
            by.end();
        }
    }

    @SuppressWarnings("try") // client-v2 declares close() throws Exception
    private static boolean read(
            Client client, String statement, QuerySettings query, BodyReader reader)
            throws Exception {
        try (QueryResponse response = client.query(statement, query).get()) {
            InputStream in = response.getInputStream();
            if (in != null) {
                reader.read(in);
            }
            return in != null;
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
        connection.retire();
        others.forEach(ClickHouseClient::close);
    }
}
