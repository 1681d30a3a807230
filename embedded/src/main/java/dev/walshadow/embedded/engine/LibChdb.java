package dev.walshadow.embedded.engine;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The C functions of {@code chdb.h} (26.7.3), one to one. Handles are addresses; strings carry
 * their length.
 *
 * <p>Loading also tells the library to leave the process's signals alone: it must happen before the
 * first connection, otherwise the engine takes SIGSEGV and the JVM hangs at its first implicit null
 * check.
 */
@SuppressWarnings("restricted") // calls into native code; that is what this class is for
final class LibChdb {
    private static final FunctionDescriptor HANDLE_TO_ADDRESS =
            FunctionDescriptor.of(ADDRESS, ADDRESS);
    private static final FunctionDescriptor HANDLE_TO_LONG =
            FunctionDescriptor.of(JAVA_LONG, ADDRESS);
    private static final FunctionDescriptor HANDLE_TO_VOID = FunctionDescriptor.ofVoid(ADDRESS);

    /** {@code chdb_query_analysis_v1}: four u32, struct_size first, statement_count second. */
    private static final int ANALYSIS_BYTES = 16;

    private static final int ANALYSIS_STATEMENT_COUNT = 4;

    private final SymbolLookup symbols;
    private final MethodHandle connect;
    private final MethodHandle close;
    private final MethodHandle classify;
    private final MethodHandle query;
    private final MethodHandle streamQuery;
    private final MethodHandle streamFetch;
    private final MethodHandle streamCancel;
    private final MethodHandle insert;
    private final MethodHandle insertError;
    private final MethodHandle insertAppend;
    private final MethodHandle insertDone;
    private final MethodHandle insertDestroy;
    private final MethodHandle resultBuffer;
    private final MethodHandle resultLength;
    private final MethodHandle resultError;
    private final MethodHandle resultRowsWritten;
    private final MethodHandle resultBytesWritten;
    private final MethodHandle resultRowsRead;
    private final MethodHandle resultBytesRead;
    private final MethodHandle resultDestroy;
    private final MethodHandle shutdown;

