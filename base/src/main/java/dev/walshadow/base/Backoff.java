package dev.walshadow.base;

/** Exponential backoff: 100 ms doubling up to a ceiling, started anew by {@link #reset()}. */
public final class Backoff {
    private static final long FIRST_MILLIS = 100;

    private final long ceilingMillis;
    private long nextMillis = FIRST_MILLIS;

    public Backoff(long ceilingMillis) {
        this.ceilingMillis = ceilingMillis;
    }

    public void reset() {
        nextMillis = FIRST_MILLIS;
    }

    /** The delay to wait before the coming attempt; grows with each call. */
    public long nextDelayMillis() {
        long delay = Math.min(nextMillis, ceilingMillis);
        nextMillis = Math.min(nextMillis * 2, ceilingMillis);
        return delay;
    }

    /** Waits the next delay. */
    public void pause() throws InterruptedException {
        Thread.sleep(nextDelayMillis());
    }
}
