package dev.walshadow.shadow;

import java.nio.file.Path;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Finds the server binaries for the shadow. */
@SuppressWarnings("DoNotCallSuggester")
public final class ShadowBinaries {
    private ShadowBinaries() {}

    /**
     * The directory that holds {@code postgres}: the configured one, else the system's of the same
     * major, else the bundled ones.
     *
     * @throws dev.walshadow.base.ConfigurationException when the configured one is of another major
     */
    public static Path find(@Nullable Path configured, int major, Supplier<Path> bundled) {
        throw new UnsupportedOperationException();
    }
}
