package dev.walshadow.daemon.config;

import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;

/** The effective value of each setting and the layer that it came from. Immutable. */
public final class Configuration {
    /** A parsed value and its origin: "default", a file with its name, a variable or a flag. */
    public record Value(Object parsed, String origin) {}

    private final Map<Setting<?>, Value> values;
    private final NameRules nameRules;

    Configuration(Map<Setting<?>, Value> values, NameRules nameRules) {
        this.values = Map.copyOf(values);
        this.nameRules = nameRules;
    }

    /** What is said of single schemas, tables and columns; only a file can. */
    public NameRules nameRules() {
        return nameRules;
    }

    /** The value of a setting that is required or has a default. */
    public <T> T get(Setting<T> setting) {
        return find(setting).orElseThrow(() -> new NoSuchElementException(setting.key()));
    }

    /** The value of a setting that may be unset. */
    @SuppressWarnings("unchecked") // a setting's kind parsed it, so it is a T
    public <T> Optional<T> find(Setting<T> setting) {
        return Optional.ofNullable(values.get(setting)).map(value -> (T) value.parsed());
    }

    public Optional<String> origin(Setting<?> setting) {
        return Optional.ofNullable(values.get(setting)).map(Value::origin);
    }
}
