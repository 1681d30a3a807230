package dev.walshadow.shadow;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The server's log file: its end for messages, and a bound on its size. */
final class ServerLog {
    private static final int END_BYTES = 4096;
    private static final long SIZE_LIMIT = 16 << 20;

    private final Path file;

    ServerLog(Path file) {
        this.file = file;
    }

    Path file() {
        return file;
    }

    long size() {
        try {
            return Files.exists(file) ? Files.size(file) : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** Whole lines from the end of what was written after {@code position}. */
    String end(long position) {
        try (RandomAccessFile log = new RandomAccessFile(file.toFile(), "r")) {
            long length = log.length();
            long start = Math.max(Math.min(position, length), length - END_BYTES);
            byte[] bytes = new byte[(int) (length - start)];
            log.seek(start);
            log.readFully(bytes);
            String text = new String(bytes, StandardCharsets.UTF_8);
            boolean cut = start > position;
            return (cut ? text.substring(text.indexOf('\n') + 1) : text).strip();
        } catch (IOException e) {
            return "(" + e + ")";
        }
    }

    /** The server appends, so it goes on writing at the new end. */
    void bound() throws IOException {
        if (size() > SIZE_LIMIT) {
            try (FileChannel log = FileChannel.open(file, StandardOpenOption.WRITE)) {
                log.truncate(0);
            }
        }
    }
}
