package dev.walshadow.bootstrap;

import java.time.Duration;

/**
 * How far a base backup has come.
 *
 * @param bytesDone of the stream
 * @param bytesTotal the server's estimate at the backup's start, never below {@code bytesDone}
 * @param elapsed since the first file
 */
public record BackupProgress(long bytesDone, long bytesTotal, Duration elapsed) {
    /** 0 to 100. */
    public double percent() {
        return bytesTotal == 0 ? 0 : 100.0 * bytesDone / bytesTotal;
    }

    /** Of the time since the first file. */
    public double bytesPerSecond() {
        double seconds = elapsed.toNanos() / 1e9;
        return seconds == 0 ? 0 : bytesDone / seconds;
    }

    /** At the mean speed so far; zero while there is no speed yet. */
    public Duration remaining() {
        double speed = bytesPerSecond();
        return speed == 0
                ? Duration.ZERO
                : Duration.ofMillis((long) (1000 * (bytesTotal - bytesDone) / speed));
    }
}
