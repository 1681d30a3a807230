package dev.walshadow.source.replication;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** libpq's connection service file: {@code [name]} sections of {@code keyword=value} lines. */
final class ServiceFile {
    private ServiceFile() {}

    /** The keywords of a service, from the first file that has it. */
    static Map<String, String> read(String service, List<Path> files) {
        for (Path file : files) {
            if (Files.isRegularFile(file)) {
                Map<String, String> found = readSection(service, file);
                if (found != null) {
                    return found;
                }
            }
        }
        throw ConnectionKeywords.bad(
                "the connection service \"" + service + "\" is in none of the files " + files);
    }

    private static @Nullable Map<String, String> readSection(String service, Path file) {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (IOException e) {
            throw ConnectionKeywords.bad(
                    "the connection service file " + file + " cannot be read: " + e.getMessage());
        }
        Map<String, String> result = null;
        for (String raw : lines) {
            String line = raw.trim();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            if (line.startsWith("[")) {
                if (result != null) {
                    return result;
                }
                if (line.equals("[" + service + "]")) {
                    result = new LinkedHashMap<>();
                }
            } else if (result != null) {
                int equals = line.indexOf('=');
                if (equals <= 0) {
                    throw ConnectionKeywords.bad(
                            "the service " + service + " in " + file + " has a line without =");
                }
                result.put(line.substring(0, equals).trim(), line.substring(equals + 1).trim());
            }
        }
        return result;
    }
}
