package dev.walshadow.daemon;

import dev.walshadow.daemon.control.ControlServer;
import dev.walshadow.daemon.control.ProcessControl;
import dev.walshadow.daemon.replication.Replication;
import dev.walshadow.daemon.replication.TableRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** What is asked of a daemon, by its control socket or by HTTP. Thread safe. */
final class Requests implements ControlServer.Handler {
    private static final Logger LOG = LoggerFactory.getLogger(Requests.class);
    private static final JsonMapper JSON = new JsonMapper();
    private static final List<String> LEVELS = List.of("error", "warn", "info", "debug", "trace");

    private final Daemon daemon;
    private final ProcessControl process;

    Requests(Daemon daemon, ProcessControl process) {
        this.daemon = daemon;
        this.process = process;
    }

    /**
     * @throws IllegalArgumentException if it cannot be done; nothing was changed
     */
    @Override
    public ObjectNode handle(JsonNode request) throws InterruptedException {
        String command = request.path("command").asString("");
        return switch (command) {
            case "status" -> daemon.status(request.path("tables").asBoolean(true));
            case "settings", "events" -> described(command);
            case "wait" -> await(Duration.ofMillis(request.path("timeout_millis").asLong(60_000)));
            case "prepared" -> daemon.started().preparedTransactions(JSON);
            case "pause" ->
                    daemon.started().pause(JSON, request.path("reason").asString("").strip());
            case "resume" -> daemon.started().resume(JSON);
            case "reload" -> daemon.reload();
            case "log" -> log(request.path("level").asString(""));
            case "add" -> tables(new TableRequest.Add(names(request)));
            case "remove" ->
                    tables(
                            new TableRequest.Remove(
                                    names(request), request.path("drop").asBoolean(false)));
            case "resync" -> tables(new TableRequest.Resync(names(request)));
            default ->
                    throw new IllegalArgumentException(
                            "unknown command '"
                                    + command
                                    + "'; there are status, settings, events, wait, prepared,"
                                    + " pause, resume, reload, log, add, remove, resync");
        };
    }

    private ObjectNode described(String part) {
        ObjectNode all = JSON.createObjectNode();
        daemon.describe(all);
        return all.retain(part);
    }

    private ObjectNode log(String level) {
        if (!LEVELS.contains(level)) {
            throw new IllegalArgumentException(
                    "'" + level + "' is no level of the log; there are " + LEVELS);
        }
        process.logAt(level);
        LOG.info("the log's level is {} until a restart", level);
        return JSON.createObjectNode().put("ok", true).put("level", level);
    }

    private ObjectNode tables(TableRequest request) throws InterruptedException {
        return daemon.started().tables(JSON, request);
    }

    private static List<String> names(JsonNode request) {
        List<String> names = new ArrayList<>();
        request.path("tables").forEach(name -> names.add(name.asString("")));
        if (names.isEmpty()) {
            throw new IllegalArgumentException("the request names no tables");
        }
        return names;
    }

    private ObjectNode await(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        try {
            Replication running = daemon.replication().get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return running.await(JSON, deadline);
        } catch (TimeoutException e) {
            return JSON.createObjectNode()
                    .put("durable", false)
                    .put("message", "the daemon is still starting");
        } catch (ExecutionException e) {
            throw new IllegalStateException("the daemon could not start: " + e.getCause(), e);
        }
    }
}
