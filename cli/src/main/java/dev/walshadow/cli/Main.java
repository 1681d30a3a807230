package dev.walshadow.cli;

import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.DaemonCodes;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
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
        description = "Replicates PostgreSQL into ClickHouse from the physical write-ahead log.")
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

    /** By its name, which is told in its annotation too; in the order of the help. */
    private static final List<Map.Entry<String, Class<?>>> COMMANDS =
            List.of(
                    Map.entry("demo", DemoCommand.class),
                    Map.entry("init", InitCommand.class),
                    Map.entry("check", CheckCommand.class),
                    Map.entry("run", RunCommand.class),
                    Map.entry("wait", WaitCommand.class),
                    Map.entry("verify", VerifyCommand.class),
                    Map.entry("status", StatusCommand.class),
                    Map.entry("prepared", PreparedCommand.class),
                    Map.entry("add", AddCommand.class),
                    Map.entry("remove", RemoveCommand.class),
                    Map.entry("resync", ResyncCommand.class),
                    Map.entry("ctl", CtlCommand.class),
                    Map.entry("schema", SchemaCommand.class),
                    Map.entry("config", ConfigCommand.class),
                    Map.entry("desc-log", DescLogCommand.class),
                    Map.entry("postgres", PostgresCommand.class),
                    Map.entry("clickhouse", ClickHouseCommand.class),
                    Map.entry("wal", WalCommand.class),
                    Map.entry("uninstall", UninstallCommand.class),
                    Map.entry("version", VersionCommand.class),
                    Map.entry("help", CommandLine.HelpCommand.class));

    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    Main() {}

    public static void main(String[] arguments) {
        // commands and the settings' many options cost most of a second: only what is asked for
        Set<String> words = Set.copyOf(Arrays.asList(arguments));
        System.exit(commandLine(asked(arguments), words::contains).execute(arguments));
    }

    /** The whole command line; its {@code execute} returns the exit code. */
    public static CommandLine commandLine() {
        return commandLine(_ -> true, _ -> true);
    }

    /** The command that comes first; all of them where none does, as for help. */
    private static Predicate<String> asked(String[] arguments) {
        String first = arguments.length == 0 ? "" : arguments[0];
        return COMMANDS.stream().anyMatch(each -> each.getKey().equals(first))
                ? first::equals
                : _ -> true;
    }

    /**
     * @param asked the commands that there are
     * @param wanted those that get the settings' options
     */
    private static CommandLine commandLine(Predicate<String> asked, Predicate<String> wanted) {
        CommandLine main = new CommandLine(new Main());
        for (Map.Entry<String, Class<?>> each : COMMANDS) {
            if (asked.test(each.getKey())) {
                main.addSubcommand(each.getKey(), each.getValue());
            }
        }
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