    LibChdb(Path library) {
        symbols = SymbolLookup.libraryLookup(library, Arena.global());
        FunctionDescriptor withParameters =
                FunctionDescriptor.of(
                        ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS,
                        ADDRESS, ADDRESS, JAVA_LONG);
        connect = bind("chdb_connect", FunctionDescriptor.of(ADDRESS, JAVA_INT, ADDRESS));
        close = bind("chdb_close_conn", HANDLE_TO_VOID);
        classify =
                bind(
                        "chdb_classify_query_n",
                        FunctionDescriptor.of(
                                JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG,
                                ADDRESS));
        query = bind("chdb_query_with_params_n", withParameters);
        streamQuery = bind("chdb_stream_query_with_params_n", withParameters);
        streamFetch =
                bind("chdb_stream_fetch_result", FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS));
        streamCancel =
                bind("chdb_stream_cancel_query", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        insert = bind("chdb_stream_insert_with_params_n", withParameters);
        insertError = bind("chdb_stream_insert_error", HANDLE_TO_ADDRESS);
        insertAppend =
                bind(
                        "chdb_stream_append",
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG));
        insertDone = bind("chdb_stream_done", HANDLE_TO_ADDRESS);
        insertDestroy = bind("chdb_destroy_insert_stream", HANDLE_TO_VOID);
        resultBuffer = bind("chdb_result_buffer", HANDLE_TO_ADDRESS);
        resultLength = bind("chdb_result_length", HANDLE_TO_LONG);
        resultError = bind("chdb_result_error", HANDLE_TO_ADDRESS);
        resultRowsWritten = bind("chdb_result_rows_written", HANDLE_TO_LONG);
        resultBytesWritten = bind("chdb_result_bytes_written", HANDLE_TO_LONG);
        resultRowsRead = bind("chdb_result_storage_rows_read", HANDLE_TO_LONG);
        resultBytesRead = bind("chdb_result_storage_bytes_read", HANDLE_TO_LONG);
        resultDestroy = bind("chdb_destroy_query_result", HANDLE_TO_VOID);
        shutdown = bind("chdb_shutdown", FunctionDescriptor.ofVoid());
        leaveSignalsAlone();
    }

    /** What one statement is run with. The parameters' values are in ClickHouse's escaped text. */
    static final class Statement {
        private final byte[] text;
        private final String format;
        private final Map<String, String> parameters;

        Statement(byte[] text, String format, Map<String, String> parameters) {
            this.text = text;
            this.format = format;
            this.parameters = parameters;
        }

        static Statement of(String text, String format) {
            return new Statement(text.getBytes(StandardCharsets.UTF_8), format, Map.of());
        }
    }

    /** Address of a connection, or null when a setting's value is refused. */
    @Nullable MemorySegment connect(List<String> arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment array = arena.allocate(ADDRESS, arguments.size());
            for (int i = 0; i < arguments.size(); i++) {
                array.setAtIndex(ADDRESS, i, arena.allocateFrom(arguments.get(i)));
            }
            MemorySegment connection = (MemorySegment) connect.invokeExact(arguments.size(), array);
            return connection.address() == 0 ? null : connection;
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    /** What the queries take: the connection behind the address that {@link #connect} gave. */
    static MemorySegment session(MemorySegment connection) {
        return connection.reinterpret(ADDRESS.byteSize()).get(ADDRESS, 0);
    }

    void close(MemorySegment connection) {
        callVoid(close, connection);
    }

    int statementCount(MemorySegment session, byte[] text) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment analysis =
                    arena.allocate(
                            MemoryLayout.sequenceLayout(ANALYSIS_BYTES / Integer.BYTES, JAVA_INT));
            analysis.set(JAVA_INT, 0, ANALYSIS_BYTES);
            MemorySegment sql = bytes(arena, text);
            int state =
                    (int)
                            classify.invokeExact(
                                    session,
                                    sql,
                                    (long) text.length,
                                    MemorySegment.NULL,
                                    0L,
                                    analysis);
            return state == 0 ? analysis.get(JAVA_INT, ANALYSIS_STATEMENT_COUNT) : 0;
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    MemorySegment query(MemorySegment session, Statement statement) {
        return withParameters(query, session, statement);
    }

    MemorySegment streamQuery(MemorySegment session, Statement statement) {
        return withParameters(streamQuery, session, statement);
    }

    MemorySegment streamFetch(MemorySegment session, MemorySegment stream) {
        try {
            return (MemorySegment) streamFetch.invokeExact(session, stream);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    void streamCancel(MemorySegment session, MemorySegment stream) {
        try {
            streamCancel.invokeExact(session, stream);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    MemorySegment insert(MemorySegment session, Statement statement) {
        return withParameters(insert, session, statement);
    }

    @Nullable String insertError(MemorySegment stream) {
        return text(callAddress(insertError, stream));
    }

    boolean insertAppend(MemorySegment stream, MemorySegment data, long length) {
        try {
            return (int) insertAppend.invokeExact(stream, data, length) == 0;
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    MemorySegment insertDone(MemorySegment stream) {
        return callAddress(insertDone, stream);
    }

    /** Cancels first what was not finished. */
    void insertDestroy(MemorySegment stream) {
        callVoid(insertDestroy, stream);
    }

    /** The result's bytes: valid until {@link #resultDestroy}. */
    MemorySegment resultBytes(MemorySegment result) {
        long length = callLong(resultLength, result);
        return length == 0
                ? MemorySegment.NULL
                : callAddress(resultBuffer, result).reinterpret(length);
    }

    @Nullable String resultError(MemorySegment result) {
        return text(callAddress(resultError, result));
    }

    long resultRowsWritten(MemorySegment result) {
        return callLong(resultRowsWritten, result);
    }

    long resultBytesWritten(MemorySegment result) {
        return callLong(resultBytesWritten, result);
    }

    long resultRowsRead(MemorySegment result) {
        return callLong(resultRowsRead, result);
    }

    long resultBytesRead(MemorySegment result) {
        return callLong(resultBytesRead, result);
    }

    void resultDestroy(MemorySegment result) {
        callVoid(resultDestroy, result);
    }

    void shutdown() {
        try {
            shutdown.invokeExact();
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    private void leaveSignalsAlone() {
        MethodHandle handlers =
                bind("chdb_set_signal_handlers_enabled", FunctionDescriptor.ofVoid(JAVA_INT));
        try {
            handlers.invokeExact(0);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    private MethodHandle bind(String name, FunctionDescriptor signature) {
        return Linker.nativeLinker().downcallHandle(symbols.findOrThrow(name), signature);
    }

    private static MemorySegment withParameters(
            MethodHandle function, MemorySegment session, Statement statement) {
        try (Arena arena = Arena.ofConfined()) {
            int count = statement.parameters.size();
            MemorySegment names = arena.allocate(ADDRESS, Math.max(1, count));
            MemorySegment nameLengths = arena.allocate(JAVA_LONG, Math.max(1, count));
            MemorySegment values = arena.allocate(ADDRESS, Math.max(1, count));
            MemorySegment valueLengths = arena.allocate(JAVA_LONG, Math.max(1, count));
            int at = 0;
            for (Map.Entry<String, String> parameter : statement.parameters.entrySet()) {
                put(arena, parameter.getKey(), names, nameLengths, at);
                put(arena, parameter.getValue(), values, valueLengths, at);
                at++;
            }
            MemorySegment text = bytes(arena, statement.text);
            byte[] formatBytes = statement.format.getBytes(StandardCharsets.UTF_8);
            MemorySegment format = bytes(arena, formatBytes);
            return (MemorySegment)
                    function.invokeExact(
                            session,
                            text,
                            (long) statement.text.length,
                            format,
                            (long) formatBytes.length,
                            names,
                            nameLengths,
                            values,
                            valueLengths,
                            (long) count);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    private static void put(
            Arena arena, String value, MemorySegment texts, MemorySegment lengths, int at) {
        byte[] encoded = value.getBytes(StandardCharsets.UTF_8);
        texts.setAtIndex(ADDRESS, at, bytes(arena, encoded));
        lengths.setAtIndex(JAVA_LONG, at, encoded.length);
    }

    /** With a zero behind it, in case the library reads on as a C string. */
    private static MemorySegment bytes(Arena arena, byte[] value) {
        MemorySegment segment = arena.allocate(value.length + 1L);
        MemorySegment.copy(value, 0, segment, JAVA_BYTE, 0, value.length);
        return segment;
    }

    private static @Nullable String text(MemorySegment address) {
        return address.address() == 0
                ? null
                : address.reinterpret(Integer.MAX_VALUE).getString(0, StandardCharsets.UTF_8);
    }

    private static MemorySegment callAddress(MethodHandle function, MemorySegment argument) {
        try {
            return (MemorySegment) function.invokeExact(argument);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    private static long callLong(MethodHandle function, MemorySegment argument) {
        try {
            return (long) function.invokeExact(argument);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    private static void callVoid(MethodHandle function, MemorySegment argument) {
        try {
            function.invokeExact(argument);
        } catch (Throwable e) {
            throw broken(e);
        }
    }

    /** C functions throw nothing: only a wrong signature or an exhausted JVM ends here. */
    private static IllegalStateException broken(Throwable cause) {
        return new IllegalStateException("a call into libchdb failed", cause);
    }
}
