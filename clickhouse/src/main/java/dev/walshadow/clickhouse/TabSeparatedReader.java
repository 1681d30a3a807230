package dev.walshadow.clickhouse;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads ClickHouse's TabSeparated format: fields end at a tab, rows at a line feed, {@code \N} is
 * NULL, and {@code \b \f \r \n \t \0 \' \\} are escapes. Fields are unescaped in place of the row
 * being made, so a row's bytes lie in one array.
 */
final class TabSeparatedReader {
    private final InputStream in;
    private final byte[] chunk = new byte[1 << 16];
    private int at;
    private int end;
    private final ResultRow row = new ResultRow();
    private int length;

    TabSeparatedReader(InputStream in) {
        this.in = in;
    }

    static void readAll(InputStream in, RowConsumer consumer) throws IOException {
        TabSeparatedReader reader = new TabSeparatedReader(in);
        int columns = -1;
        for (ResultRow row = reader.next(); row != null; row = reader.next()) {
            if (columns >= 0 && row.columns() != columns) {
                // a server that fails in the middle of an answer writes its message there
                throw new IOException(
                        "expected a row of "
                                + columns
                                + " columns, found "
                                + row.columns()
                                + ", the first: "
                                + row.text(0));
            }
            columns = row.columns();
            consumer.row(row);
        }
    }

    /** The next row, valid until the next call; null at the end. */
    @Nullable ResultRow next() throws IOException {
        row.clear();
        length = 0;
        int start = 0;
        boolean isNull = false;
        if (!fill()) {
            return null;
        }
        while (true) {
            if (!fill()) {
                throw new IOException("the answer ends inside a row, after " + length + " bytes");
            }
            byte b = chunk[at++];
            if (b == '\t' || b == '\n') {
                if (isNull) {
                    row.addNull();
                } else {
                    row.add(start, length - start);
                }
                if (b == '\n') {
                    return row;
                }
                start = length;
                isNull = false;
            } else if (b != '\\') {
                put(b);
            } else {
                byte escaped = escaped();
                if (escaped == 'N' && length == start) {
                    isNull = true;
                } else {
                    put(unescape(escaped));
                }
            }
        }
    }

    private byte escaped() throws IOException {
        if (!fill()) {
            throw new IOException("the answer ends inside an escape");
        }
        return chunk[at++];
    }

    private boolean fill() throws IOException {
        if (at < end) {
            return true;
        }
        at = 0;
        end = Math.max(0, in.read(chunk, 0, chunk.length));
        return end > 0;
    }

    private void put(byte b) {
        if (length == row.buffer.length) {
            row.buffer = Arrays.copyOf(row.buffer, length * 2);
        }
        row.buffer[length++] = b;
    }

    private static byte unescape(byte b) {
        return switch (b) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'r' -> '\r';
            case 'n' -> '\n';
            case 't' -> '\t';
            case '0' -> 0;
            default -> b;
        };
    }
}
