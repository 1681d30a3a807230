package dev.walshadow.clickhouse;

import java.time.Duration;
import java.util.Map;

/**
 * How to reach a ClickHouse.
 *
 * @param url {@code http://host:8123} or {@code https://...}
 * @param database where unqualified names resolve; every statement of walshadow qualifies its own
 * @param compression LZ4 in ClickHouse's own framing, requests and responses
 * @param maxConnections connections that may be open at once
 * @param connectTimeout until a connection must stand
 * @param socketTimeout the longest silence of a server that works on a statement
 * @param settings server settings sent with every statement
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
        Map<String, String> settings) {
    public ClickHouseOptions {
        settings = Map.copyOf(settings);
    }

    /** The defaults: user {@code default} without password, LZ4, 16 connections. */
    public static ClickHouseOptions at(String url) {
        return new ClickHouseOptions(
                url,
                "default",
                "",
                "default",
                true,
                16,
                Duration.ofSeconds(10),
                Duration.ofMinutes(5),
                Map.of());
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
                settings);
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
                settings);
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
                settings);
    }

    /** Never shows the password. */
    @Override
    public String toString() {
        return user + "@" + url + "/" + database;
    }
}
