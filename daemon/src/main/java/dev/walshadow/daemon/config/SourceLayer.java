package dev.walshadow.daemon.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The layer of {@code config_settings} in the source: above the environment, below flags. A bad
 * value is no part of it.
 *
 * @param faults by key
 */
public record SourceLayer(Map<Setting<?>, Configuration.Value> values, Map<String, String> faults) {
    public static final SourceLayer NONE = new SourceLayer(Map.of(), Map.of());

    public SourceLayer {
        values = Map.copyOf(values);
        faults = new TreeMap<>(faults);
    }

    /**
     * Parses.
     *
     * @param texts by key
     * @param before what stays where a text is bad
     */
    public static SourceLayer of(String schema, Map<String, String> texts, SourceLayer before) {
        Map<String, Setting<?>> known = new HashMap<>();
        Settings.FROM_SOURCE.forEach(setting -> known.put(setting.key(), setting));
        Map<Setting<?>, Configuration.Value> values = new HashMap<>();
        Map<String, String> faults = new TreeMap<>();
        texts.forEach((key, text) -> {
            Setting<?> setting = known.get(key);
            if (setting == null) {
                faults.put(
                        key,
                        "it cannot be set there"
                                + ConfigurationLoader.suggestion(key, known.keySet()));
                return;
            }
            try {
                Object parsed = setting.kind().parse(List.of(text));
                values.put(
                        setting,
                        new Configuration.Value(parsed, "source " + schema + ".config_settings"));
            } catch (IllegalArgumentException | ArithmeticException e) {
                faults.put(key, "\"" + text + "\" is not " + setting.kind().expected());
                Configuration.Value old = before.values().get(setting);
                if (old != null) {
                    values.put(setting, old);
                }
            }
        });
        return new SourceLayer(values, faults);
    }
}
