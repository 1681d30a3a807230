package dev.walshadow.daemon.config;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * On which line of a file a plain {@code key = value} of a plain {@code [section]} stands, for
 * messages. Whatever else TOML has is left out: its place is told without a line.
 */
final class TomlLines {
    private static final Pattern SECTION = Pattern.compile("\\s*\\[([A-Za-z0-9_-]+)]\\s*(#.*)?");
    private static final Pattern KEY = Pattern.compile("\\s*([A-Za-z0-9_-]+)\\s*=.*");

    private final Map<String, Integer> lines = new HashMap<>();

    TomlLines(String text) {
        String section = "";
        int number = 0;
        for (String line : text.split("\n", -1)) {
            number++;
            Matcher heading = SECTION.matcher(line);
            Matcher key = KEY.matcher(line);
            if (heading.matches()) {
                section = heading.group(1);
            } else if (line.stripLeading().startsWith("[")) {
                section = "";
            } else if (key.matches() && !section.isEmpty()) {
                lines.putIfAbsent(section + "." + key.group(1), number);
            }
        }
    }

    /** {@code :LINE}; empty if it is not known. */
    String suffix(String section, String key) {
        Integer line = lines.get(section + "." + key);
        return line == null ? "" : ":" + line;
    }
}
