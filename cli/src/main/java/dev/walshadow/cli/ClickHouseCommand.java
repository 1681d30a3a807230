package dev.walshadow.cli;

import dev.walshadow.embedded.engine.EngineServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A ClickHouse engine in the foreground, in this process, for trying things out. */
@Command(
        name = "clickhouse",
        description =
                "Run a ClickHouse engine in the foreground, behind ClickHouse's HTTP interface."
                    + " Prints \"ready URL\"; stops cleanly on SIGTERM or Ctrl-C; keeps its data.")
final class ClickHouseCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(
            names = "--dir",
            required = true,
            paramLabel = "DIRECTORY",
            description = "Where its files live; made if missing, kept.")
    private Path directory;

    @Option(
            names = "--port",
            defaultValue = "0",
            description = "HTTP port on 127.0.0.1 (default: a free one, printed).")
    private int port;

    @Option(
            names = "--login",
            paramLabel = "USER:PASSWORD",
            description = "Answer 516 to every other login (default: everybody may).")
    private @Nullable String login;

    @Option(
            names = "--switches",
            description = "Open /walshadow/switches, by which tests make it fail.")
    private boolean switches;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    ClickHouseCommand() {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        Ports.check(command, port);
        if (login != null && login.indexOf(':') < 0) {
            throw new ParameterException(
                    command.commandLine(), "--login takes USER:PASSWORD, not " + login);
        }
        EngineServer server =
                EngineServer.start(new EngineServer.Options(directory, port, login, switches));
        StopSignal.before(server);
        PrintWriter out = command.commandLine().getOut();
        out.println("ready " + server.url());
        out.flush();
        new CountDownLatch(1).await();
        return ExitCodes.OK;
    }
}
