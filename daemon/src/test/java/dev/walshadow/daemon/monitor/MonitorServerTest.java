package dev.walshadow.daemon.monitor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.ConfigurationException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

final class MonitorServerTest {
    private static final String SECRET = "0123456789abcdef0123";

    private final Pages.Shown shown = new Pages.Shown();
    private final Pages.Asked control = new Pages.Asked();
    private final ApiToken token = new ApiToken(SECRET);
    private final MonitorServer server =
            MonitorServer.start(
                    InetSocketAddress.createUnresolved("127.0.0.1", 0), shown, control, token);

    @AfterEach
    void close() {
        server.close();
    }

    private String ask(String requestLine, String host) throws IOException {
        return ask(requestLine, host, "");
    }

    private String ask(String requestLine, String host, String body) throws IOException {
        URI at = URI.create(server.url());
        try (Socket socket = new Socket(at.getHost(), at.getPort())) {
            String request =
                    requestLine
                            + " HTTP/1.1\r\nHost: "
                            + host
                            + "\r\nConnection: close\r\n\r\n"
                            + body;
            socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String post(String path, String authorization, String body) throws IOException {
        return ask(
                "POST " + path,
                "localhost\r\nContent-Length: "
                        + body.length()
                        + (authorization.isEmpty() ? "" : "\r\nAuthorization: " + authorization),
                body);
    }

    private String get(String path) throws IOException {
        return ask("GET " + path, "localhost:1");
    }

    @Test
    void healthIsBadOnceTheReplicationHasFailed() throws IOException {
        assertThat(get("/healthz")).startsWith("HTTP/1.1 200");
        shown.status.set(
                Pages.read("{\"phase\":\"failed\",\"failure\":\"WS-1452 the WAL is gone\"}"));
        assertThat(get("/healthz")).startsWith("HTTP/1.1 503").contains("WS-1452");
    }

    @Test
    void itIsReadyWhileItStreamsBetweenServersThatAnswer() throws IOException {
        assertThat(get("/readyz")).startsWith("HTTP/1.1 200");
        shown.status.get().put("target_reachable", false);
        assertThat(get("/readyz"))
                .startsWith("HTTP/1.1 503")
                .contains("ClickHouse does not answer");
        shown.status.get().put("source_connected", false);
        assertThat(get("/readyz")).contains("WAL stream is not connected");
        shown.status.get().put("paused", true).put("paused_since", "2026-01-02T03:04:05Z");
        assertThat(get("/readyz")).contains("paused since 2026-01-02T03:04:05Z");
        shown.status.set(Pages.read("{\"phase\":\"bootstrap\"}"));
        assertThat(get("/readyz")).startsWith("HTTP/1.1 503").contains("the phase is bootstrap");
    }

    @Test
    void metricsAndStatusComeFromTheSameObject() throws IOException {
        assertThat(get("/metrics"))
                .contains("text/plain; version=0.0.4")
                .contains("walshadow_rows_total 1200.0");
        assertThat(get("/status.json"))
                .contains("application/json")
                .contains("\"rows\":1200")
                .contains("\"settings\":[");
    }

    @Test
    void onlyReadingRequestsForKnownPathsAreAnswered() throws IOException {
        assertThat(ask("POST /status.json", "localhost")).startsWith("HTTP/1.1 405");
        assertThat(get("/status.json/x")).startsWith("HTTP/1.1 404");
        assertThat(get("/favicon.ico")).startsWith("HTTP/1.1 404");
        assertThat(ask("HEAD /", "localhost")).startsWith("HTTP/1.1 200").endsWith("\r\n\r\n");
    }

    @Test
    void aNameThatAWebSiteChoseIsRefused() throws IOException {
        assertThat(ask("GET /status.json", "rebound.example:80")).startsWith("HTTP/1.1 403");
        assertThat(ask("GET /status.json", "localhost.rebound.example")).startsWith("HTTP/1.1 403");
        assertThat(ask("GET /status.json", "127.0.0.1:9")).startsWith("HTTP/1.1 200");
        assertThat(ask("GET /status.json", "[::1]")).startsWith("HTTP/1.1 200");
    }

    @Test
    void withTheTokenTheApiDoesWhatTheControlSocketDoes() throws IOException {
        String right = "Bearer " + SECRET;
        assertThat(post("/api/v1/pause", right, "{\"reason\":\"upgrade\"}"))
                .startsWith("HTTP/1.1 200")
                .contains("\"ok\":true");
        assertThat(post("/api/v1/remove", right, "{\"tables\":[\"a.b\"],\"drop\":true}"))
                .startsWith("HTTP/1.1 200");
        assertThat(post("/api/v1/resume", "bearer  " + SECRET + " ", ""))
                .startsWith("HTTP/1.1 200");
        assertThat(control.requests.toString())
                .isEqualTo(
                        "[{\"reason\":\"upgrade\",\"command\":\"pause\"},"
                                + " {\"tables\":[\"a.b\"],\"drop\":true,\"command\":\"remove\"},"
                                + " {\"command\":\"resume\"}]");
        assertThat(post("/api/v1/resync", right, "{\"tables\":[\"a.absent\"]}"))
                .startsWith("HTTP/1.1 400")
                .contains("{\"ok\":false,\"error\":\"no table that is followed is absent\"}");
    }

    @Test
    void withoutTheRightTokenNothingIsAskedOfTheDaemon() throws IOException {
        for (String wrong :
                List.of("", "Bearer", "Bearer ", "Bearer " + SECRET + "0", "Basic " + SECRET)) {
            assertThat(post("/api/v1/pause", wrong, ""))
                    .as(wrong)
                    .startsWith("HTTP/1.1 401")
                    .contains("Www-authenticate: Bearer");
        }
        String rebound =
                ask("POST /api/v1/pause", "evil.example\r\nAuthorization: Bearer " + SECRET);
        assertThat(rebound).startsWith("HTTP/1.1 403");
        assertThat(control.requests).isEmpty();
        assertThat(get("/api/v1/tables")).startsWith("HTTP/1.1 200").contains("\"of status\"");
    }

    @Test
    void withoutATokenTheApiIsReadOnly() throws IOException {
        MonitorServer readOnly =
                MonitorServer.start(
                        InetSocketAddress.createUnresolved("127.0.0.1", 0), shown, control, null);
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> refused =
                    client.send(
                            HttpRequest.newBuilder(URI.create(readOnly.url() + "api/v1/pause"))
                                    .header("Authorization", "Bearer " + SECRET)
                                    .POST(HttpRequest.BodyPublishers.noBody())
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(refused.statusCode()).isEqualTo(403);
            assertThat(refused.body()).contains("[http] token_file");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            readOnly.close();
        }
        assertThat(control.requests).isEmpty();
        assertThat(get("/status.json")).contains("\"api\":\"token\"");
    }

    @Test
    void whatIsNotUnderstoodIsRefusedAsAWhole() throws IOException {
        String right = "Bearer " + SECRET;
        for (String body :
                List.of(
                        "[]",
                        "{\"tables\":",
                        "{\"tables\":\"a.b\"}",
                        "{\"tables\":[1]}",
                        "{\"tables\":[\"a.b\"],\"table\":\"c\"}",
                        "{\"command\":\"remove\",\"tables\":[\"a.b\"]}",
                        "{}",
                        "")) {
            assertThat(post("/api/v1/add", right, body)).as(body).startsWith("HTTP/1.1 400");
        }
        assertThat(post("/api/v1/add", right, " ".repeat(70_000))).startsWith("HTTP/1.1 413");
        assertThat(post("/api/v1/fly", right, "")).startsWith("HTTP/1.1 404");
        assertThat(post("/api/v1/status", right, "")).startsWith("HTTP/1.1 405");
        assertThat(get("/api/v1/pause")).startsWith("HTTP/1.1 405").contains("Allow: POST");
        assertThat(control.requests).isEmpty();
    }

    @Test
    void theOpenApiDocumentDescribesExactlyWhatIsServed() throws IOException {
        String answer = get("/openapi.json");
        JsonNode paths = Pages.read(answer.substring(answer.indexOf("\r\n\r\n"))).path("paths");
        assertThat(paths.propertyNames())
                .hasSize(ApiRoute.ALL.size())
                .contains("/api/v1/pause", "/api/v1/status");
        for (Map.Entry<String, JsonNode> path : paths.properties()) {
            assertThat(path.getValue().propertyNames()).hasSize(1);
            String method = path.getValue().propertyNames().iterator().next();
            String expected = method.equals("get") ? "HTTP/1.1 200" : "HTTP/1.1 401";
            assertThat(ask(method.toUpperCase(Locale.ROOT) + " " + path.getKey(), "localhost"))
                    .as(path.getKey())
                    .startsWith(expected);
            assertThat(path.getValue().path(method).has("security"))
                    .isEqualTo(method.equals("post"));
        }
    }

    @Test
    void aTokenFileThatIsNoSecretIsRefusedWithoutItsText(@TempDir Path directory)
            throws IOException {
        Path file = directory.resolve("token");
        assertThatThrownBy(() -> ApiToken.read(file)).hasMessageContaining("WS-1946");
        for (String text : List.of("", "\n0123456789abcdef", "tooshort", "0123456789 abcdef0")) {
            Files.writeString(file, text);
            assertThatThrownBy(() -> ApiToken.read(file))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("WS-1946")
                    .hasMessageContaining("openssl rand")
                    .hasMessageNotContaining("tooshort");
        }
        Files.writeString(file, SECRET + "\nmore\n");
        assertThat(ApiToken.read(file).admits("Bearer " + SECRET)).isTrue();
    }

    @Test
    void anAddressInUseIsOneMessageWithItsRemedy() {
        int port = URI.create(server.url()).getPort();
        InetSocketAddress same = InetSocketAddress.createUnresolved("127.0.0.1", port);
        assertThatThrownBy(() -> MonitorServer.start(same, shown, control, token))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1940")
                .hasMessageContaining("127.0.0.1:" + port)
                .hasMessageContaining("free port");
    }
}
