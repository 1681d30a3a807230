package dev.walshadow.source.replication;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * How to reach the source, for SQL (pgjdbc) and for replication alike. Understands what libpq
 * understands: both forms of connection strings, several hosts, the environment ({@code PGHOST},
 * {@code PGPASSWORD}, {@code PGPASSFILE}, {@code PGSSLROOTCERT} ...), password and service files.
 * Order of precedence: the string, the service, the environment, defaults. Immutable; {@link
 * #toString()} shows no secret.
 */
public final class ConnectionSettings {
    /** Keywords that change nothing here, accepted so that libpq's strings work unchanged. */
    private static final Set<String> WITHOUT_EFFECT =
            Set.of(
                    "client_encoding",
                    "fallback_application_name",
                    "gssencmode",
                    "gsslib",
                    "krbsrvname",
                    "keepalives",
                    "keepalives_idle",
                    "keepalives_interval",
                    "keepalives_count",
                    "tcp_user_timeout",
                    "sslcompression",
                    "sslsni",
                    "load_balance_hosts");

    private static final Map<String, String> ENVIRONMENT =
            Map.ofEntries(
                    Map.entry("host", "PGHOST"),
                    Map.entry("port", "PGPORT"),
                    Map.entry("dbname", "PGDATABASE"),
                    Map.entry("user", "PGUSER"),
                    Map.entry("password", "PGPASSWORD"),
                    Map.entry("passfile", "PGPASSFILE"),
                    Map.entry("sslmode", "PGSSLMODE"),
                    Map.entry("sslrootcert", "PGSSLROOTCERT"),
                    Map.entry("sslcert", "PGSSLCERT"),
                    Map.entry("sslkey", "PGSSLKEY"),
                    Map.entry("application_name", "PGAPPNAME"),
                    Map.entry("connect_timeout", "PGCONNECT_TIMEOUT"),
                    Map.entry("target_session_attrs", "PGTARGETSESSIONATTRS"),
                    Map.entry("options", "PGOPTIONS"),
                    Map.entry("service", "PGSERVICE"),
                    Map.entry("servicefile", "PGSERVICEFILE"));

    private static final Set<String> OTHER_KEYWORDS =
            Set.of("sslpassword", "channel_binding", "sslnegotiation");

    private final Map<String, String> keywords;
    private final List<HostAddress> hosts;
    private final Path home;

    private ConnectionSettings(Map<String, String> keywords, Path home) {
        this.keywords = Map.copyOf(keywords);
        this.home = home;
        this.hosts = List.copyOf(parseHosts(keywords));
    }

    /** Parses with this process's environment. */
    public static ConnectionSettings parse(String text) {
        return parse(text, System.getenv(), Path.of(System.getProperty("user.home", "/")));
    }

    /**
     * @param environment variables as libpq knows them
     * @param home where {@code .pgpass}, {@code .pg_service.conf} and {@code .postgresql/} are
     */
    public static ConnectionSettings parse(
            String text, Map<String, String> environment, Path home) {
        Map<String, String> given = ConnectionKeywords.parse(text);
        Map<String, String> merged = new LinkedHashMap<>();
        ENVIRONMENT.forEach((keyword, variable) -> {
            String value = environment.get(variable);
            if (value != null && !value.isEmpty()) {
                merged.put(keyword, value);
            }
        });
        String service = given.getOrDefault("service", merged.get("service"));
        if (service != null) {
            merged.putAll(ServiceFile.read(service, serviceFiles(given, environment, home)));
        }
        merged.putAll(given);
        String login = environment.getOrDefault("USER", "postgres");
        merged.putIfAbsent("user", login);
        checkKeywords(merged);
        return new ConnectionSettings(merged, home);
    }

    private static List<Path> serviceFiles(
            Map<String, String> given, Map<String, String> environment, Path home) {
        List<Path> files = new ArrayList<>();
        String named = given.getOrDefault("servicefile", environment.get("PGSERVICEFILE"));
        files.add(named != null ? Path.of(named) : home.resolve(".pg_service.conf"));
        String directory = environment.get("PGSYSCONFDIR");
        if (directory != null) {
            files.add(Path.of(directory, "pg_service.conf"));
        }
        return files;
    }

    private static void checkKeywords(Map<String, String> keywords) {
        for (Map.Entry<String, String> entry : keywords.entrySet()) {
            String keyword = entry.getKey();
            if (!ENVIRONMENT.containsKey(keyword)
                    && !OTHER_KEYWORDS.contains(keyword)
                    && !WITHOUT_EFFECT.contains(keyword)) {
                Set<String> known = new TreeSet<>(ENVIRONMENT.keySet());
                known.addAll(OTHER_KEYWORDS);
                throw ConnectionKeywords.bad(
                        "unknown connection keyword \""
                                + keyword
                                + "\"; known are "
                                + String.join(", ", known));
            }
        }
        if ("require".equals(keywords.get("channel_binding"))) {
            throw ConnectionKeywords.bad(
                    "channel_binding=require is not supported; use sslmode=verify-full");
        }
        if ("direct".equals(keywords.get("sslnegotiation"))) {
            throw ConnectionKeywords.bad(
                    "sslnegotiation=direct is not supported; use sslnegotiation=postgres");
        }
        if (keywords.containsKey("sslmode")) {
            parseTlsMode(keywords.get("sslmode"));
        }
        parseSeconds(keywords.get("connect_timeout"));
    }

    private static TlsMode parseTlsMode(@Nullable String text) {
        for (TlsMode mode : TlsMode.values()) {
            if (mode.text().equals(text)) {
                return mode;
            }
        }
        throw ConnectionKeywords.bad(
                "sslmode=\""
                        + text
                        + "\" is not one of disable, allow, prefer, require, verify-ca,"
                        + " verify-full");
    }

    private static int parseSeconds(@Nullable String text) {
        try {
            int seconds = text == null ? 0 : Integer.parseInt(text.trim());
            return seconds <= 0 ? 0 : seconds;
        } catch (NumberFormatException e) {
            throw ConnectionKeywords.bad(
                    "connect_timeout=\"" + text + "\" is not a number of seconds");
        }
    }

    private static List<HostAddress> parseHosts(Map<String, String> keywords) {
        String[] names = keywords.getOrDefault("host", "localhost").split(",", -1);
        String[] ports = keywords.getOrDefault("port", "").split(",", -1);
        if (ports.length != 1 && ports.length != names.length) {
            throw ConnectionKeywords.bad(
                    names.length + " hosts, but " + ports.length + " ports are given");
        }
        List<HostAddress> result = new ArrayList<>();
        for (int i = 0; i < names.length; i++) {
            String port = (ports.length == 1 ? ports[0] : ports[i]).trim();
            String name = names[i].trim();
            result.add(new HostAddress(name.isEmpty() ? "localhost" : name, parsePort(port)));
        }
        return result;
    }

    private static int parsePort(String text) {
        if (text.isEmpty()) {
            return 5432;
        }
        try {
            int port = Integer.parseInt(text);
            if (port >= 1 && port <= 65535) {
                return port;
            }
        } catch (NumberFormatException e) {
            throw ConnectionKeywords.bad("port \"" + text + "\" is not a number");
        }
        throw ConnectionKeywords.bad("port " + text + " is not within 1..65535");
    }

    /** In the order in which they are tried. */
    public List<HostAddress> hosts() {
        return hosts;
    }

    public String user() {
        return value("user", "postgres");
    }

    /** The database of SQL connections; by default named as the user. */
    public String database() {
        return value("dbname", user());
    }

    /**
     * As given, {@code prefer} by default. As in libpq, {@code require} with an {@code sslrootcert}
     * means {@code verify-ca}.
     */
    public TlsMode tlsMode() {
        String text = keywords.get("sslmode");
        TlsMode mode = text == null ? TlsMode.PREFER : parseTlsMode(text);
        return mode == TlsMode.REQUIRE && keywords.containsKey("sslrootcert")
                ? TlsMode.VERIFY_CA
                : mode;
    }

    public String applicationName() {
        return value("application_name", "walshadow");
    }

    /** 30 seconds by default. */
    public int connectTimeoutMillis() {
        int seconds = parseSeconds(keywords.get("connect_timeout"));
        return seconds == 0 ? 30_000 : Math.max(2, seconds) * 1000;
    }

    /** Whether only a primary will do: by default when several hosts are named. */
    public boolean wantsPrimary() {
        String text = keywords.get("target_session_attrs");
        if (text == null) {
            return hosts.size() > 1;
        }
        return text.equals("primary") || text.equals("read-write");
    }

    @Nullable String serverOptions() {
        return keywords.get("options");
    }

    TlsFiles tlsFiles() {
        return new TlsFiles(
                keywords.get("sslrootcert"),
                keywords.get("sslcert"),
                keywords.get("sslkey"),
                keywords.get("sslpassword"),
                home);
    }

    /** The same servers and user, another database. */
    public ConnectionSettings withDatabase(String database) {
        Map<String, String> changed = new LinkedHashMap<>(keywords);
        changed.put("dbname", database);
        return new ConnectionSettings(changed, home);
    }

    /** The same servers, user and database, with this password whatever was given before. */
    public ConnectionSettings withPassword(String password) {
        Map<String, String> changed = new LinkedHashMap<>(keywords);
        changed.put("password", password);
        return new ConnectionSettings(changed, home);
    }

    /** The same servers, user and database under another application_name. */
    public ConnectionSettings withApplicationName(String name) {
        Map<String, String> changed = new LinkedHashMap<>(keywords);
        changed.put("application_name", name);
        return new ConnectionSettings(changed, home);
    }

    /** For pgjdbc, together with {@link #jdbcProperties()}; holds no secret. */
    public String jdbcUrl() {
        StringBuilder url = new StringBuilder("jdbc:postgresql://");
        for (int i = 0; i < hosts.size(); i++) {
            HostAddress host = hosts.get(i);
            String name = host.isUnixSocket() ? "localhost" : host.host();
            url.append(i == 0 ? "" : ",")
                    .append(name.indexOf(':') >= 0 ? "[" + name + "]" : name)
                    .append(':')
                    .append(host.port());
        }
        String encoded =
                java.net.URLEncoder.encode(database(), java.nio.charset.StandardCharsets.UTF_8);
        return url.append('/').append(encoded.replace("+", "%20")).toString();
    }

    /**
     * User, password (of the first host where the password file has several) and TLS for pgjdbc.
     * TLS goes through {@link TlsSocketFactory}, so that both kinds of connections trust alike.
     */
    public Properties jdbcProperties() {
        Properties properties = new Properties();
        properties.setProperty("user", user());
        String password = passwordFor(hosts.getFirst(), database());
        if (password != null) {
            properties.setProperty("password", password);
        }
        properties.setProperty("ApplicationName", applicationName());
        properties.setProperty("connectTimeout", Integer.toString(connectTimeoutMillis() / 1000));
        properties.setProperty("loginTimeout", Integer.toString(connectTimeoutMillis() / 1000));
        properties.setProperty("tcpKeepAlive", "true");
        // loads of single tables read text in the database's own encoding
        properties.setProperty("allowEncodingChanges", "true");
        properties.setProperty("targetServerType", wantsPrimary() ? "primary" : "any");
        String options = serverOptions();
        if (options != null) {
            properties.setProperty("options", options);
        }
        HostAddress first = hosts.getFirst();
        if (first.isUnixSocket()) {
            properties.setProperty(
                    "socketFactory", "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg");
            properties.setProperty("socketFactoryArg", first.toString());
            properties.setProperty("sslmode", "disable");
        } else {
            properties.setProperty("sslmode", tlsMode().text());
            properties.setProperty("sslfactory", TlsSocketFactory.class.getName());
            tlsFiles().putInto(properties);
        }
        return properties;
    }

    /** The password for one host: given, from the environment, or from the password file. */
    @Nullable String passwordFor(HostAddress host, String database) {
        String given = keywords.get("password");
        return given != null ? given : passwordFile().find(host, database, user());
    }

    /** As libpq does for replication, whose password file entries name the database so. */
    @Nullable String replicationPasswordFor(HostAddress host) {
        String password = passwordFor(host, "replication");
        return password != null ? password : passwordFor(host, database());
    }

    PasswordFile passwordFile() {
        String file = keywords.get("passfile");
        return new PasswordFile(file == null ? home.resolve(".pgpass") : Path.of(file));
    }

    private String value(String keyword, String otherwise) {
        return keywords.getOrDefault(keyword, otherwise);
    }

    /** Without secrets: user, hosts, database and TLS mode. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("postgresql://").append(user());
        if (keywords.containsKey("password")) {
            text.append(":***");
        }
        text.append('@');
        for (int i = 0; i < hosts.size(); i++) {
            text.append(i == 0 ? "" : ",").append(hosts.get(i));
        }
        return text.append('/')
                .append(database())
                .append("?sslmode=")
                .append(tlsMode().text().toLowerCase(Locale.ROOT))
                .toString();
    }
}
