package dev.walshadow.embedded.engine;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** One connection to the engine; one statement at a time, one thread at a time. */
final class EngineConnection implements AutoCloseable {
    private static final int CHUNK_BYTES = 1 << 18;

    private final LibChdb library;
    private final MemorySegment connection;
    private final MemorySegment session;

    /** What a statement did, as {@code X-ClickHouse-Summary} reports it. */
    record Summary(long readRows, long readBytes, long writtenRows, long writtenBytes) {
        static final Summary NONE = new Summary(0, 0, 0, 0);
    }

    /** Takes a result piece by piece; {@code begin} comes before the first one. */
    interface Output {
        /** The statement has not failed so far. */
        OutputStream begin(Summary summary) throws IOException;
    }

    /** Called when all data of an insert has been handed over, before it is committed. */
    interface BeforeCommit {
        void run() throws IOException;
    }

    EngineConnection(LibChdb library, MemorySegment connection) {
        this.library = library;
        this.connection = connection;
        this.session = LibChdb.session(connection);
    }

    int statementCount(byte[] text) {
        return library.statementCount(session, text);
    }

    /** A statement without parameters whose result does not matter. */
    void execute(String text) {
        MemorySegment result = library.query(session, LibChdb.Statement.of(text, "TabSeparated"));
        try {
            check(result);
        } finally {
            library.resultDestroy(result);
        }
    }

    /** Runs a statement to its end, then writes its whole result. */
    void query(LibChdb.Statement statement, Output output) throws IOException {
        MemorySegment result = library.query(session, statement);
        try {
            check(result);
            OutputStream out = output.begin(summary(result));
            copy(library.resultBytes(result), 0, out);
        } finally {
            library.resultDestroy(result);
        }
    }

    /**
     * Runs a SELECT and writes its result as it comes. The library formats every piece as a result
     * of its own, so this is for formats without a header ({@code pieceHeader} 0) or with one whose
     * length is known; such a header is kept in the first piece only.
     */
    void stream(LibChdb.Statement statement, PieceHeader header, Output output) throws IOException {
        MemorySegment stream = library.streamQuery(session, statement);
        boolean finished = false;
        try {
            check(stream);
            OutputStream out = null;
            while (!finished) {
                MemorySegment piece = library.streamFetch(session, stream);
                try {
                    check(piece);
                    MemorySegment bytes = library.resultBytes(piece);
                    long skipped = 0;
                    if (out == null) {
                        out = output.begin(Summary.NONE);
                    } else {
                        skipped = header.length(bytes);
                    }
                    copy(bytes, skipped, out);
                    finished = bytes.byteSize() == 0;
                } finally {
                    library.resultDestroy(piece);
                }
            }
        } finally {
            if (!finished) {
                library.streamCancel(session, stream);
            }
            library.resultDestroy(stream);
        }
    }

    /** Length of the header with which a non-empty piece of a format begins. */
    interface PieceHeader {
        long length(MemorySegment piece);
    }

    /**
     * An INSERT whose data comes as a stream; {@code statement} ends before FORMAT or VALUES. A
     * failure of {@code data} or {@code beforeCommit} cancels it.
     */
    Summary insert(LibChdb.Statement statement, InputStream data, BeforeCommit beforeCommit)
            throws IOException {
        MemorySegment stream = library.insert(session, statement);
        try (Arena arena = Arena.ofConfined()) {
            checkInsert(stream);
            byte[] chunk = new byte[CHUNK_BYTES];
            MemorySegment buffer = arena.allocate(CHUNK_BYTES);
            for (int read = data.readNBytes(chunk, 0, chunk.length);
                    read > 0;
                    read = data.readNBytes(chunk, 0, chunk.length)) {
                MemorySegment.copy(chunk, 0, buffer, JAVA_BYTE, 0, read);
                if (!library.insertAppend(stream, buffer, read)) {
                    checkInsert(stream);
                }
            }
            beforeCommit.run();
            MemorySegment result = library.insertDone(stream);
            try {
                check(result);
                return summary(result);
            } finally {
                library.resultDestroy(result);
            }
        } finally {
            library.insertDestroy(stream);
        }
    }

    @Override
    public void close() {
        library.close(connection);
    }

    private void check(MemorySegment result) {
        String error = library.resultError(result);
        if (error != null) {
            throw new EngineException(error);
        }
    }

    private void checkInsert(MemorySegment stream) {
        String error = library.insertError(stream);
        if (error != null) {
            throw new EngineException(error);
        }
    }

    private Summary summary(MemorySegment result) {
        return new Summary(
                library.resultRowsRead(result),
                library.resultBytesRead(result),
                library.resultRowsWritten(result),
                library.resultBytesWritten(result));
    }

    private static void copy(MemorySegment bytes, long from, OutputStream out) throws IOException {
        byte[] chunk = new byte[(int) Math.min(CHUNK_BYTES, bytes.byteSize())];
        for (long at = from; at < bytes.byteSize(); at += chunk.length) {
            int length = (int) Math.min(chunk.length, bytes.byteSize() - at);
            MemorySegment.copy(bytes, JAVA_BYTE, at, chunk, 0, length);
            out.write(chunk, 0, length);
        }
    }
}
