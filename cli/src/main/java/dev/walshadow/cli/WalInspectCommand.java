package dev.walshadow.cli;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.wal.WalSegmentReader;
import dev.walshadow.source.SourceCodes;
import dev.walshadow.source.StreamSnapshot;
import dev.walshadow.source.WalInspector;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints a WAL segment as pg_waldump does, with what the filter decides about each record. */
@Command(
        name = "inspect",
        description = {
            "Print the records of a WAL segment file, and what the filter decides about each.",
            "Exit code 0: read to its end; 3: a record is damaged, or this is no WAL of 15-18."
        })
final class WalInspectCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(paramLabel = "FILE", description = "A segment of pg_wal or of the archive.")
    private Path file;

    @Option(
            names = "--state",
            paramLabel = "FILE",
            description =
                    "The filter's state before this segment (the archive's NAME.state); without it,"
                            + " catalogs that were rewritten earlier count as user tables.")
    private Path state;

    @Option(names = "--help", usageHelp = true, description = "Show this help.")
    @SuppressWarnings("UnusedVariable") // picocli looks at it
    private boolean help;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    WalInspectCommand() {}

    @Override
    public Integer call() {
        try {
            return inspect();
        } catch (HaltException e) {
            throw naming(file, e);
        }
    }

    /** The same failure, with the file that it is about. */
    static HaltException naming(Path file, HaltException failure) {
        String code = failure.code() + " ";
        String message = String.valueOf(failure.getMessage());
        return new HaltException(
                failure.code(),
                file
                        + ": "
                        + (message.startsWith(code) ? message.substring(code.length()) : message),
                failure);
    }

    private int inspect() {
        byte[] segment = read(file);
        WalInspector inspector =
                state == null
                        ? new WalInspector(segment)
                        : new WalInspector(
                                segment, StreamSnapshot.decode(read(state), state.toString()));
        PrintWriter out = command.commandLine().getOut();
        WalInspector.Summary summary = inspector.print(out);
        out.println(WalInspector.sentence(summary));
        out.flush();
        if (summary.end() != WalSegmentReader.End.DAMAGED) {
            return ExitCodes.OK;
        }
        PrintWriter err = command.commandLine().getErr();
        err.println(file + ": " + inspector.failure());
        err.flush();
        return ExitCodes.HALTED;
    }

    /** A segment, or a file beside it. */
    static byte[] read(Path path) {
        try {
            return Files.readAllBytes(path);
        } catch (IOException e) {
            throw new ConfigurationException(
                    SourceCodes.FILE_UNREADABLE,
                    "cannot read " + path + ": " + e + ". Name a readable WAL segment file.",
                    e);
        }
    }
}
