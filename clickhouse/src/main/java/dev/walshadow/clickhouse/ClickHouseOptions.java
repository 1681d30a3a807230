package dev.walshadow.clickhouse;

import dev.walshadow.base.ConfigurationException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How to reach a ClickHouse.
 *
 * @param url {@code http://host:8123} or {@code https://...}; several hosts, which have the same
 *     data, separated by commas
 * @param database where unqualified names resolve; every statement of walshadow qualifies its own
 * @param compression LZ4 in ClickHouse's own framing, requests and responses
 * @param maxConnections connections that may be open at once
 * @param connectTimeout until a connection must stand
 * @param socketTimeout the longest silence of a server that works on a statement
 * @param cluster the replicas that have the tables; null: one server
 */
public record ClickHouseOptions(
        String url,
        String user,
        String password,
        String database,
        boolean compression,
        int maxConnections,
        Duration connectTimeout,
        Duration socketTimeout,
        @Nullable Cluster cluster) {

    /** One URL for each host of {@link #url}. */
    public List<String> endpoints() {
        int host = url.indexOf("//") + 2;
        int path = host < 2 ? -1 : url.indexOf('/', host);
        if (host < 2) {
            return List.of(url);
        }
        String rest = path < 0 ? "" : url.substring(path);
        return Arrays.stream(url.substring(host, path < 0 ? url.length() : path).split(",", -1))
                .map(each -> url.substring(0, host) + each.strip() + rest)
                .toList();
    }

    /** Server settings of every statement. */
    Map<String, String> settings() {
        return cluster == null ? Map.of() : cluster.settings();
    }

    /**
     * The defaults: LZ4, 16 connections, and user {@code default} without password unless the URL
     * has others, percent-encoded ({@code http://user:password@host}); they are taken out of it.
     *
     * @throws ConfigurationException if they cannot be understood; never shows them
     */
    public static ClickHouseOptions at(String url) {
        int host = url.indexOf("//") + 2;
        int path = host < 2 ? -1 : url.indexOf('/', host);
        int at = host < 2 ? -1 : url.lastIndexOf('@', path < 0 ? url.length() : path);
        if (at < host) {
            return at(url, "default", "");
        }
        String login = url.substring(host, at);
        String rest = url.substring(0, host) + url.substring(at + 1);
        int colon = login.indexOf(':');
        String user = decoded(colon < 0 ? login : login.substring(0, colon), rest);
        return at(
                rest,
                user.isEmpty() ? "default" : user,
                colon < 0 ? "" : decoded(login.substring(colon + 1), rest));
    }

    private static String decoded(String text, String url) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new ConfigurationException(
                    ClickHouseCodes.OPTIONS,
                    "in the user or password of [clickhouse] url ("
                            + url
                            + ") a % is not followed by two hex digits; a literal % is written"
                            + " %25");
        }
    }

    private static ClickHouseOptions at(String url, String user, String password) {
        return new ClickHouseOptions(
                url,
                user,
                password,
                "default",
                true,
                16,
                Duration.ofSeconds(10),
                Duration.ofMinutes(5),
                null);
    }

    public ClickHouseOptions withCredentials(String newUser, String newPassword) {
        return new ClickHouseOptions(
                url,
                newUser,
                newPassword,
                database,
                compression,
                maxConnections,
                connectTimeout,
                socketTimeout,
                cluster);
    }

    public ClickHouseOptions withCompression(boolean newCompression) {
        return new ClickHouseOptions(
                url,
                user,
                password,
                database,
                newCompression,
                maxConnections,
                connectTimeout,
                socketTimeout,
                cluster);
    }

    public ClickHouseOptions withTimeouts(Duration newConnectTimeout, Duration newSocketTimeout) {
        return new ClickHouseOptions(
                url,
                user,
                password,
                database,
                compression,
                maxConnections,
                newConnectTimeout,
                newSocketTimeout,
                cluster);
    }

    public ClickHouseOptions withCluster(@Nullable Cluster newCluster) {
        return new ClickHouseOptions(
                url,
                user,
                password,
                database,
                compression,
                maxConnections,
                connectTimeout,
                socketTimeout,
                newCluster);
    }

    /** Never shows the password. */
    @Override
    public String toString() {
        return user + "@" + url + "/" + database;
    }
}
