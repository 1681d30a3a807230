package dev.walshadow.cli.demo;

import java.io.PrintWriter;
import java.util.Locale;
import tools.jackson.databind.JsonNode;

/** What the demo shows while it runs: one block that is redrawn on a terminal, else a line each. */
final class DemoView {
    private static final int LINES = 5;

    private final PrintWriter out;
    private final boolean terminal;
    private long lastNanos = System.nanoTime();
    private long lastRows;
    private long lastWal;
    private boolean drawn;

    DemoView(PrintWriter out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    /**
     * @param sourceRows rows committed by the load so far
     * @param secondsLeft of the load
     */
    void show(JsonNode status, long sourceRows, long secondsLeft) {
        long now = System.nanoTime();
        double seconds = Math.max(1e-3, (now - lastNanos) / 1e9);
        long rows = status.path("rows").asLong(0);
        long wal = status.path("wal_bytes").asLong(0);
        double rowRate = (rows - lastRows) / seconds;
        double walRate = (wal - lastWal) / seconds / (1 << 20);
        lastNanos = now;
        lastRows = rows;
        lastWal = wal;
        String lag =
                String.format(
                        Locale.ROOT, "%d ms", status.path("commit_to_durable_millis").asLong(0));
        String durable = status.path("durable").asString("");
        if (!terminal) {
            out.printf(
                    Locale.ROOT,
                    "%s: %,d rows in ClickHouse, %,.0f rows/s, %.1f MB/s WAL, lag %s, watermark"
                            + " %s, %d s left%n",
                    status.path("phase").asString(""),
                    rows,
                    rowRate,
                    walRate,
                    lag,
                    durable,
                    secondsLeft);
            out.flush();
            return;
        }
        if (drawn) {
            out.print("\u001b[" + LINES + "A");
        }
        drawn = true;
        line(
                String.format(
                        Locale.ROOT,
                        "  rows        %,d in ClickHouse, %,d committed by the load",
                        rows,
                        sourceRows));
        line(
                String.format(
                        Locale.ROOT,
                        "  rate        %,.0f rows/s   WAL %.1f MB/s",
                        rowRate,
                        walRate));
        line(String.format(Locale.ROOT, "  lag         %s from commit to durable", lag));
        line(
                String.format(
                        Locale.ROOT,
                        "  watermark   %s   received %s",
                        durable,
                        status.path("received").asString("")));
        line(String.format(Locale.ROOT, "  time left   %d s", secondsLeft));
        out.flush();
    }

    private void line(String text) {
        out.println("\u001b[K" + text);
    }
}
