package dev.walshadow.cli;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.replication.Uninstall;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Takes away what walshadow made. */
@Command(
        name = "uninstall",
        description =
                "Drop walshadow's database in ClickHouse and its replication slot, and remove the"
                        + " state directory. Replicated tables stay.")
final class UninstallCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    @Option(names = "--drop-tables", description = "Drop the replicated tables in ClickHouse too.")
    private boolean dropTables;

    @Option(
            names = "--without-source",
            description = "The source is gone: do not ask it, and leave its slot.")
    private boolean withoutSource;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    UninstallCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = command.commandLine().getOut();
        try (Uninstall plan = Uninstall.plan(ConfiguredCommand.load(command), !withoutSource)) {
            List<String> steps = plan.steps(dropTables);
            if (steps.isEmpty()) {
                out.println("there is nothing to remove");
            }
            steps.forEach(step -> out.println("to do: " + step));
            if (!dropTables && !plan.tables().isEmpty()) {
                out.println(plan.tables().size() + " replicated tables stay in ClickHouse");
            }
            out.flush();
            if (!steps.isEmpty()) {
                confirm();
                plan.run(dropTables);
                out.println("done");
                out.flush();
            }
        }
        return ExitCodes.OK;
    }

    private void confirm() {
        if (yes) {
            return;
        }
        if (!Terminal.isInteractive()) {
            throw new ConfigurationException(
                    DaemonCodes.UNINSTALL, "nothing was changed: to go on, give --yes");
        }
        String answer = Terminal.ask("Go on? Type yes: ");
        if (answer == null || !answer.strip().equals("yes")) {
            throw new ConfigurationException(
                    DaemonCodes.UNINSTALL, "nothing was changed: the answer was not yes");
        }
    }
}
