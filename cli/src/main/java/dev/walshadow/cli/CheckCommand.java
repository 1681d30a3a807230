package dev.walshadow.cli;

import dev.walshadow.daemon.preflight.Findings;
import dev.walshadow.daemon.replication.Replication;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Preflight alone. */
@Command(
        name = "check",
        description =
                "Look at source, target and state as run does before it starts, and change"
                        + " nothing: every fault and every piece of advice with its remedy.")
final class CheckCommand implements Callable<Integer> {
    private static final int CODE_LENGTH = "WS-0000".length();

    @Spec private CommandSpec command;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    CheckCommand() {}

    @Override
    public Integer call() {
        Findings findings = Replication.check(ConfiguredCommand.load(command));
        PrintWriter out = command.commandLine().getOut();
        if (json) {
            ObjectNode root = new JsonMapper().createObjectNode();
            root.put("ok", findings.isEmpty());
            write(findings.lines(), root.putArray("faults"));
            write(findings.advice(), root.putArray("advice"));
            out.println(root);
        } else {
            findings.lines().forEach(line -> out.println("fault   " + line));
            findings.advice().forEach(line -> out.println("advice  " + line));
            out.println(
                    findings.isEmpty()
                            ? "walshadow can start"
                            : "walshadow cannot start: " + findings.lines().size() + " faults");
        }
        out.flush();
        return findings.isEmpty() ? ExitCodes.OK : ExitCodes.CONFIGURATION;
    }

    /** Every line begins with its code. */
    private static void write(List<String> lines, ArrayNode into) {
        for (String line : lines) {
            into.addObject()
                    .put("code", line.substring(0, CODE_LENGTH))
                    .put("message", line.substring(CODE_LENGTH).strip());
        }
    }
}
