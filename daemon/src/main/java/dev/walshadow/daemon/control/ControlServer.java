package dev.walshadow.daemon.control;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Serves the control socket on virtual threads, one per connection. */
public final class ControlServer implements AutoCloseable {
    /** Answers one request; what it throws becomes an {@code "error"} answer. */
    public interface Handler {
        ObjectNode handle(JsonNode request) throws InterruptedException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(ControlServer.class);
    private static final int LINE_LIMIT = 1 << 20;
    private static final JsonMapper JSON = new JsonMapper();

    private final Path socket;
    private final ServerSocketChannel server;
    private final Handler handler;

    private ControlServer(Path socket, ServerSocketChannel server, Handler handler) {
        this.socket = socket;
        this.server = server;
        this.handler = handler;
    }

    /** Binds {@code socket} (replacing a dead daemon's) and starts to serve. */
    public static ControlServer start(Path socket, Handler handler) throws IOException {
        Files.deleteIfExists(socket);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(socket));
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
        ControlServer control = new ControlServer(socket, server, handler);
        Thread.ofVirtual().name("control-accept").start(control::accept);
        return control;
    }

    private void accept() {
        while (server.isOpen()) {
            try {
                SocketChannel connection = server.accept();
                Thread.ofVirtual().name("control").start(() -> serve(connection));
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                LOG.warn("control socket: {}", e.toString());
            }
        }
    }

    private void serve(SocketChannel connection) {
        try (connection;
                BufferedReader in =
                        new BufferedReader(
                                new InputStreamReader(
                                        Channels.newInputStream(connection),
                                        StandardCharsets.UTF_8));
                Writer out =
                        new OutputStreamWriter(
                                Channels.newOutputStream(connection), StandardCharsets.UTF_8)) {
            for (String line = readLine(in); line != null; line = readLine(in)) {
                out.write(JSON.writeValueAsString(answer(line, handler)));
                out.write('\n');
                out.flush();
            }
        } catch (IOException e) {
            LOG.debug("control connection ended: {}", e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static @Nullable String readLine(BufferedReader in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c >= 0; c = in.read()) {
            if (c == '\n') {
                return line.toString();
            }
            if (line.length() == LINE_LIMIT) {
                throw new IOException("a control request is longer than " + LINE_LIMIT);
            }
            line.append((char) c);
        }
        return null;
    }

    /** Whatever the line is, an object answers it. */
    static ObjectNode answer(String line, Handler handler) throws InterruptedException {
        try {
            return handler.handle(JSON.readTree(line));
        } catch (JacksonException e) {
            return error("not a JSON object: " + e.getOriginalMessage());
        } catch (RuntimeException e) {
            return error(String.valueOf(e.getMessage()));
        }
    }

    private static ObjectNode error(String message) {
        return JSON.createObjectNode().put("ok", false).put("error", message);
    }

    @Override
    public void close() throws IOException {
        server.close();
        Files.deleteIfExists(socket);
    }
}
