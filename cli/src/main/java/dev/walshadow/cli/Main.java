package dev.walshadow.cli;

import dev.walshadow.base.WalshadowException;
import java.io.PrintWriter;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

/** The {@code walshadow} command: its subcommands do the work. */
@Command(
        name = "walshadow",
        mixinStandardHelpOptions = true,
        version = "walshadow 0.1.0-SNAPSHOT",
        description = "Replicates PostgreSQL into ClickHouse from the physical write-ahead log.",
        subcommands = {
            DemoCommand.class,
            RunCommand.class,
            WaitCommand.class,
            VerifyCommand.class,
            StatusCommand.class,
            ResyncCommand.class,
            SchemaCommand.class,
            DescLogCommand.class,
            PostgresCommand.class,
            ClickHouseCommand.class,
            WalCommand.class,
            CommandLine.HelpCommand.class
        })
public final class Main implements Runnable {
    private static final Set<String> CONFIGURED =
            Set.of("run", "wait", "verify", "status", "resync", "schema");

    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    Main() {}

    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    /** The whole command line; its {@code execute} returns the exit code. */
    public static CommandLine commandLine() {
        CommandLine main = new CommandLine(new Main());
        for (CommandLine subcommand : main.getSubcommands().values()) {
            CommandSpec spec = subcommand.getCommandSpec();
            if (CONFIGURED.contains(spec.name())) {
                ConfiguredCommand.addTo(spec);
            }
            if (spec.findOption("--help") == null) {
                spec.addOption(help());
            }
        }
        return main.setCaseInsensitiveEnumValuesAllowed(true)
                .setExecutionExceptionHandler(
                        (failure, commandLine, _) -> report(failure, commandLine.getErr()));
    }

    private static OptionSpec help() {
        return OptionSpec.builder("--help").usageHelp(true).description("Show this help.").build();
    }

    /** A failure of the known tree is its message; anything else is a fault, told in full. */
    private static int report(Exception failure, PrintWriter err) {
        if (failure instanceof WalshadowException known) {
            err.println(known.getMessage());
        } else {
            failure.printStackTrace(err);
        }
        err.flush();
        return ExitCodes.of(failure);
    }

    @Override
    public void run() {
        command.commandLine().usage(command.commandLine().getOut());
    }
}
