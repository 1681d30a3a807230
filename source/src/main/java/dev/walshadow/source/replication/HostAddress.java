package dev.walshadow.source.replication;

/**
 * One server to try.
 *
 * @param host name, address, or an absolute directory that holds a Unix socket
 */
public record HostAddress(String host, int port) {
    public boolean isUnixSocket() {
        return host.startsWith("/");
    }

    @Override
    public String toString() {
        return isUnixSocket() ? host + "/.s.PGSQL." + port : host + ":" + port;
    }
}
