package dev.walshadow.cli;

import dev.walshadow.daemon.inspect.SchemaReport;
import dev.walshadow.daemon.inspect.TableReport;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows which source table and column arrives where, and which do not and why. */
@Command(
        name = "schema",
        description = {
            "Show every source table with its ClickHouse table: columns, types, key, state and"
                    + " reason. Reads the state directory and ClickHouse; works with and without a"
                    + " running daemon."
        })
final class SchemaCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @SuppressWarnings("NullAway.Init") // picocli sets it
    SchemaCommand() {}

    @Override
    public Integer call() {
        SchemaReport report = SchemaReport.read(ConfiguredCommand.load(command));
        PrintWriter out = command.commandLine().getOut();
        if (json) {
            out.println(report.toJson());
        } else {
            report.tables().forEach(table -> print(table, out));
            if (!report.running()) {
                out.println("no daemon is running; states are those of the ledger in ClickHouse");
            }
        }
        out.flush();
        return ExitCodes.OK;
    }

    private static void print(TableReport table, PrintWriter out) {
        out.printf(
                Locale.ROOT,
                "%s (database %s, OID %s) -> %s: %s%s%n",
                table.source(),
                table.database(),
                Integer.toUnsignedString(table.oid()),
                table.target().isEmpty() ? "nowhere" : table.target(),
                table.state(),
                table.reason().isEmpty() ? "" : ", " + table.reason());
        if (!table.engine().isEmpty()) {
            out.println("  " + table.engine());
        } else if (!table.target().isEmpty()) {
            out.println("  not in ClickHouse");
        }
        for (TableReport.Column column : table.columns()) {
            out.printf(
                    Locale.ROOT,
                    "  %s %-28s %-24s -> %-28s %s%n",
                    column.key() ? "*" : " ",
                    column.source(),
                    column.sourceType(),
                    column.target().isEmpty() ? "(not replicated)" : column.target(),
                    targetType(column));
        }
        out.println();
    }

    private static String targetType(TableReport.Column column) {
        if (column.fits() || column.mappedType().isEmpty()) {
            return column.targetType();
        }
        return column.mappedType()
                + ", but in ClickHouse "
                + (column.targetType().isEmpty() ? "absent" : column.targetType());
    }
}
