package dev.walshadow.daemon.monitor;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.control.ControlServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The HTTP listener: {@code /} the status page, {@code /status.json}, {@code /metrics}, {@code
 * /healthz}, {@code /readyz}, and the JSON API with its {@code /openapi.json}. Reading takes no
 * authentication, so on a loopback address it answers only requests that name this machine: a page
 * of some web site cannot read it through a browser, whatever its name resolves to.
 */
public final class MonitorServer implements AutoCloseable {
    /** What it shows. Asked by any thread, also before the replication has started. */
    public interface View {
        /** As {@code walshadow status --json}, with or without its tables. */
        ObjectNode status(boolean withTables);

        /** The effective settings without secrets, and the events: what only the page shows. */
        void describe(ObjectNode into);

        CommitLatency latency();
    }

    private interface Answer {
        void to(HttpExchange exchange) throws IOException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(MonitorServer.class);
    private static final int BACKLOG = 64;

    private final HttpServer server;
    private final ExecutorService threads;
    private final View view;
    private final HttpApi api;
    private final StatusPage page = StatusPage.load();
    private final boolean loopback;

    private MonitorServer(HttpServer server, View view, HttpApi api) {
        this.server = server;
        this.view = view;
        this.api = api;
        this.loopback = server.getAddress().getAddress().isLoopbackAddress();
        this.threads = Executors.newVirtualThreadPerTaskExecutor();
        server.setExecutor(threads);
        serve("/", this::page);
        serve("/status.json", this::status);
        serve("/metrics", this::metrics);
        serve("/healthz", this::healthy);
        serve("/readyz", this::ready);
        serve("/openapi.json", this::describeApi);
        serve(HttpApi.ROOT, this::callApi);
    }

    /**
     * Binds and serves.
     *
     * @param requests answers the API, as the control socket
     * @param token lets somebody change something; null: nobody
     * @throws ConfigurationException if the address cannot be bound
     */
    public static MonitorServer start(
            InetSocketAddress configured,
            View view,
            ControlServer.Handler requests,
            @Nullable ApiToken token) {
        InetSocketAddress address =
                new InetSocketAddress(configured.getHostString(), configured.getPort());
        try {
            MonitorServer monitor =
                    new MonitorServer(
                            HttpServer.create(address, BACKLOG),
                            view,
                            new HttpApi(requests, token));
            monitor.server.start();
            LOG.info("status page and metrics at {}", monitor.url());
            if (!monitor.loopback) {
                LOG.warn(
                        "[http] listen is {}: whoever reaches that address sees the status page{}",
                        address,
                        token == null ? "" : ", and the token passes there unencrypted");
            }
            return monitor;
        } catch (IOException | IllegalArgumentException e) {
            throw new ConfigurationException(
                    DaemonCodes.HTTP_ADDRESS,
                    "[http] listen: "
                            + configured.getHostString()
                            + ":"
                            + configured.getPort()
                            + " cannot be used ("
                            + e.getMessage()
                            + "); give it an address of this machine with a free port, or take it"
                            + " out",
                    e);
        }
    }

    /** From now on this token is asked for; null: nobody may change anything. */
    public void admit(@Nullable ApiToken token) {
        api.admit(token);
    }

    /** Where it listens, with the port that was chosen. */
    public String url() {
        InetSocketAddress bound = server.getAddress();
        String host = bound.getAddress().getHostAddress();
        return "http://"
                + (host.contains(":") ? "[" + host + "]" : host)
                + ":"
                + bound.getPort()
                + "/";
    }

    private void serve(String path, Answer answer) {
        server.createContext(
                path,
                exchange -> {
                    try (exchange) {
                        answer(exchange, path, answer);
                    } catch (RuntimeException e) {
                        LOG.warn("{} could not be answered", path, e);
                    }
                });
    }

    private void answer(HttpExchange exchange, String path, Answer answer) throws IOException {
        String method = exchange.getRequestMethod();
        boolean isApi = path.equals(HttpApi.ROOT);
        if (loopback && !namesThisMachine(exchange.getRequestHeaders().getFirst("Host"))) {
            send(exchange, 403, "text/plain", "ask by the name localhost\n");
        } else if (!isApi && !exchange.getRequestURI().getPath().equals(path)) {
            send(
                    exchange,
                    404,
                    "text/plain",
                    "there are /, /status.json, /metrics, /healthz, /readyz, /openapi.json\n");
        } else if (!isApi && !method.equals("GET") && !method.equals("HEAD")) {
            exchange.getResponseHeaders().set("Allow", "GET, HEAD");
            send(exchange, 405, "text/plain", "only GET\n");
        } else {
            answer.to(exchange);
        }
    }

    private static boolean namesThisMachine(@Nullable String host) {
        String name =
                host == null
                        ? "localhost"
                        : host.toLowerCase(Locale.ROOT).replaceFirst(":\\d+$", "");
        return name.equals("localhost") || name.equals("[::1]") || name.matches("127(\\.\\d+){3}");
    }

    private void page(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().set("Content-Security-Policy", page.securityPolicy());
        send(exchange, 200, "text/html; charset=utf-8", page.html());
    }

    private void status(HttpExchange exchange) throws IOException {
        ObjectNode status = view.status(true);
        view.describe(status);
        status.put("api", api.access());
        send(exchange, 200, "application/json", status + "\n");
    }

    private void describeApi(HttpExchange exchange) throws IOException {
        send(exchange, 200, "application/json", HttpApi.description() + "\n");
    }

    private void callApi(HttpExchange exchange) throws IOException {
        HttpApi.Reply reply = api.answer(exchange);
        reply.headers().forEach(exchange.getResponseHeaders()::set);
        send(exchange, reply.code(), "application/json", reply.body() + "\n");
    }

    private void metrics(HttpExchange exchange) throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        Metrics.write(view.status(true), view.latency(), text);
        send(exchange, 200, Metrics.contentType(), text.toString(StandardCharsets.UTF_8));
    }

    private void healthy(HttpExchange exchange) throws IOException {
        JsonNode status = view.status(false);
        boolean failed = status.path("phase").asString("").equals("failed");
        send(
                exchange,
                failed ? 503 : 200,
                "text/plain; charset=utf-8",
                failed ? status.path("failure").asString("") + "\n" : "ok\n");
    }

    private void ready(HttpExchange exchange) throws IOException {
        String reason = unready(view.status(false));
        send(
                exchange,
                reason.isEmpty() ? 200 : 503,
                "text/plain; charset=utf-8",
                reason.isEmpty() ? "ok\n" : reason + "\n");
    }

    /** Why readers should not rely on the replica being kept up to date; empty if they can. */
    static String unready(JsonNode status) {
        String phase = status.path("phase").asString("");
        if (!phase.equals("streaming")) {
            return "the phase is " + phase;
        }
        if (status.path("paused").asBoolean(false)) {
            return "paused since " + status.path("paused_since").asString("");
        }
        if (!status.path("source_connected").asBoolean(false)) {
            return "the source's WAL stream is not connected";
        }
        return status.path("target_reachable").asBoolean(false) ? "" : "ClickHouse does not answer";
    }

    private static void send(HttpExchange exchange, int code, String type, String text)
            throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        exchange.getResponseHeaders().set("X-Content-Type-Options", "nosniff");
        boolean head = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(code, head ? -1 : bytes.length);
        if (!head) {
            exchange.getResponseBody().write(bytes);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
