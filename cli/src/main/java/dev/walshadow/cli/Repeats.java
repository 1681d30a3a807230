package dev.walshadow.cli;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps a message that is logged over and over to one line per minute, and says how often it came
 * meanwhile. Bounded: of very many different messages the oldest are forgotten. Not thread safe.
 */
final class Repeats {
    static final long WINDOW_MILLIS = 60_000;
    private static final int LIMIT = 256;

    /** A message that was left out. */
    record LeftOut(String message, long times) {}

    private static final class Seen {
        final long sinceMillis;
        long leftOut;

        Seen(long sinceMillis) {
            this.sinceMillis = sinceMillis;
        }
    }

    /** In the order in which their windows began. */
    private final Map<String, Seen> windows = new LinkedHashMap<>();

    /** Messages whose minute is over, and which came again in it. */
    List<LeftOut> over(long nowMillis) {
        List<LeftOut> over = new ArrayList<>();
        Iterator<Map.Entry<String, Seen>> oldest = windows.entrySet().iterator();
        while (oldest.hasNext()) {
            Map.Entry<String, Seen> window = oldest.next();
            Seen seen = window.getValue();
            boolean ended = nowMillis - seen.sinceMillis >= WINDOW_MILLIS;
            if (!ended && windows.size() <= LIMIT) {
                break;
            }
            if (seen.leftOut > 0) {
                over.add(new LeftOut(window.getKey(), seen.leftOut));
            }
            oldest.remove();
        }
        return over;
    }

    /** Whether to log it: it has not been logged within the minute. */
    boolean isNew(String message, long nowMillis) {
        Seen seen = windows.get(message);
        if (seen != null && nowMillis - seen.sinceMillis < WINDOW_MILLIS) {
            seen.leftOut++;
            return false;
        }
        windows.remove(message);
        windows.put(message, new Seen(nowMillis));
        return true;
    }
}
