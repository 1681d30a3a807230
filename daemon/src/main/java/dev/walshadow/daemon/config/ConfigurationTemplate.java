package dev.walshadow.daemon.config;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A configuration file with every setting: the given ones set, the others told in comments. */
public final class ConfigurationTemplate {
    private static final int WIDTH = 96;

    private final StringBuilder out = new StringBuilder();

    private ConfigurationTemplate() {}

    /**
     * Writes TOML.
     *
     * @param given the settings that are set, with their texts; lists comma-separated
     */
    public static String of(Map<Setting<?>, String> given) {
        ConfigurationTemplate template = new ConfigurationTemplate();
        template.comment("walshadow's configuration. Every key is explained in");
        template.comment("docs/configuration.md; what is commented out has its default.");
        Map<String, List<Setting<?>>> sections = new LinkedHashMap<>();
        for (Setting<?> setting : Settings.all()) {
            sections.computeIfAbsent(setting.section(), _ -> new ArrayList<>()).add(setting);
        }
        sections.forEach((name, settings) -> {
            template.out.append("\n[").append(name).append("]\n");
            settings.forEach(setting -> template.setting(setting, given.get(setting)));
        });
        return template.out.toString();
    }

    private void setting(Setting<?> setting, @Nullable String text) {
        StringBuilder line = new StringBuilder();
        String told = setting.meaning() + " (" + setting.kind().expected() + ")";
        for (String word : told.split(" ", -1)) {
            if (!line.isEmpty() && line.length() + word.length() >= WIDTH) {
                comment(line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(word);
        }
        comment(line.toString());
        if (text != null) {
            out.append(setting.name()).append(" = ").append(value(setting, text));
        } else {
            String standard = setting.defaultText();
            out.append("# ").append(setting.name()).append(" = ");
            if (setting.kind().list()) {
                out.append(standard == null ? "[]" : standard);
            } else {
                out.append(quoted(standard == null ? "" : standard));
            }
        }
        out.append("\n\n");
    }

    private static String value(Setting<?> setting, String text) {
        if (!setting.kind().list()) {
            return quoted(text);
        }
        List<String> elements = new ArrayList<>();
        for (String element : text.split("\\s*,\\s*", -1)) {
            elements.add(quoted(element));
        }
        return "[" + String.join(", ", elements) + "]";
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> quoted.append("\\\"");
                case '\\' -> quoted.append("\\\\");
                default -> {
                    if (c < ' ' || c == 0x7f) {
                        quoted.append(String.format("\\u%04x", (int) c));
                    } else {
                        quoted.append(c);
                    }
                }
            }
        }
        return quoted.append('"').toString();
    }

    private void comment(String line) {
        out.append("# ").append(line).append('\n');
    }
}
