package dev.walshadow.cli;

import dev.walshadow.base.Backoff;
import dev.walshadow.base.RetryException;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Waits until all that is committed on the source now is durable in ClickHouse. */
@Command(
        name = "wait",
        description = "Wait until all that is committed on the source now is in ClickHouse.")
final class WaitCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(
            names = "--timeout",
            defaultValue = "60s",
            converter = Durations.class,
            description = "How long to wait (default ${DEFAULT-VALUE}).")
    private Duration timeout;

    @SuppressWarnings("NullAway.Init") // picocli sets both
    WaitCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        Configuration configuration = ConfiguredCommand.load(command);
        PrintWriter out = command.commandLine().getOut();
        PrintWriter err = command.commandLine().getErr();
        long deadline = System.nanoTime() + timeout.toNanos();
        JsonNode answer = await(configuration.get(Settings.STATE_DIR), deadline, err);
        if (!answer.path("durable").asBoolean(false)) {
            err.println(
                    "timed out after "
                            + timeout.toSeconds()
                            + " s: "
                            + answer.path("message").asString(""));
            return ExitCodes.UNEQUAL;
        }
        JsonNode aside = answer.path("set_aside");
        aside.forEach(table -> err.println(table.asString("")));
        out.println("durable up to " + answer.path("lsn").asString(""));
        return aside.isEmpty() ? ExitCodes.OK : ExitCodes.UNEQUAL;
    }

    /** Asks again while no daemon listens: it may just be starting, or be started again. */
    private JsonNode await(Path stateDirectory, long deadline, PrintWriter err)
            throws InterruptedException {
        Backoff backoff = new Backoff(500);
        boolean told = false;
        while (true) {
            long leftMillis = Math.max(0, (deadline - System.nanoTime()) / 1_000_000);
            ObjectNode request = ControlClient.request("wait").put("timeout_millis", leftMillis);
            try {
                return ControlClient.send(StateDirectory.controlSocket(stateDirectory), request);
            } catch (RetryException e) {
                if (leftMillis == 0) {
                    err.println("timed out after " + timeout.toSeconds() + " s:");
                    throw e;
                }
                if (!told) {
                    told = true;
                    err.println(e.getMessage() + "; waiting for it up to " + leftMillis + " ms");
                    err.flush();
                }
                backoff.pause();
            }
        }
    }
}
