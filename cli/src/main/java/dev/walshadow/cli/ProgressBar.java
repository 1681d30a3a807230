package dev.walshadow.cli;

import java.io.PrintWriter;
import java.util.Locale;

/**
 * One line that is drawn over itself, on a terminal only; done of total, percent, rate and the time
 * left. Not thread safe.
 */
final class ProgressBar implements AutoCloseable {
    private static final long REDRAW_NANOS = 200_000_000L;
    private static final int WIDTH = 24;

    private final PrintWriter out;
    private final boolean terminal;
    private String label = "";
    private long total;
    private long done;
    private long started;
    private long nextDraw;

    ProgressBar(PrintWriter out) {
        this.out = out;
        this.terminal = Terminal.isInteractive();
    }

    void start(String newLabel, long newTotal) {
        label = newLabel;
        total = Math.max(1, newTotal);
        done = 0;
        started = System.nanoTime();
        nextDraw = started;
    }

    void step() {
        done++;
        if ((done & 0x3FF) == 0) {
            draw();
        }
    }

    private void draw() {
        long now = System.nanoTime();
        if (!terminal || now - nextDraw < 0) {
            return;
        }
        nextDraw = now + REDRAW_NANOS;
        double share = Math.min(1, (double) done / total);
        double seconds = (now - started) / 1e9;
        double left = share > 0 ? seconds / share - seconds : 0;
        int filled = (int) (share * WIDTH);
        out.printf(
                Locale.ROOT,
                "\r%-30s [%s%s] %3.0f%% %,.0f rows/s, %.0f s left \u001b[K",
                label,
                "#".repeat(filled),
                "-".repeat(WIDTH - filled),
                share * 100,
                done / Math.max(seconds, 1e-3),
                left);
        out.flush();
    }

    /** A line that stays. */
    void say(String line) {
        clear();
        out.println(line);
        out.flush();
    }

    private void clear() {
        if (terminal) {
            out.print("\r\u001b[K");
            out.flush();
        }
    }

    @Override
    public void close() {
        clear();
    }
}
