package dev.walshadow.cli;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.WalSegmentReader;
import dev.walshadow.source.OfflineFilter;
import dev.walshadow.source.SourceCodes;
import dev.walshadow.source.StreamSnapshot;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Filters WAL segment files as the shadow would get them. */
@Command(
        name = "filter",
        description = {
            "Filter WAL segment files offline: write them as the shadow would get them, and print"
                    + " how much is kept and dropped by resource manager.",
            "Exit code 0: all of it filtered; 3: a file is damaged, or no WAL of 15-18."
        })
final class WalFilterCommand implements Callable<Integer> {
    @Spec private CommandSpec command;

    @Parameters(
            paramLabel = "FILE",
            arity = "1..*",
            description = "Segments of pg_wal that follow each other.")
    private List<Path> files;

    @Option(
            names = "--output",
            paramLabel = "DIR",
            required = true,
            description = "Where the filtered segments go, under their own names.")
    private Path output;

    @Option(
            names = "--state",
            paramLabel = "FILE",
            description =
                    "The filter's state before the first segment (the archive's NAME.state);"
                        + " without it, catalogs that were rewritten earlier count as user tables,"
                        + " and what precedes the first whole record is blanked.")
    private @Nullable Path state;

    @Option(names = "--help", usageHelp = true, description = "Show this help.")
    @SuppressWarnings("UnusedVariable") // picocli looks at it
    private boolean help;

    @SuppressWarnings("NullAway.Init") // picocli sets them
    WalFilterCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        List<Path> ordered =
                files.stream().sorted(Comparator.comparing(path -> path.getFileName())).toList();
        StreamSnapshot from =
                state == null ? null : StreamSnapshot.decode(read(state), state.toString());
        byte[] first = read(ordered.getFirst());
        WalPages pages = pages(ordered.getFirst(), first);
        requireOther(ordered);
        Segments segments = new Segments(pages);
        OfflineFilter filter = new OfflineFilter(segments::write, from);
        long end = 0;
        for (Path file : ordered) {
            try {
                end = filter.add(file.equals(ordered.getFirst()) ? first : read(file));
            } catch (HaltException e) {
                throw WalInspectCommand.naming(file, e);
            }
        }
        print(filter.counts(), end);
        return ExitCodes.OK;
    }

    private static WalPages pages(Path file, byte[] segment) {
        try {
            return new WalSegmentReader(segment).pages();
        } catch (HaltException e) {
            throw WalInspectCommand.naming(file, e);
        }
    }

    /** Never over what is read. */
    private void requireOther(List<Path> inputs) {
        try {
            Files.createDirectories(output);
            for (Path file : inputs) {
                Path into = output.resolve(file.getFileName());
                if (Files.exists(into) && Files.isSameFile(into, file)) {
                    throw new ConfigurationException(
                            SourceCodes.FILE_UNREADABLE,
                            output
                                    + " holds the files that are to be filtered; name another"
                                    + " directory by --output. Nothing was changed.");
                }
            }
        } catch (IOException e) {
            throw unusable(e);
        }
    }

    private ConfigurationException unusable(IOException cause) {
        return new ConfigurationException(
                SourceCodes.FILE_UNREADABLE,
                "cannot write to "
                        + output
                        + ": "
                        + cause
                        + ". Name a writable --output directory.",
                cause);
    }

    /** The files of the output, of full size from their first byte on. */
    private final class Segments {
        private final WalPages pages;

        Segments(WalPages pages) {
            this.pages = pages;
        }

        void write(long startLsn, byte[] bytes, int offset, int length) {
            long at = startLsn;
            int from = offset;
            int left = length;
            try {
                while (left > 0) {
                    long segment = pages.segmentStart(at);
                    int room = (int) Math.min(left, segment + pages.segmentSize() - at);
                    writeTo(segment, (int) (at - segment), ByteBuffer.wrap(bytes, from, room));
                    at += room;
                    from += room;
                    left -= room;
                }
            } catch (IOException e) {
                throw unusable(e);
            }
        }

        private void writeTo(long segment, int at, ByteBuffer bytes) throws IOException {
            Path file =
                    output.resolve(
                            Lsn.segmentFileName(pages.timeline(), segment, pages.segmentSize()));
            try (FileChannel channel =
                    FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                if (at == 0) {
                    channel.truncate(0);
                    channel.write(ByteBuffer.allocate(1), pages.segmentSize() - 1L);
                }
                int position = at;
                while (bytes.hasRemaining()) {
                    position += channel.write(bytes, position);
                }
            }
        }
    }

    private void print(List<OfflineFilter.Count> counts, long end) {
        PrintWriter out = command.commandLine().getOut();
        out.printf(
                Locale.ROOT,
                "%-13s %10s %12s %8s %10s %12s%n",
                "manager",
                "kept",
                "bytes",
                "patched",
                "dropped",
                "bytes");
        for (OfflineFilter.Count count : counts) {
            row(out, count);
        }
        row(
                out,
                new OfflineFilter.Count(
                        "total",
                        counts.stream().mapToLong(OfflineFilter.Count::kept).sum(),
                        counts.stream().mapToLong(OfflineFilter.Count::keptBytes).sum(),
                        counts.stream().mapToLong(OfflineFilter.Count::patched).sum(),
                        counts.stream().mapToLong(OfflineFilter.Count::dropped).sum(),
                        counts.stream().mapToLong(OfflineFilter.Count::droppedBytes).sum()));
        out.println("filtered up to " + Lsn.format(end));
        out.flush();
    }

    private static void row(PrintWriter out, OfflineFilter.Count count) {
        out.printf(
                Locale.ROOT,
                "%-13s %10d %12d %8d %10d %12d%n",
                count.resourceManager(),
                count.kept(),
                count.keptBytes(),
                count.patched(),
                count.dropped(),
                count.droppedBytes());
    }

    private static byte[] read(Path path) {
        return WalInspectCommand.read(path);
    }
}
