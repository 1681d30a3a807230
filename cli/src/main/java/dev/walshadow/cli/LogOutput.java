package dev.walshadow.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import java.io.PrintStream;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The log of {@code run}, on standard error: a line per message for people, or a JSON object per
 * message for machines. A warning or an error that repeats itself is told once a minute ({@link
 * Repeats}).
 */
final class LogOutput extends AppenderBase<ILoggingEvent> {
    private static final JsonMapper JSON = new JsonMapper();
    private static final Pattern CODE = Pattern.compile("\\bWS-\\d{4}\\b");
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", Locale.ROOT)
                    .withZone(ZoneOffset.UTC);

    private final PrintStream out;
    private final boolean json;
    private final Repeats repeats = new Repeats();

    LogOutput(PrintStream out, boolean json) {
        this.out = out;
        this.json = json;
    }

    /**
     * Takes the place of whatever logged before.
     *
     * @param format text or json
     */
    static void install(String format) {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
            LogOutput output = new LogOutput(System.err, format.equals("json"));
            output.setContext(context);
            output.start();
            Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
            root.detachAndStopAllAppenders();
            root.addAppender(output);
        }
    }

    /** One caller at a time: the appender's base sees to it. */
    @Override
    protected void append(ILoggingEvent event) {
        long now = event.getTimeStamp();
        for (Repeats.LeftOut left : repeats.over(now)) {
            String told = left.message() + " (" + left.times() + " times more within a minute)";
            print(event.getInstant(), Level.INFO, "Repeats", told, "");
        }
        String message = event.getFormattedMessage();
        // what goes well is told each time: the same load may end twice within a minute
        boolean mayRepeat = event.getLevel().isGreaterOrEqual(Level.WARN);
        if (mayRepeat && event.getThrowableProxy() == null && !repeats.isNew(message, now)) {
            return;
        }
        String name = event.getLoggerName();
        print(
                event.getInstant(),
                event.getLevel(),
                name.substring(name.lastIndexOf('.') + 1),
                message,
                event.getThrowableProxy() == null
                        ? ""
                        : ThrowableProxyUtil.asString(event.getThrowableProxy()));
    }

    private void print(Instant at, Level level, String logger, String message, String trace) {
        String time = TIME.format(at);
        if (!json) {
            out.println(
                    String.format(Locale.ROOT, "%s %-5s %s %s", time, level, logger, message)
                            + (trace.isEmpty() ? "" : "\n" + trace.stripTrailing()));
            return;
        }
        ObjectNode line =
                JSON.createObjectNode()
                        .put("time", time)
                        .put("level", level.toString().toLowerCase(Locale.ROOT))
                        .put("logger", logger)
                        .put("message", message);
        Matcher code = CODE.matcher(message);
        if (code.find()) {
            line.put("code", code.group());
        }
        if (!trace.isEmpty()) {
            line.put("trace", trace);
        }
        out.println(line);
    }
}
