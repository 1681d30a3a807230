package dev.walshadow.cli;

import dev.walshadow.daemon.config.Kind;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** {@code 60s}, {@code 500ms}, {@code 5min}: as in the configuration. */
final class Durations implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
        try {
            return Kind.DURATION.parse(List.of(text));
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("'" + text + "' is not " + Kind.DURATION.expected());
        }
    }
}
