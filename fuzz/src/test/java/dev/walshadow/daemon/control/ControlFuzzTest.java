package dev.walshadow.daemon.control;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.Invariant;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.JsonNode;

/** Both sides of the control socket meet any line. */
final class ControlFuzzTest {
    @FuzzTest(maxDuration = "1m")
    void request(byte[] bytes) throws InterruptedException {
        String line = new String(bytes, StandardCharsets.UTF_8);
        JsonNode answer = ControlServer.answer(line, ControlFuzzTest::handle);
        Invariant.check(answer.isObject(), "every line gets an object");
    }

    private static tools.jackson.databind.node.ObjectNode handle(JsonNode request) {
        return ControlClient.request(request.path("command").asString(""))
                .put("timeout_millis", request.path("timeout_millis").asLong(60_000))
                .put("table", request.path("table").asString(""));
    }

    @FuzzTest(maxDuration = "1m")
    void answer(byte[] bytes) {
        try {
            JsonNode answer = ControlClient.answer(new String(bytes, StandardCharsets.UTF_8));
            Invariant.check(answer.isObject(), "an answer is an object");
        } catch (ConfigurationException e) {
            Invariant.check(e.getMessage() != null, "a failure has a message");
        }
    }
}
