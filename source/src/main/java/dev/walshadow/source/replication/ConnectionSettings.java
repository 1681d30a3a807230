package dev.walshadow.source.replication;

import java.util.List;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** How to reach the source, for SQL and for replication. */
@SuppressWarnings("DoNotCallSuggester")
public final class ConnectionSettings {
    public static ConnectionSettings parse(String text) {
        throw new UnsupportedOperationException(text);
    }

    public List<HostAddress> hosts() {
        throw new UnsupportedOperationException();
    }

    public String user() {
        throw new UnsupportedOperationException();
    }

    public String database() {
        throw new UnsupportedOperationException();
    }

    public TlsMode tlsMode() {
        throw new UnsupportedOperationException();
    }

    /** The same servers and user, another database. */
    public ConnectionSettings withDatabase(String database) {
        throw new UnsupportedOperationException(database);
    }

    /** For pgjdbc, together with {@link #jdbcProperties()}; holds no secret. */
    public String jdbcUrl() {
        throw new UnsupportedOperationException();
    }

    public Properties jdbcProperties() {
        throw new UnsupportedOperationException();
    }

    @Nullable String passwordFor(HostAddress host, String database) {
        throw new UnsupportedOperationException(host + database);
    }

    /** Without secrets. */
    @Override
    public String toString() {
        return "";
    }
}
