package dev.walshadow.daemon.config;

import org.jspecify.annotations.Nullable;

/**
 * One setting: {@code [section] name} in TOML, {@code WALSHADOW_SECTION_NAME} in the environment,
 * {@code --section-name} on the command line.
 *
 * @param defaultText the default as one would write it, null if the setting is required or unset
 * @param <T> what {@link Kind#parse} gives
 */
public record Setting<T>(
        String section,
        String name,
        Kind<T> kind,
        @Nullable String defaultText,
        boolean required,
        String meaning) {

    public String key() {
        return section + "." + name;
    }

    public String environmentName() {
        return "WALSHADOW_" + upper(section) + "_" + upper(name);
    }

    public String flag() {
        return "--" + section + "-" + name.replace('_', '-');
    }

    private static String upper(String text) {
        return text.toUpperCase(java.util.Locale.ROOT);
    }
}
