package dev.walshadow.source.replication;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The ParameterStatus values that the server reports at login and when they change. */
final class ServerParameters {
    private final Map<String, String> values = new ConcurrentHashMap<>();

    void read(MessageReader reader) {
        String name = reader.cString();
        values.put(name, reader.cString());
    }

    /** Empty if the server did not report it. */
    String value(String name) {
        return values.getOrDefault(name, "");
    }

    /** {@code 18.1 (Debian ...)} as 180001, {@code 15beta2} as 150000; 0 if unknown. */
    int versionNumber() {
        String text = value("server_version");
        int i = 0;
        int major = 0;
        while (i < text.length() && Character.isDigit(text.charAt(i)) && major < 10_000) {
            major = major * 10 + (text.charAt(i++) - '0');
        }
        int minor = 0;
        if (i < text.length() && text.charAt(i) == '.') {
            i++;
            while (i < text.length() && Character.isDigit(text.charAt(i)) && minor < 1_000) {
                minor = minor * 10 + (text.charAt(i++) - '0');
            }
        }
        return major * 10_000 + minor;
    }
}
