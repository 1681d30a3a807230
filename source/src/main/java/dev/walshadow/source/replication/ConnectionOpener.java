package dev.walshadow.source.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.WalshadowException;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a replication connection: hosts in order, all addresses of each, TLS as {@code sslmode}
 * says, startup, login. As in libpq a refused login ends the search; an unreachable host, one that
 * is not ready, and (where a primary is wanted) a standby pass it on to the next.
 */
final class ConnectionOpener {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionOpener.class);
    private static final int RECEIVE_BUFFER_BYTES = 1 << 20;

    private final ConnectionSettings settings;
    private final SocketLayer layer;

    ConnectionOpener(ConnectionSettings settings, SocketLayer layer) {
        this.settings = settings;
        this.layer = layer;
    }

    /** Lets tests cut reads into single bytes. */
    interface SocketLayer {
        SocketLayer PLAIN = in -> in;

        InputStream wrap(InputStream in);
    }

    /** A connected byte stream. */
    private record Plain(
            Closeable socket, InputStream in, OutputStream out, @Nullable PollingSocket tcp) {}

    Wire open() {
        List<String> reasons = new ArrayList<>();
        boolean standbySeen = false;
        for (HostAddress host : settings.hosts()) {
            try {
                Wire wire = openHost(host);
                if (!settings.wantsPrimary()
                        || !wire.parameters().value("in_hot_standby").equals("on")) {
                    return wire;
                }
                standbySeen = true;
                reasons.add(host + ": is a standby");
                wire.closeSocket();
            } catch (ReconnectException e) {
                reasons.add(host + ": " + rootMessage(e));
            }
        }
        throw new ReconnectException(
                standbySeen ? ReplicationCodes.NO_PRIMARY : ReplicationCodes.UNREACHABLE,
                "no "
                        + (standbySeen ? "primary" : "server")
                        + " can be reached for the source "
                        + settings
                        + ": "
                        + String.join("; ", reasons)
                        + ". Check the hosts and ports in [source] url, and that the server runs"
                        + " and listens there");
    }

    /** Without the code, which the whole message has. */
    private static String rootMessage(ReconnectException e) {
        String message = String.valueOf(e.getMessage());
        String code = e.code() + " ";
        return message.startsWith(code) ? message.substring(code.length()) : message;
    }

    private Wire openHost(HostAddress host) {
        TlsMode mode = host.isUnixSocket() ? TlsMode.DISABLE : settings.tlsMode();
        boolean tlsFirst = mode != TlsMode.DISABLE && mode != TlsMode.ALLOW;
        try {
            return openOnce(host, mode, tlsFirst);
        } catch (ConfigurationException e) {
            // allow: plain first, then TLS; prefer: TLS first, then plain. Others have no fallback.
            boolean refused =
                    e.code().equals(ReplicationCodes.NOT_ADMITTED)
                            || e.code().equals(ReplicationCodes.TLS_REFUSED);
            if (!refused || (mode != TlsMode.ALLOW && mode != TlsMode.PREFER)) {
                throw e;
            }
            try {
                return openOnce(host, mode, !tlsFirst);
            } catch (ConfigurationException second) {
                if (second.code().equals(ReplicationCodes.TLS_REFUSED)) {
                    throw e;
                }
                throw second;
            }
        }
    }

    private Wire openOnce(HostAddress host, TlsMode mode, boolean tls) {
        Plain plain = host.isUnixSocket() ? connectUnix(host) : connectTcp(host);
        try {
            Plain secured = tls ? startTls(host, mode, plain) : plain;
            String peer = host.toString();
            MessageReader reader = new MessageReader(layer.wrap(secured.in()), peer);
            MessageWriter writer = new MessageWriter(secured.out(), peer);
            ServerParameters parameters = new ServerParameters();
            Wire wire =
                    new Wire(host, peer, secured.socket(), plain.tcp(), reader, writer, parameters);
            logIn(wire);
            if (plain.tcp() != null) {
                plain.tcp().becomePatient();
            }
            return wire;
        } catch (WalshadowException e) {
            closeQuietly(plain.socket());
            throw e;
        } catch (SSLException e) {
            closeQuietly(plain.socket());
            throw new ConfigurationException(
                    ReplicationCodes.TLS_REFUSED,
                    "the TLS handshake with "
                            + host
                            + " failed (sslmode="
                            + mode.text()
                            + "): "
                            + e.getMessage()
                            + ". Check sslrootcert and the server's certificate",
                    e);
        } catch (IOException e) {
            closeQuietly(plain.socket());
            throw broken(host, e);
        }
    }

    private Plain connectTcp(HostAddress host) {
        IOException last = null;
        try {
            for (InetAddress address : InetAddress.getAllByName(host.host())) {
                PollingSocket socket = new PollingSocket();
                try {
                    prepare(socket);
                    socket.connect(
                            new InetSocketAddress(address, host.port()),
                            settings.connectTimeoutMillis());
                    // Until the login is done a silent server is an unreachable one.
                    socket.setSoTimeout(settings.connectTimeoutMillis());
                    return new Plain(
                            socket, socket.getInputStream(), socket.getOutputStream(), socket);
                } catch (IOException e) {
                    closeQuietly(socket);
                    last = e;
                }
            }
        } catch (IOException e) {
            last = e;
        }
        throw broken(host, last == null ? new IOException("no address") : last);
    }

    private static void prepare(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setKeepAlive(true);
        socket.setReceiveBufferSize(RECEIVE_BUFFER_BYTES);
        try {
            socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 30);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, 10);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 3);
        } catch (UnsupportedOperationException | SocketException e) {
            LOG.debug("this platform does not tune TCP keepalive: {}", e.getMessage());
        }
    }

    private Plain connectUnix(HostAddress host) {
        try {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            try {
                channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER_BYTES);
                channel.connect(UnixDomainSocketAddress.of(Path.of(host.toString())));
                return new Plain(
                        channel,
                        Channels.newInputStream(channel),
                        Channels.newOutputStream(channel),
                        null);
            } catch (IOException e) {
                closeQuietly(channel);
                throw e;
            }
        } catch (IOException e) {
            throw broken(host, e);
        }
    }

    private Plain startTls(HostAddress host, TlsMode mode, Plain plain) throws IOException {
        MessageReader reader = new MessageReader(plain.in(), host.toString());
        new MessageWriter(plain.out(), host.toString()).sslRequest();
        int answer = reader.singleByte();
        if (answer != 'S') {
            if (answer == 'N' && mode == TlsMode.PREFER) {
                return plain;
            }
            throw new ConfigurationException(
                    ReplicationCodes.TLS_REFUSED,
                    "the server "
                            + host
                            + " does not offer TLS and sslmode="
                            + mode.text()
                            + " asks for it; set ssl = on there, or another sslmode here");
        }
        boolean verifies = mode == TlsMode.VERIFY_CA || mode == TlsMode.VERIFY_FULL;
        SSLSocket socket =
                (SSLSocket)
                        TlsContext.create(verifies, settings.tlsFiles())
                                .getSocketFactory()
                                .createSocket(plain.tcp(), host.host(), host.port(), true);
        if (mode == TlsMode.VERIFY_FULL) {
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            socket.setSSLParameters(parameters);
        }
        socket.startHandshake();
        return new Plain(socket, socket.getInputStream(), socket.getOutputStream(), plain.tcp());
    }

    private void logIn(Wire wire) {
        Map<String, String> parameters = new LinkedHashMap<>();
        parameters.put("user", settings.user());
        parameters.put("replication", "true");
        parameters.put("application_name", settings.applicationName());
        String options = settings.serverOptions();
        if (options != null) {
            parameters.put("options", options);
        }
        wire.writer().startup(parameters);
        Authentication authentication =
                new Authentication(
                        settings.user(),
                        settings.replicationPasswordFor(wire.host()),
                        wire.peer(),
                        settings.passwordFile().problem());
        MessageReader reader = wire.reader();
        boolean accepted = false;
        while (true) {
            int type = reader.next();
            if (type == Protocol.AUTHENTICATION && !accepted) {
                accepted = authentication.answer(reader, wire.writer());
            } else if (type == Protocol.ERROR_RESPONSE) {
                throw ServerError.read(reader).toException("log in", wire.peer());
            } else if (type == Protocol.NOTICE_RESPONSE) {
                LOG.debug("{}: {}", wire.peer(), ServerError.read(reader).text());
            } else if (accepted && type == Protocol.PARAMETER_STATUS) {
                wire.parameters().read(reader);
            } else if (accepted && type == Protocol.READY_FOR_QUERY) {
                return;
            } else if (!accepted
                    || (type != Protocol.BACKEND_KEY_DATA && type != Protocol.NEGOTIATE_VERSION)) {
                throw reader.unexpected("a step of the login");
            }
        }
    }

    private static ReconnectException broken(HostAddress host, IOException e) {
        return new ReconnectException(
                ReplicationCodes.UNREACHABLE, "cannot connect to " + host + ": " + e, e);
    }

    private static void closeQuietly(Closeable socket) {
        try {
            socket.close();
        } catch (IOException e) {
            LOG.debug("closing a failed connection: {}", e.getMessage());
        }
    }
}
