package dev.walshadow.source.store;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import java.io.IOException;
import java.io.InputStream;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Named byte strings below one address, read only. Names are relative to the address, with slashes
 * between their parts. Thread safe. Every method throws {@link RetryException} when the store does
 * not answer and {@link ConfigurationException} when it refuses.
 */
public interface ObjectStore extends AutoCloseable {
    /**
     * @param name relative to the store's address
     * @param bytes its size
     */
    record StoredObject(String name, long bytes, Instant modified) {}

    /** Everything directly in a folder, by name; empty if there is no such folder. */
    List<StoredObject> list(String folder);

    /**
     * The object's bytes from {@code offset} to its end, or null if there is no such object.
     * Reading throws IOException when the connection breaks or the object ends early.
     */
    @Nullable InputStream open(String name, long offset) throws IOException;

    /** Where it is, for messages; without credentials. */
    String address();

    @Override
    void close();
}
