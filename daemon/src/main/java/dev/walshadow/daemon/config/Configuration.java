package dev.walshadow.daemon.config;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;

/** The effective value of each setting and the layer that it came from. Immutable. */
public final class Configuration {
    /** A parsed value and its origin: "default", a file with its name, a variable or a flag. */
    public record Value(Object parsed, String origin) {}

    private final Map<Setting<?>, Value> values;
    private final NameRules nameRules;
    private final SourceLayer source;

    Configuration(Map<Setting<?>, Value> values, NameRules nameRules) {
        this(values, nameRules, SourceLayer.NONE);
    }

    private Configuration(Map<Setting<?>, Value> values, NameRules nameRules, SourceLayer source) {
        this.values = Map.copyOf(values);
        this.nameRules = nameRules;
        this.source = source;
    }

    /** This one, with another layer of the source. */
    public Configuration withSource(SourceLayer layer) {
        return new Configuration(values, nameRules, layer);
    }

    public SourceLayer source() {
        return source;
    }

    /** Null: unset. A flag wins over the source. */
    private @Nullable Value effective(Setting<?> setting) {
        Value value = values.get(setting);
        Value above = source.values().get(setting);
        return above == null || (value != null && value.origin().startsWith("flag "))
                ? value
                : above;
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
        return Optional.ofNullable(effective(setting)).map(value -> (T) value.parsed());
    }

    /** This one, with what another says of some settings. */
    public Configuration with(Collection<Setting<?>> settings, Configuration other) {
        Map<Setting<?>, Value> changed = new HashMap<>(values);
        for (Setting<?> setting : settings) {
            changed.remove(setting);
            Value value = other.values.get(setting);
            if (value != null) {
                changed.put(setting, value);
            }
        }
        return new Configuration(changed, nameRules, other.source);
    }

    /** A setting's value as one would write it; a secret is masked. */
    public String shown(Setting<?> setting) {
        Value value = effective(setting);
        return value == null ? "" : setting.kind().show(value.parsed());
    }

    /** Every setting: {@code key}, {@code value}, {@code origin}; passwords are masked. */
    public void describe(ArrayNode into) {
        for (Setting<?> setting : Settings.all()) {
            Value value = effective(setting);
            into.addObject()
                    .put("key", setting.key())
                    .put("value", shown(setting))
                    .put("origin", value == null ? "unset" : value.origin());
        }
    }

    public Optional<String> origin(Setting<?> setting) {
        return Optional.ofNullable(effective(setting)).map(Value::origin);
    }
}
