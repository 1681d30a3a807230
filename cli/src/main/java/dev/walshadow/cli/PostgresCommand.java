package dev.walshadow.cli;

import dev.walshadow.embedded.EmbeddedPostgres;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A PostgreSQL server in the foreground, for trying things out. */
@Command(
        name = "postgres",
        description =
                "Run a PostgreSQL server in the foreground: wal_level=logical, role postgres, no"
                        + " password on loopback. Prints \"ready URL\"; stops cleanly on SIGTERM or"
                        + " Ctrl-C; keeps its data.")
final class PostgresCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(
            names = "--version",
            defaultValue = "18",
            paramLabel = "15..18",
            description = "Major version (default ${DEFAULT-VALUE}).")
    private int version;

    @Option(
            names = "--dir",
            required = true,
            paramLabel = "DIRECTORY",
            description = "Where its files live; made if missing, kept.")
    private Path directory;

    @Option(
            names = "--port",
            defaultValue = "0",
            description = "TCP port on 127.0.0.1 (default: a free one, printed).")
    private int port;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    PostgresCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        Ports.check(command, port);
        EmbeddedPostgres server =
                EmbeddedPostgres.at(directory).version(version).port(port).build();
        StopSignal signal = StopSignal.before(server);
        try {
            server.start();
        } catch (RuntimeException e) {
            signal.over();
            throw e;
        }
        PrintWriter out = command.commandLine().getOut();
        out.println("ready " + server.url("postgres"));
        out.flush();
        if (!server.awaitExit()) {
            return ExitCodes.OK;
        }
        signal.over();
        PrintWriter err = command.commandLine().getErr();
        err.println("PostgreSQL ended by itself; see " + server.logFile());
        err.flush();
        return ExitCodes.UNEQUAL;
    }
}
