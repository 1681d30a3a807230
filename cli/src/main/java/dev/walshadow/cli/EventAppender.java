package dev.walshadow.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.walshadow.daemon.monitor.EventLog;
import java.util.Locale;
import org.slf4j.LoggerFactory;

/** Keeps what is logged for the status page, too. */
final class EventAppender extends AppenderBase<ILoggingEvent> {
    private final EventLog events;

    private EventAppender(EventLog events) {
        this.events = events;
    }

    static void attach(EventLog events) {
        if (LoggerFactory.getLogger("dev.walshadow") instanceof Logger logger) {
            EventAppender appender = new EventAppender(events);
            appender.setContext(logger.getLoggerContext());
            appender.start();
            logger.addAppender(appender);
        }
    }

    @Override
    protected void append(ILoggingEvent event) {
        if (event.getLevel().isGreaterOrEqual(Level.INFO)) {
            events.add(
                    event.getInstant(),
                    event.getLevel().toString().toLowerCase(Locale.ROOT),
                    event.getFormattedMessage());
        }
    }
}
