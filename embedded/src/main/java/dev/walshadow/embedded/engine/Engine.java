package dev.walshadow.embedded.engine;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The engine in this process, on one data directory. One path per process, one process per path. A
 * connection is kept open from start to stop: closing the last one would shut the engine down.
 */
final class Engine {
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
        List<String> arguments = List.of("clickhouse", "--path=" + dataDirectory);
        MemorySegment kept = loaded.connect(arguments);
        if (kept == null) {
            throw new EngineException(
                    EngineException.UNKNOWN_EXCEPTION,
                    "the engine does not start on " + dataDirectory,
                    "CANNOT_START");
        }
        return new Engine(loaded, arguments, kept);
    }

    /** A connection of its own: settings and current database are its own. Costs about 0.5 ms. */
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
