package dev.walshadow.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.walshadow.daemon.Daemon;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Replicates until it is told to stop. */
@Command(name = "run", description = "Replicate until stopped (SIGTERM or Ctrl-C).")
final class RunCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    RunCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        Configuration configuration = ConfiguredCommand.load(command);
        logAt(configuration.get(Settings.LOG_LEVEL));
        PrintWriter out = command.commandLine().getOut();
        try (Daemon daemon = Daemon.open(configuration)) {
            Thread stopper = new Thread(daemon::close, "stop");
            Runtime.getRuntime().addShutdownHook(stopper);
            daemon.start();
            out.println("walshadow is running");
            out.flush();
            daemon.awaitEnd();
        }
        return ExitCodes.OK;
    }

    static void logAt(String level) {
        if (LoggerFactory.getLogger("dev.walshadow") instanceof Logger logger) {
            logger.setLevel(Level.toLevel(level));
        }
    }
}
