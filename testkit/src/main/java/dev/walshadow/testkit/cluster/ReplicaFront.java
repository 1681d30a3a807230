package dev.walshadow.testkit.cluster;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/**
 * One host of a ClickHouse cluster, in front of an engine that has no Keeper: takes the statements
 * of a cluster, has the engine parse them as they are, and lets it carry them out without {@code ON
 * CLUSTER} and with the engine that is not replicated. Several fronts of one engine are replicas
 * that have always caught up. A front can be closed, and lose answers.
 *
 * <p>Fronts of several engines are shards of the cluster {@code all}. A Distributed table becomes
 * one that reads the engine's own table: engines do not reach each other.
 */
public final class ReplicaFront implements AutoCloseable {
    private static final Set<String> NOT_FORWARDED =
            Set.of("connection", "content-length", "host", "transfer-encoding", "expect");
    private static final List<String> CHANGING =
            List.of("CREATE ", "DROP ", "TRUNCATE ", "ALTER ", "RENAME ", "EXCHANGE ");

    private static final Pattern DISTRIBUTED =
            Pattern.compile(
                    "ENGINE = Distributed\\('all', ('[^']*'), '([^']*)'(, sipHash64\\([^)]*\\))?\\)"
                            + " COMMENT");

    private final String engine;
    private final String cluster;
    private final int shard;
    private final HttpServer server;
    private final ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final AtomicInteger losses = new AtomicInteger();
    private final AtomicInteger inserts = new AtomicInteger();
    private final List<String> wrong = new CopyOnWriteArrayList<>();

    /**
     * @param engine URL of the engine
     * @param cluster the name that {@code ON CLUSTER} must have
     */
    public ReplicaFront(String engine, String cluster) {
        this(engine, cluster, 1);
    }

    /**
     * @param shard which one of the cluster {@code all} the host takes itself for, from 1
     */
    public ReplicaFront(String engine, String cluster, int shard) {
        this.engine = engine;
        this.cluster = cluster;
        this.shard = shard;
        try {
            server =
                    HttpServer.create(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(workers);
        server.createContext("/", this::answer);
        server.start();
    }

    /** {@code host:port}. */
    public String address() {
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    /** The next INSERTs are carried out and not answered. */
    public void loseAnswers(int count) {
        losses.set(count);
    }

    /** INSERTs that came here. */
    public int inserts() {
        return inserts.get();
    }

    /** Statements that change tables of this host alone, or that ClickHouse cannot parse. */
    public List<String> wrong() {
        return wrong;
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            String query = String.valueOf(exchange.getRequestURI().getRawQuery());
            boolean insert = query.contains("query=INSERT") || startsWith(body, "INSERT");
            if (insert) {
                inserts.incrementAndGet();
            } else {
                body = ofOneServer(body);
            }
            HttpResponse<byte[]> answer = forward(exchange, body);
            if (insert && losses.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                return;
            }
            answer.headers()
                    .map()
                    .forEach((name, values) -> {
                        if (!NOT_FORWARDED.contains(name)) {
                            exchange.getResponseHeaders().put(name, values);
                        }
                    });
            byte[] text = answer.body();
            exchange.sendResponseHeaders(answer.statusCode(), text.length == 0 ? -1 : text.length);
            exchange.getResponseBody().write(text);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean startsWith(byte[] body, String word) {
        return new String(body, 0, Math.min(body.length, 32), StandardCharsets.ISO_8859_1)
                .stripLeading()
                .startsWith(word);
    }

    private byte[] ofOneServer(byte[] body) {
        String sql = new String(body, StandardCharsets.UTF_8);
        String clause = " ON CLUSTER `" + cluster + "`";
        if (CHANGING.stream().anyMatch(sql::startsWith)) {
            if (!sql.contains(clause)) {
                wrong.add(sql);
            } else {
                requireParsed(sql);
            }
        }
        return DISTRIBUTED
                .matcher(sql.replace(clause, ""))
                .replaceAll("ENGINE = Merge($1, '^$2\\$') COMMENT")
                .replace("engine = 'Distributed'", "engine = 'Merge'")
                .replace("ENGINE = ReplicatedReplacingMergeTree(", "ENGINE = ReplacingMergeTree(")
                .replace(
                        "system.clusters",
                        "(SELECT '"
                                + cluster
                                + "' AS cluster, 1 AS shard_num, 1 AS shard_weight, 1 AS is_local"
                                + " UNION ALL SELECT 'all', arrayJoin([1, 2]) AS n, 1, n = "
                                + shard
                                + ")")
                .replace("system.macros", "(SELECT arrayJoin(['shard', 'replica']) AS macro)")
                .getBytes(StandardCharsets.UTF_8);
    }

    private void requireParsed(String sql) {
        try {
            HttpResponse<String> answer =
                    client.send(
                            HttpRequest.newBuilder(URI.create(engine + "/"))
                                    .POST(HttpRequest.BodyPublishers.ofString("EXPLAIN AST " + sql))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                wrong.add(sql + ": " + answer.body());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private HttpResponse<byte[]> forward(HttpExchange exchange, byte[] body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(engine + exchange.getRequestURI()));
        exchange.getRequestHeaders()
                .forEach((name, values) -> {
                    if (!NOT_FORWARDED.contains(name.toLowerCase(Locale.ROOT))) {
                        values.forEach(value -> request.header(name, value));
                    }
                });
        return client.send(
                request.method(
                                exchange.getRequestMethod(),
                                HttpRequest.BodyPublishers.ofByteArray(body))
                        .build(),
                HttpResponse.BodyHandlers.ofByteArray());
    }

    @Override
    public void close() {
        shutDown();
    }

    /** From now on nobody listens at the address. */
    public void shutDown() {
        server.stop(0);
        workers.shutdownNow();
        client.shutdownNow();
    }
}
