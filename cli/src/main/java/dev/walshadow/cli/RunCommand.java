package dev.walshadow.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.walshadow.base.WalshadowException;
import dev.walshadow.daemon.Daemon;
import dev.walshadow.daemon.config.Configuration;
import dev.walshadow.daemon.config.Settings;
import dev.walshadow.daemon.control.ProcessControl;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Replicates until it is told to stop. */
@Command(name = "run", description = "Replicate until stopped (SIGTERM or Ctrl-C).")
final class RunCommand implements Callable<Integer> {
    private static final org.slf4j.Logger LOG = LoggerFactory.getLogger(RunCommand.class);

    @Spec private CommandSpec command;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    RunCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        Configuration configuration = ConfiguredCommand.load(command);
        LogOutput.install(configuration.get(Settings.LOG_FORMAT));
        logAt(configuration.get(Settings.LOG_LEVEL));
        PrintWriter out = command.commandLine().getOut();
        AtomicBoolean ended = new AtomicBoolean();
        try (Daemon daemon = Daemon.open(configuration, processControl())) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(daemon, ended), "stop"));
            EventAppender.attach(daemon.events());
            HangUpSignal.handle(() -> Thread.ofVirtual().start(() -> reload(daemon)));
            daemon.start();
            out.println("walshadow is running");
            out.flush();
            daemon.awaitEnd();
        } finally {
            ended.set(true);
        }
        return ExitCodes.OK;
    }

    private ProcessControl processControl() {
        return new ProcessControl() {
            @Override
            public void logAt(String level) {
                RunCommand.logAt(level);
            }

            @Override
            public Configuration reload() {
                return ConfiguredCommand.load(command);
            }
        };
    }

    /** Nobody waits for an answer: the log tells it. */
    private static void reload(Daemon daemon) {
        try {
            daemon.reload();
        } catch (WalshadowException e) {
            LOG.error("not reloaded, nothing has changed: {}", e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A signal stops cleanly with 0; after an end of its own the exit code is that end's. */
    private static void stop(Daemon daemon, AtomicBoolean ended) {
        if (!ended.get()) {
            daemon.close();
            Runtime.getRuntime().halt(ExitCodes.OK);
        }
    }

    static void logAt(String level) {
        if (LoggerFactory.getLogger("dev.walshadow") instanceof Logger logger) {
            logger.setLevel(Level.toLevel(level));
        }
    }
}
