package dev.walshadow.daemon.control;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import dev.walshadow.daemon.DaemonCodes;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** One request over a daemon's control socket. */
public final class ControlClient {
    private static final JsonMapper JSON = new JsonMapper();

    private ControlClient() {}

    public static ObjectNode request(String command) {
        return JSON.createObjectNode().put("command", command);
    }

    /**
     * Sends one request and waits for its answer. Throws a RetryException while no daemon listens,
     * a ConfigurationException for an answer that is an error.
     */
    public static JsonNode send(Path socket, ObjectNode request) {
        String line;
        try (SocketChannel connection = SocketChannel.open(UnixDomainSocketAddress.of(socket));
                Writer out =
                        new OutputStreamWriter(
                                Channels.newOutputStream(connection), StandardCharsets.UTF_8);
                BufferedReader in =
                        new BufferedReader(
                                new InputStreamReader(
                                        Channels.newInputStream(connection),
                                        StandardCharsets.UTF_8))) {
            out.write(JSON.writeValueAsString(request));
            out.write('\n');
            out.flush();
            line = in.readLine();
        } catch (IOException e) {
            throw notRunning(socket, e);
        }
        if (line == null) {
            throw notRunning(socket, new IOException("the connection was closed"));
        }
        return answer(line);
    }

    /** An answer's line; what is none comes from something else than a walshadow. */
    static JsonNode answer(String line) {
        JsonNode answer;
        try {
            answer = JSON.readTree(line);
        } catch (JacksonException e) {
            throw unreadable(e);
        }
        if (!answer.isObject()) {
            throw unreadable(null);
        }
        if (answer.has("error")) {
            throw new ConfigurationException(
                    DaemonCodes.CONTROL_REQUEST, answer.path("error").asString(""));
        }
        return answer;
    }

    private static ConfigurationException unreadable(@Nullable JacksonException cause) {
        return new ConfigurationException(
                DaemonCodes.CONTROL_REQUEST,
                "what answers on the control socket is no walshadow of this release; stop it, or"
                        + " use the release that runs",
                cause);
    }

    private static RetryException notRunning(Path socket, IOException cause) {
        return new RetryException(
                DaemonCodes.NOT_RUNNING,
                "no walshadow answers on "
                        + socket
                        + " ("
                        + cause.getMessage()
                        + "); start it with: walshadow run --config FILE",
                cause);
    }
}
