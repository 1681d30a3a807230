package dev.walshadow.embedded.engine;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The engine in this process, on one data directory. One path per process, one process per path. A
 * connection is kept open from start to stop: closing the last one would shut the engine down.
 */
final class Engine {
    /**
     * What every connection begins with; a request may set them otherwise. Small results and small
     * inserts are what is asked for here, and the threads that format and parse in parallel cost
     * more to wake than such a statement to run.
     */
    private static final List<String> SETTINGS =
            List.of("--output_format_parallel_formatting=0", "--input_format_parallel_parsing=0");

    /**
     * What a server's configuration file would say.
     *
     * <p>How often each table looks for something to merge: by default a new one does so once or
     * twice a second for minutes, and once more for streaming queries, which are an experiment that
     * is off. A thousand tables take a seventh of a core then. So the pauses are longer, 2 s and
     * then twice as long each time up to a minute: what an INSERT or an ALTER leaves to do is begun
     * at once, whatever they are.
     *
     * <p>How many merges and mutations may wait for a thread: a mutation that finds too many (12)
     * comes back after such a pause, so an ALTER that renames waits for seconds while many tables
     * are altered, and nothing is done meanwhile.
     */
    private static final List<String> CONFIGURATION =
            List.of(
                    "--",
                    "--background_processing_pool_thread_sleep_seconds_if_nothing_to_do=2",
                    "--background_processing_pool_task_sleep_seconds_when_no_work_multiplier=2",
                    "--background_processing_pool_task_sleep_seconds_when_no_work_max=60",
                    "--background_streaming_processing_pool_thread_sleep_seconds_if_nothing_to_do"
                            + "=600",
                    "--background_pool_size=4",
                    "--background_merges_mutations_concurrency_ratio=80");

    private final LibChdb library;
    private final List<String> arguments;
    private final MemorySegment kept;

    private Engine(LibChdb library, List<String> arguments, MemorySegment kept) {
        this.library = library;
        this.arguments = arguments;
        this.kept = kept;
    }

    static Engine start(Path library, Path dataDirectory) {
        LibChdb loaded = new LibChdb(library);
        List<String> arguments = new ArrayList<>(List.of("clickhouse", "--path=" + dataDirectory));
        arguments.addAll(SETTINGS);
        List<String> first = new ArrayList<>(arguments);
        first.addAll(CONFIGURATION);
        MemorySegment kept = loaded.connect(first);
        if (kept == null) {
            throw new EngineException(
                    EngineException.UNKNOWN_EXCEPTION,
                    "the engine does not start on " + dataDirectory,
                    "CANNOT_START");
        }
        return new Engine(loaded, List.copyOf(arguments), kept);
    }

    /** A connection of its own: settings and current database are its own. Costs about 0.1 ms. */
    EngineConnection open() {
        @Nullable MemorySegment connection = library.connect(arguments);
        if (connection == null) {
            throw new EngineException(
                    EngineException.UNKNOWN_EXCEPTION, "cannot connect", "CANNOT_CONNECT");
        }
        return new EngineConnection(library, connection);
    }

    /**
     * Asks every running query to end. Not SYNC: that never returns; and a query in flight at
     * {@link #stop} would abort the process.
     */
    void killQueries() {
        try (EngineConnection connection = open()) {
            connection.execute("KILL QUERY WHERE 1 ASYNC");
        }
    }

    /** Every other connection must be closed. */
    void stop() {
        library.close(kept);
        library.shutdown();
    }
}
