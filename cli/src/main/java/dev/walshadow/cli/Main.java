package dev.walshadow.cli;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.DaemonCodes;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code walshadow} command: its subcommands do the work. */
@Command(
        name = "walshadow",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        description = "Replicates PostgreSQL into ClickHouse from the physical write-ahead log.",
        subcommands = {
            DemoCommand.class,
            InitCommand.class,
            CheckCommand.class,
            RunCommand.class,
            WaitCommand.class,
            VerifyCommand.class,
            StatusCommand.class,
            PreparedCommand.class,
            AddCommand.class,
            RemoveCommand.class,
            ResyncCommand.class,
            CtlCommand.class,
            SchemaCommand.class,
            ConfigCommand.class,
            DescLogCommand.class,
            PostgresCommand.class,
            ClickHouseCommand.class,
            WalCommand.class,
            UninstallCommand.class,
            VersionCommand.class,
            CommandLine.HelpCommand.class
        })
public final class Main implements Runnable {
    private static final Set<String> CONFIGURED =
            Set.of(
                    "run",
                    "wait",
                    "verify",
                    "status",
                    "prepared",
                    "add",
                    "remove",
                    "resync",
                    "uninstall",
                    "schema",
                    "check",
                    "tables",
                    "pause",
                    "resume",
                    "reload",
                    "log",
                    "show");

    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    Main() {}

    public static void main(String[] arguments) {
        // the settings' many options cost a third of a second: only for what is asked
        Set<String> words = Set.copyOf(Arrays.asList(arguments));
        System.exit(commandLine(words::contains).execute(arguments));
    }

    /** The whole command line; its {@code execute} returns the exit code. */
    public static CommandLine commandLine() {
        return commandLine(_ -> true);
    }

    /**
     * @param wanted the commands that get the settings' options
     */
    private static CommandLine commandLine(Predicate<String> wanted) {
        CommandLine main = new CommandLine(new Main());
        addOptions(main, wanted);
        return main.setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler((failure, _) -> explain(failure))
                .setExecutionExceptionHandler(
                        (failure, commandLine, _) -> report(failure, commandLine.getErr()));
    }

    private static void addOptions(CommandLine parent, Predicate<String> wanted) {
        for (CommandLine subcommand : parent.getSubcommands().values()) {
            CommandSpec spec = subcommand.getCommandSpec();
            if (CONFIGURED.contains(spec.name()) && wanted.test(spec.name())) {
                ConfiguredCommand.addTo(spec);
            } else if (spec.name().equals("init") && wanted.test(spec.name())) {
                ConfiguredCommand.addSettings(spec);
            }
            if (spec.findOption("--help") == null) {
                spec.addOption(help());
            }
            addOptions(subcommand, wanted);
        }
    }

    private static OptionSpec help() {
        return OptionSpec.builder("--help").usageHelp(true).description("Show this help.").build();
    }

    /** One line: what is wrong, and where the command's options are told. */
    private static int explain(ParameterException failure) {
        CommandLine commandLine = failure.getCommandLine();
        String wrong = String.valueOf(failure.getMessage()).strip();
        List<String> unknown = commandLine.getUnmatchedArguments();
        if (failure instanceof MissingParameterException && !unknown.isEmpty()) {
            // a misspelt option is not known, and missing therefore
            wrong += "; unknown: " + String.join(" ", unknown);
        } else if (failure instanceof UnmatchedArgumentException unmatched) {
            List<String> near = unmatched.getSuggestions();
            wrong += near.isEmpty() ? "" : "; did you mean " + String.join(" or ", near) + "?";
        }
        PrintWriter err = commandLine.getErr();
        err.println(
                DaemonCodes.BAD_COMMAND_LINE
                        + " "
                        + wrong
                        + "; see "
                        + commandLine.getCommandSpec().qualifiedName()
                        + " --help");
        err.flush();
        return ExitCodes.CONFIGURATION;
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
