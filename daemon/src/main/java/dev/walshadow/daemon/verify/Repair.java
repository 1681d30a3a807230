package dev.walshadow.daemon.verify;

import dev.walshadow.base.RetryException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.daemon.verify.Verification.Outcome;
import dev.walshadow.daemon.verify.Verification.Repaired;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Compares, has the daemon load from the source what is not equal, and compares that once more.
 * Whole tables: a row that is wrong in ClickHouse may have a version that no row of the stream is
 * above, and the table that a load fills takes the place of all of them.
 */
public final class Repair {
    private final Configuration configuration;
    private final Duration timeout;
    private final Path socket;

    /**
     * @param timeout for each wait until the watermark has passed a position; loads may last longer
     */
    public Repair(Configuration configuration, Duration timeout) {
        this.configuration = configuration;
        this.timeout = timeout;
        this.socket = StateDirectory.controlSocket(configuration.get(Settings.STATE_DIR));
    }

    /**
     * @param only as {@link Verification#run}
     * @return what is there now; {@code repaired} says what was not equal before
     */
    public Outcome run(@Nullable String only, VerifyProgress progress) throws InterruptedException {
        Verification verification = Verification.of(configuration, timeout);
        Outcome before = verification.run(only, progress);
        Set<String> names = new LinkedHashSet<>(before.repairable());
        if (names.isEmpty()) {
            return before;
        }
        progress.loadsAnew(List.copyOf(names));
        ObjectNode request = ControlClient.request("resync");
        ArrayNode tables = request.putArray("tables");
        names.forEach(tables::add);
        ControlClient.send(socket, request);
        awaitLoads();
        return merged(before, verification.run(names::contains, progress), names);
    }

    /**
     * A load lasts as long as its table is large: only one that is not there is waited for in vain.
     */
    private void awaitLoads() throws InterruptedException {
        while (true) {
            JsonNode answer =
                    ControlClient.send(
                            socket,
                            ControlClient.request("wait")
                                    .put("timeout_millis", timeout.toMillis()));
            if (answer.path("durable").asBoolean(false)) {
                return;
            }
            JsonNode status = ControlClient.send(socket, ControlClient.request("status"));
            if (status.path("loads").isEmpty()) {
                throw new RetryException(
                        DaemonCodes.WAIT_TIMED_OUT,
                        "the tables were not loaded anew within "
                                + timeout.toSeconds()
                                + " s: "
                                + answer.path("message").asString("")
                                + "; see walshadow status, and run verify again");
            }
        }
    }

    private static Outcome merged(Outcome before, Outcome after, Set<String> names) {
        Map<String, TableResult> now = new HashMap<>();
        after.results().forEach(result -> now.put(result.table().toString(), result));
        Map<String, TableResult> then = new HashMap<>();
        List<TableResult> results = new ArrayList<>();
        for (TableResult result : before.results()) {
            String name = result.table().toString();
            then.put(name, result);
            if (!names.contains(name)) {
                results.add(result);
            }
        }
        results.addAll(after.results());
        List<Repaired> repaired = new ArrayList<>();
        for (String name : names) {
            TableResult was = then.get(name);
            TableResult is = now.get(name);
            repaired.add(
                    new Repaired(
                            name,
                            was == null ? 0 : was.missing(),
                            was == null ? 0 : was.extra(),
                            was == null ? 0 : was.different(),
                            is != null && is.equal()));
        }
        List<String> setAside = new ArrayList<>(before.setAside());
        setAside.removeIf(line -> names.stream().anyMatch(name -> line.startsWith(name + ": ")));
        setAside.addAll(after.setAside());
        Set<String> notCompared = new HashSet<>(before.notCompared());
        notCompared.addAll(after.notCompared());
        return new Outcome(
                results,
                setAside,
                notCompared.stream().sorted().toList(),
                after.loadable(),
                repaired);
    }
}
