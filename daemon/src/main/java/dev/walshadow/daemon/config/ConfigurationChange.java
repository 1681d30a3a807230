package dev.walshadow.daemon.config;

import java.util.ArrayList;
import java.util.List;

/**
 * What is different in a configuration that was read again.
 *
 * @param live settings that take effect at once
 * @param later settings, and rules for names, that take effect at the next start
 */
public record ConfigurationChange(List<Setting<?>> live, List<String> later) {
    public static ConfigurationChange between(Configuration now, Configuration next) {
        List<Setting<?>> live = new ArrayList<>();
        List<String> later = new ArrayList<>();
        for (Setting<?> setting : Settings.all()) {
            if (now.find(setting).equals(next.find(setting))) {
                continue;
            }
            if (Settings.LIVE.contains(setting)) {
                live.add(setting);
            } else {
                later.add(setting.key());
            }
        }
        if (!now.nameRules().equals(next.nameRules())) {
            later.add("rules of [schemas] and [tables.\"SCHEMA.TABLE\"]");
        }
        return new ConfigurationChange(live, later);
    }
}
