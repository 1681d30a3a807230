package dev.walshadow.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

final class LogOutputTest {
    private static final Instant START = Instant.parse("2026-01-02T03:04:05.678Z");

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final Logger logger = new LoggerContext().getLogger("dev.walshadow.a.Thing");

    private List<String> lines() {
        return bytes.toString(StandardCharsets.UTF_8).lines().toList();
    }

    private LogOutput output(boolean json) {
        LogOutput output =
                new LogOutput(new PrintStream(bytes, true, StandardCharsets.UTF_8), json);
        output.start();
        return output;
    }

    private void log(LogOutput output, int second, String text, @Nullable Throwable thrown) {
        LoggingEvent event = new LoggingEvent("", logger, Level.WARN, text, thrown, null);
        event.setInstant(START.plusSeconds(second));
        output.doAppend(event);
    }

    @Test
    void aLineOfTextIsForPeople() {
        LogOutput output = output(false);
        log(output, 0, "something \"is\" up", null);
        assertThat(lines())
                .containsExactly("2026-01-02T03:04:05.678Z WARN  Thing something \"is\" up");
        log(output, 1, "a fault", new IllegalStateException("why"));
        assertThat(lines().get(2)).isEqualTo("java.lang.IllegalStateException: why");
    }

    @Test
    void aLineOfJsonIsOneObjectWhateverTheMessage() {
        LogOutput output = output(true);
        log(output, 0, "WS-1704 it \"said\"\nnö", null);
        log(output, 1, "a fault", new IllegalStateException("why"));
        assertThat(lines()).hasSize(2);
        JsonNode first = new JsonMapper().readTree(lines().getFirst());
        assertThat(first.toString())
                .isEqualTo(
                        "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"warn\",\"logger\":"
                                + "\"Thing\",\"message\":\"WS-1704 it \\\"said\\\"\\nnö\","
                                + "\"code\":\"WS-1704\"}");
        JsonNode second = new JsonMapper().readTree(lines().getLast());
        assertThat(second.path("trace").asString("")).contains("IllegalStateException: why");
    }

    @Test
    void whatRepeatsItselfIsToldOnceAMinuteWithItsCount() {
        LogOutput output = output(false);
        for (int second = 0; second < 59; second++) {
            log(output, second, "again", null);
        }
        log(output, 30, "other", null);
        assertThat(lines()).hasSize(2);
        log(output, 61, "again", null);
        assertThat(lines()).hasSize(4);
        assertThat(lines().get(2)).endsWith("again (58 times more within a minute)");
        assertThat(lines().get(3)).endsWith("Thing again");
        log(output, 200, "new", null);
        assertThat(lines()).hasSize(5);
    }

    @Test
    void whatGoesWellIsToldEachTime() {
        LogOutput output = output(false);
        for (int i = 0; i < 2; i++) {
            output.doAppend(new LoggingEvent("", logger, Level.INFO, "is loaded", null, null));
        }
        assertThat(lines()).hasSize(2);
    }

    @Test
    void veryManyDifferentMessagesArePassedOnInBoundedMemory() {
        LogOutput output = output(false);
        for (int i = 0; i < 2_000; i++) {
            log(output, 0, "message " + i, null);
        }
        log(output, 0, "message 0", null);
        log(output, 0, "message 1999", null);
        assertThat(lines()).hasSize(2_001);
    }
}
