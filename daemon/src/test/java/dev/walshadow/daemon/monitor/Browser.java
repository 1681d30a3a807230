package dev.walshadow.daemon.monitor;

import dev.walshadow.base.FileTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Headless Chromium with one tab, spoken to by its DevTools protocol. */
final class Browser implements AutoCloseable {
    private static final JsonMapper JSON = new JsonMapper();
    private static final long PATIENCE_SECONDS = 150;
    private static final String LISTENING = "DevTools listening on ";

    private final Path profile;
    private final Process process;
    private final HttpClient client = HttpClient.newHttpClient();
    private final Map<Integer, CompletableFuture<JsonNode>> asked = new ConcurrentHashMap<>();
    private final AtomicInteger number = new AtomicInteger();
    private final WebSocket socket;
    private final String tab;

    private Browser(Path profile, Process process, URI tools) {
        this.profile = profile;
        this.process = process;
        this.socket = client.newWebSocketBuilder().buildAsync(tools, new Answers()).join();
        String target =
                call(null, "Target.createTarget", JSON.createObjectNode().put("url", "about:blank"))
                        .path("targetId")
                        .asString();
        this.tab =
                call(
                                null,
                                "Target.attachToTarget",
                                JSON.createObjectNode()
                                        .put("targetId", target)
                                        .put("flatten", true))
                        .path("sessionId")
                        .asString();
    }

    static Browser start() throws IOException {
        Path profile = Files.createTempDirectory("walshadow-browser");
        Process process =
                new ProcessBuilder(
                                List.of(
                                        "chromium",
                                        "--headless",
                                        "--no-sandbox",
                                        "--disable-gpu",
                                        "--disable-dev-shm-usage",
                                        "--disable-background-networking",
                                        "--no-first-run",
                                        "--no-proxy-server",
                                        "--remote-debugging-port=0",
                                        "--user-data-dir=" + profile,
                                        "about:blank"))
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
        return new Browser(profile, process, tools(process));
    }

    private static URI tools(Process process) throws IOException {
        BufferedReader errors = process.errorReader(StandardCharsets.UTF_8);
        StringBuilder said = new StringBuilder();
        for (String line = errors.readLine(); line != null; line = errors.readLine()) {
            if (line.startsWith(LISTENING)) {
                Thread.ofVirtual().start(() -> errors.lines().forEach(_ -> {}));
                return URI.create(line.substring(LISTENING.length()));
            }
            said.append(line).append('\n');
        }
        throw new IOException("chromium did not start:\n" + said);
    }

    private final class Answers implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public @Nullable CompletionStage<?> onText(
                WebSocket from, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                JsonNode answer = JSON.readTree(text.toString());
                text.setLength(0);
                CompletableFuture<JsonNode> waiting = asked.remove(answer.path("id").asInt(0));
                if (waiting != null) {
                    waiting.complete(answer);
                }
            }
            from.request(1);
            return null;
        }

        @Override
        public void onError(WebSocket from, Throwable error) {
            asked.values().forEach(waiting -> waiting.completeExceptionally(error));
        }
    }

    private JsonNode call(@Nullable String session, String method, ObjectNode parameters) {
        int id = number.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        asked.put(id, answer);
        ObjectNode request = JSON.createObjectNode().put("id", id).put("method", method);
        request.set("params", parameters);
        if (session != null) {
            request.put("sessionId", session);
        }
        socket.sendText(request.toString(), true).join();
        JsonNode given = answer.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
        if (given.has("error")) {
            throw new IllegalStateException(method + ": " + given.path("error"));
        }
        return given.path("result");
    }

    /** One command to the tab. */
    JsonNode call(String method, ObjectNode parameters) {
        return call(tab, method, parameters);
    }

    static ObjectNode parameters() {
        return JSON.createObjectNode();
    }

    void size(int width, int height) {
        call(
                "Emulation.setDeviceMetricsOverride",
                parameters()
                        .put("width", width)
                        .put("height", height)
                        .put("deviceScaleFactor", 1)
                        .put("mobile", width < 600));
    }

    void colours(String scheme) {
        ObjectNode media = parameters();
        media.putArray("features")
                .addObject()
                .put("name", "prefers-color-scheme")
                .put("value", scheme);
        call("Emulation.setEmulatedMedia", media);
    }

    /** Shows a page; returns when it has drawn itself once. */
    void show(String url) {
        call("Page.navigate", parameters().put("url", url));
        await("document.body && document.body.dataset.drawn");
    }

    /** The value of an expression, a promise's when it has come. */
    JsonNode evaluate(String expression) {
        JsonNode answer =
                call(
                        "Runtime.evaluate",
                        parameters()
                                .put("expression", expression)
                                .put("awaitPromise", true)
                                .put("returnByValue", true));
        if (answer.has("exceptionDetails")) {
            throw new IllegalStateException(expression + ": " + answer.path("exceptionDetails"));
        }
        return answer.path("result").path("value");
    }

    String text(String selector) {
        return evaluate(
                        "document.querySelector("
                                + JSON.writeValueAsString(selector)
                                + ").innerText.replace(/\\s+/g, ' ').trim()")
                .asString();
    }

    /** Waits until an expression is true in the page. */
    void await(String condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (true) {
            try {
                evaluate(
                        "new Promise((done) => { const look = () => { if ("
                                + condition
                                + ") done(true); else setTimeout(look, 20); }; look(); })");
                return;
            } catch (IllegalStateException e) {
                // the document was replaced meanwhile
                if (System.nanoTime() > deadline) {
                    throw e;
                }
            }
        }
    }

    void press(String key) {
        for (String type : List.of("keyDown", "keyUp")) {
            call(
                    "Input.dispatchKeyEvent",
                    parameters()
                            .put("type", type)
                            .put("key", key)
                            .put("code", key)
                            .put("windowsVirtualKeyCode", key.equals("Tab") ? 9 : 13));
        }
    }

    void type(String text) {
        call("Input.insertText", parameters().put("text", text));
    }

    byte[] picture() {
        JsonNode picture = call("Page.captureScreenshot", parameters().put("format", "png"));
        return Base64.getDecoder().decode(picture.path("data").asString());
    }

    @Override
    public void close() throws IOException {
        socket.abort();
        client.shutdownNow();
        List<ProcessHandle> all =
                Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
        all.forEach(ProcessHandle::destroy);
        all.forEach(each -> each.onExit().join());
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        FileTree.delete(profile);
    }
}
