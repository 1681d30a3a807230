package dev.walshadow.source.replication;

import dev.walshadow.base.ConfigurationException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Takes a connection string apart into libpq's keywords: the URI form ({@code
 * postgresql://user:password@host1:port1,host2/database?sslmode=require}) and the keyword form
 * ({@code host=a port=1 password='x y'}). Error messages never repeat the text: it may hold a
 * password.
 */
final class ConnectionKeywords {
    private ConnectionKeywords() {}

    static Map<String, String> parse(String text) {
        String trimmed = text.trim();
        for (String scheme : List.of("postgresql://", "postgres://")) {
            if (trimmed.startsWith(scheme)) {
                return parseUri(trimmed.substring(scheme.length()));
            }
        }
        if (trimmed.contains("://")) {
            throw bad(
                    "a connection string begins with postgresql:// or is a list of keyword=value,"
                            + " found "
                            + trimmed.substring(0, trimmed.indexOf("://") + 3));
        }
        return parseKeywords(trimmed);
    }

    private static Map<String, String> parseUri(String text) {
        Map<String, String> result = new LinkedHashMap<>();
        String rest = text;
        int query = rest.indexOf('?');
        String parameters = "";
        if (query >= 0) {
            parameters = rest.substring(query + 1);
            rest = rest.substring(0, query);
        }
        int at = rest.lastIndexOf('@');
        if (at >= 0) {
            String login = rest.substring(0, at);
            int colon = login.indexOf(':');
            putUnlessEmpty(result, "user", decode(colon < 0 ? login : login.substring(0, colon)));
            if (colon >= 0) {
                putUnlessEmpty(result, "password", decode(login.substring(colon + 1)));
            }
            rest = rest.substring(at + 1);
        }
        int slash = rest.indexOf('/');
        if (slash >= 0) {
            putUnlessEmpty(result, "dbname", decode(rest.substring(slash + 1)));
            rest = rest.substring(0, slash);
        }
        putHosts(result, rest);
        for (String parameter : parameters.split("&", -1)) {
            if (parameter.isEmpty()) {
                continue;
            }
            int equals = parameter.indexOf('=');
            if (equals <= 0) {
                throw bad("a parameter after ? in the connection URL lacks its =value");
            }
            String key = decode(parameter.substring(0, equals));
            String value = decode(parameter.substring(equals + 1));
            if (key.equals("ssl") && value.equals("true")) {
                result.put("sslmode", "require");
            } else {
                result.put(key, value);
            }
        }
        return result;
    }

    private static void putHosts(Map<String, String> result, String text) {
        if (text.isEmpty()) {
            return;
        }
        List<String> hosts = new ArrayList<>();
        List<String> ports = new ArrayList<>();
        boolean anyPort = false;
        for (String part : text.split(",", -1)) {
            int close = part.startsWith("[") ? part.indexOf(']') : -1;
            if (part.startsWith("[") && close < 0) {
                throw bad("an IPv6 address in the connection URL lacks its closing bracket");
            }
            int colon = part.indexOf(':', Math.max(0, close));
            String host = colon < 0 ? part : part.substring(0, colon);
            hosts.add(decode(close > 0 ? host.substring(1, Math.min(close, host.length())) : host));
            ports.add(colon < 0 ? "" : part.substring(colon + 1));
            anyPort |= colon >= 0;
        }
        putUnlessEmpty(result, "host", String.join(",", hosts));
        if (anyPort) {
            result.put("port", String.join(",", ports));
        }
    }

    private static Map<String, String> parseKeywords(String text) {
        Map<String, String> result = new LinkedHashMap<>();
        int i = 0;
        while (true) {
            i = skipSpace(text, i);
            if (i == text.length()) {
                return result;
            }
            int keyStart = i;
            while (i < text.length() && text.charAt(i) != '=' && !isSpace(text.charAt(i))) {
                i++;
            }
            String key = text.substring(keyStart, i);
            i = skipSpace(text, i);
            if (key.isEmpty() || i == text.length() || text.charAt(i) != '=') {
                throw bad("the connection string is not a list of keyword=value");
            }
            i = skipSpace(text, i + 1);
            StringBuilder value = new StringBuilder();
            i = readValue(text, i, value);
            result.put(key, value.toString());
        }
    }

    /** Reads a plain or quoted value; returns the index behind it. */
    private static int readValue(String text, int from, StringBuilder value) {
        int i = from;
        boolean quoted = i < text.length() && text.charAt(i) == '\'';
        if (quoted) {
            i++;
        }
        while (i < text.length()) {
            char c = text.charAt(i);
            if (quoted ? c == '\'' : isSpace(c)) {
                return i + 1;
            }
            if (c == '\\' && i + 1 < text.length()) {
                i++;
                c = text.charAt(i);
            }
            value.append(c);
            i++;
        }
        if (quoted) {
            throw bad("a quoted value in the connection string is not closed");
        }
        return i;
    }

    private static int skipSpace(String text, int from) {
        int i = from;
        while (i < text.length() && isSpace(text.charAt(i))) {
            i++;
        }
        return i;
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
    }

    private static void putUnlessEmpty(Map<String, String> map, String key, String value) {
        if (!value.isEmpty()) {
            map.put(key, value);
        }
    }

    /** Percent-decoding; unlike {@code URLDecoder}, + stands for itself. */
    private static String decode(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        byte[] in = text.getBytes(StandardCharsets.UTF_8);
        byte[] out = new byte[in.length];
        int length = 0;
        for (int i = 0; i < in.length; i++) {
            if (in[i] == '%') {
                int high = i + 2 < in.length ? Character.digit(in[i + 1], 16) : -1;
                int low = i + 2 < in.length ? Character.digit(in[i + 2], 16) : -1;
                if (high < 0 || low < 0) {
                    throw bad(
                            "a % in the connection URL is not followed by two hex digits; a"
                                    + " literal % is written %25");
                }
                out[length++] = (byte) (high << 4 | low);
                i += 2;
            } else {
                out[length++] = in[i];
            }
        }
        return new String(out, 0, length, StandardCharsets.UTF_8);
    }

    static ConfigurationException bad(String message) {
        return new ConfigurationException(ReplicationCodes.BAD_SETTING, message);
    }
}
