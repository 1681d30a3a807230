package dev.walshadow.bootstrap.backup;

import dev.walshadow.base.RetryException;
import java.nio.charset.StandardCharsets;

/**
 * Takes one tar archive apart as its bytes are pushed in, in pieces of any length; bodies are
 * handed on in place. Survives any bytes: what is no such archive becomes a {@link RetryException}
 * (the backup is taken anew). One archive each; one thread.
 */
final class TarReader {
    /** Called in the archive's order. */
    interface Entries {
        /** {@code type} is one of {@link TarLayout}'s. */
        void begin(String path, int type, long size) throws InterruptedException;

        void data(byte[] bytes, int offset, int length) throws InterruptedException;

        void end() throws InterruptedException;
    }

    private final String archive;
    private final Entries entries;
    private final byte[] header = new byte[TarLayout.BLOCK_LENGTH];
    private int headerLength;
    private long bodyLeft;
    private int paddingLeft;
    private boolean inFile;
    private boolean ended;

    TarReader(String archive, Entries entries) {
        this.archive = archive;
        this.entries = entries;
    }

    void push(byte[] bytes, int offset, int length) throws InterruptedException {
        int at = offset;
        int end = offset + length;
        while (at < end) {
            if (bodyLeft > 0) {
                int count = (int) Math.min(bodyLeft, end - at);
                entries.data(bytes, at, count);
                at += count;
                bodyLeft -= count;
                endBodyIfComplete();
            } else if (paddingLeft > 0) {
                int count = Math.min(paddingLeft, end - at);
                at += count;
                paddingLeft -= count;
            } else {
                int count = Math.min(header.length - headerLength, end - at);
                System.arraycopy(bytes, at, header, headerLength, count);
                at += count;
                headerLength += count;
                if (headerLength == header.length) {
                    headerLength = 0;
                    readHeader();
                }
            }
        }
    }

    /** To be called after the archive's last byte. */
    void finish() {
        if (bodyLeft > 0 || paddingLeft > 0 || headerLength > 0) {
            throw broken("it ends in the middle of a file");
        }
    }

    private void endBodyIfComplete() throws InterruptedException {
        if (bodyLeft == 0 && inFile) {
            inFile = false;
            entries.end();
        }
    }

    private void readHeader() throws InterruptedException {
        if (isZero()) {
            ended = true;
            return;
        }
        if (ended) {
            throw broken("a file follows its end");
        }
        if (number(TarLayout.CHECKSUM, TarLayout.CHECKSUM_LENGTH) != checksum()) {
            throw broken("a header's checksum is wrong");
        }
        if (header[TarLayout.PREFIX] != 0) {
            throw broken("a header has a path prefix, which PostgreSQL does not write");
        }
        long size = number(TarLayout.SIZE, TarLayout.SIZE_LENGTH);
        int type = header[TarLayout.TYPE];
        if (type == 0) {
            type = TarLayout.TYPE_FILE;
        }
        if (type != TarLayout.TYPE_FILE) {
            size = 0;
        }
        if (size < 0) {
            throw broken("a file of " + size + " bytes");
        }
        bodyLeft = size;
        paddingLeft = (int) (-size & (TarLayout.BLOCK_LENGTH - 1));
        inFile = true;
        entries.begin(path(), type, size);
        endBodyIfComplete();
    }

    private boolean isZero() {
        for (byte b : header) {
            if (b != 0) {
                return false;
            }
        }
        return true;
    }

    /** The sum of the header's bytes, the checksum field taken as blanks. */
    private long checksum() {
        long sum = 0;
        for (int i = 0; i < header.length; i++) {
            boolean inField =
                    i >= TarLayout.CHECKSUM && i < TarLayout.CHECKSUM + TarLayout.CHECKSUM_LENGTH;
            sum += inField ? ' ' : header[i] & 0xFF;
        }
        return sum;
    }

    private long number(int offset, int length) {
        if ((header[offset] & 0x80) != 0) {
            long value = header[offset] & 0x7F;
            for (int i = 1; i < length; i++) {
                if (value >>> 55 != 0) {
                    throw broken("a number is too large");
                }
                value = value << 8 | (header[offset + i] & 0xFF);
            }
            return value;
        }
        long value = 0;
        for (int i = 0; i < length; i++) {
            int c = header[offset + i];
            if (c == 0 || c == ' ') {
                if (value == 0 && c == ' ') {
                    continue;
                }
                break;
            }
            if (c < '0' || c > '7') {
                throw broken("a number is not octal");
            }
            value = value << 3 | (c - '0');
        }
        return value;
    }

    /** Relative, without {@code .} and {@code ..}; the end's slash of a directory removed. */
    private String path() {
        int length = 0;
        while (length < TarLayout.NAME_LENGTH && header[TarLayout.NAME + length] != 0) {
            length++;
        }
        String path = new String(header, TarLayout.NAME, length, StandardCharsets.UTF_8);
        while (path.endsWith("/")) {
            path = path.substring(0, path.length() - 1);
        }
        while (path.startsWith("./")) {
            path = path.substring(2);
        }
        if (path.equals(".")) {
            return "";
        }
        for (String part : path.split("/", -1)) {
            if ((part.isEmpty() && !path.isEmpty()) || part.equals(".") || part.equals("..")) {
                throw broken("the path " + path + " leads out of it");
            }
        }
        return path;
    }

    private RetryException broken(String found) {
        return new RetryException(
                BackupCodes.BROKEN_STREAM,
                "the base backup's archive " + archive + " cannot be read: " + found);
    }
}
