package dev.walshadow.source.replication;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Properties;
import javax.net.ssl.SSLSocketFactory;

/**
 * TLS for pgjdbc, which makes one by its class name ({@code sslfactory}) and its connection
 * properties. The host name of {@code verify-full} is checked by pgjdbc itself.
 */
public final class TlsSocketFactory extends SSLSocketFactory {
    private final SSLSocketFactory delegate;

    /** Called by pgjdbc. */
    public TlsSocketFactory(Properties properties) {
        String mode = properties.getProperty("sslmode", "prefer");
        boolean verifies = mode.startsWith("verify-");
        delegate = TlsContext.create(verifies, TlsFiles.from(properties)).getSocketFactory();
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose)
            throws IOException {
        return delegate.createSocket(socket, host, port, autoClose);
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return delegate.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return delegate.getSupportedCipherSuites();
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return delegate.createSocket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort)
            throws IOException {
        return delegate.createSocket(host, port, local, localPort);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return delegate.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort)
            throws IOException {
        return delegate.createSocket(host, port, local, localPort);
    }
}
