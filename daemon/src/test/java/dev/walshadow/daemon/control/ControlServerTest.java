package dev.walshadow.daemon.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.RetryException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

final class ControlServerTest {
    private final JsonMapper json = new JsonMapper();

    @TempDir Path directory;

    @Test
    void answersRequestsAndReportsErrors() throws IOException {
        Path socket = directory.resolve("control.sock");
        try (ControlServer server =
                ControlServer.start(
                        socket,
                        request -> {
                            if (request.path("command").asString("").equals("status")) {
                                return json.createObjectNode().put("ok", true);
                            }
                            throw new IllegalArgumentException("unknown command");
                        })) {
            assertThat(
                            ControlClient.send(socket, ControlClient.request("status"))
                                    .path("ok")
                                    .asBoolean())
                    .isTrue();
            assertThatThrownBy(() -> ControlClient.send(socket, ControlClient.request("fly")))
                    .hasMessageContaining("unknown command");
            assertThat(server).isNotNull();
        }
        assertThatThrownBy(() -> ControlClient.send(socket, ControlClient.request("status")))
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("walshadow run");
    }
}
