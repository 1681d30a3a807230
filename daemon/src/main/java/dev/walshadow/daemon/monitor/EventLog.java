package dev.walshadow.daemon.monitor;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.node.ArrayNode;

/** The last messages of the log, for people who look at the status page. Thread safe. */
public final class EventLog {
    private static final int CAPACITY = 200;
    private static final int TEXT_LIMIT = 4_000;
    private static final Pattern CODE = Pattern.compile("\\bWS-\\d{4}\\b");

    private record Event(Instant at, String level, String text, int times) {
        Event again(Instant now) {
            return new Event(now, level, text, times + 1);
        }
    }

    private final Deque<Event> events = new ArrayDeque<>();

    /**
     * Something happened. The same text again only counts.
     *
     * @param level info, warn or error
     */
    public synchronized void add(Instant at, String level, String text) {
        String kept = text.length() <= TEXT_LIMIT ? text : text.substring(0, TEXT_LIMIT) + "...";
        Event last = events.peekLast();
        if (last != null && last.text().equals(kept) && last.level().equals(level)) {
            events.removeLast();
            events.addLast(last.again(at));
            return;
        }
        if (events.size() == CAPACITY) {
            events.removeFirst();
        }
        events.addLast(new Event(at, level, kept, 1));
    }

    /** The newest first. */
    public synchronized void write(ArrayNode into) {
        for (Iterator<Event> from = events.descendingIterator(); from.hasNext(); ) {
            Event event = from.next();
            var node =
                    into.addObject()
                            .put("at", event.at().toString())
                            .put("level", event.level())
                            .put("text", event.text())
                            .put("times", event.times());
            Matcher code = CODE.matcher(event.text());
            if (code.find()) {
                node.put("code", code.group());
            }
        }
    }
}
