package dev.walshadow.embedded.engine;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** With what the pieces of a streamed result begin, by format. */
final class PieceHeaders {
    private static final Set<String> WITHOUT =
            Set.of(
                    "Native",
                    "RowBinary",
                    "TabSeparated",
                    "TSV",
                    "TabSeparatedRaw",
                    "TSVRaw",
                    "CSV",
                    "JSONEachRow",
                    "JSONCompactEachRow",
                    "LineAsString");

    private PieceHeaders() {}

    /** Null for a format that cannot be put together from pieces. */
    static EngineConnection.@Nullable PieceHeader of(String format) {
        if (WITHOUT.contains(format)) {
            return _ -> 0;
        }
        return switch (format) {
            case "RowBinaryWithNames" -> piece -> rowBinary(piece, 1);
            case "RowBinaryWithNamesAndTypes" -> piece -> rowBinary(piece, 2);
            case "TabSeparatedWithNames", "TSVWithNames" -> piece -> lines(piece, 1);
            case "TabSeparatedWithNamesAndTypes", "TSVWithNamesAndTypes" ->
                    piece -> lines(piece, 2);
            default -> null;
        };
    }

    /** Number of columns, then so many strings for names, and again for types; LEB128 lengths. */
    private static long rowBinary(MemorySegment piece, int stringsPerColumn) {
        if (piece.byteSize() == 0) {
            return 0;
        }
        long[] at = {0};
        long strings = varint(piece, at) * stringsPerColumn;
        for (long i = 0; i < strings; i++) {
            long length = varint(piece, at);
            at[0] += length;
        }
        return at[0];
    }

    private static long varint(MemorySegment piece, long[] at) {
        long value = 0;
        for (int shift = 0; ; shift += 7) {
            byte b = piece.get(JAVA_BYTE, at[0]++);
            value |= (long) (b & 0x7F) << shift;
            if (b >= 0) {
                return value;
            }
        }
    }

    private static long lines(MemorySegment piece, int count) {
        long at = 0;
        int seen = 0;
        while (seen < count && at < piece.byteSize()) {
            seen += piece.get(JAVA_BYTE, at++) == '\n' ? 1 : 0;
        }
        return at;
    }
}
