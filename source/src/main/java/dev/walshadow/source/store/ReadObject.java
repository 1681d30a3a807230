package dev.walshadow.source.store;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.RetryException;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * The decompressed bytes of one object. It keeps apart what a reader's IOException means: the
 * store's connection broke ({@link RetryException}), or the bytes came and are not what the name
 * says ({@link HaltException} with the offset). Both are thrown instead of IOException.
 */
public final class ReadObject extends InputStream {
    private static final int BUFFER = 256 << 10;

    private final String label;
    private final Counted raw;
    private final InputStream in;
    private long offset;

    private ReadObject(String label, Counted raw, InputStream in) {
        this.label = label;
        this.raw = raw;
        this.in = in;
    }

    /**
     * Opens an object that must be there.
     *
     * @param compression told by its name
     */
    public static ReadObject open(ObjectStore store, String name, Compression compression) {
        ReadObject found = find(store, name, compression);
        if (found == null) {
            throw new HaltException(
                    StoreCodes.OBJECT_MISSING,
                    label(store, name)
                            + " is not there although the backup needs it: it was removed, or the"
                            + " upload was not finished. Use another backup");
        }
        return found;
    }

    /** Null if there is no such object. */
    public static @Nullable ReadObject find(
            ObjectStore store, String name, Compression compression) {
        String label = label(store, name);
        InputStream bytes;
        try {
            bytes = store.open(name, 0);
        } catch (IOException e) {
            throw broken(label, 0, e);
        }
        if (bytes == null) {
            return null;
        }
        Counted raw = new Counted(bytes);
        try {
            return new ReadObject(
                    label, raw, compression.open(new BufferedInputStream(raw, BUFFER)));
        } catch (IOException | RuntimeException e) {
            closeQuietly(raw);
            throw raw.failure == null ? damaged(label, 0, e) : broken(label, 0, raw.failure);
        }
    }

    private static String label(ObjectStore store, String name) {
        String address = store.address();
        return address + (address.endsWith("/") ? "" : "/") + name;
    }

    /** Position in the decompressed bytes. */
    public long offset() {
        return offset;
    }

    @Override
    public int read() {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] bytes, int from, int length) {
        try {
            int count = in.read(bytes, from, length);
            offset += Math.max(0, count);
            return count;
        } catch (IOException | RuntimeException e) {
            throw raw.failure == null
                    ? damaged(label, offset, e)
                    : broken(label, offset, raw.failure);
        }
    }

    /** How much of the object, as it is stored, has been read. */
    public long storedBytes() {
        return raw.bytes;
    }

    /** What the bytes say is not possible. */
    public HaltException damaged(String found) {
        return damaged(label, offset, new IOException(found));
    }

    private static HaltException damaged(String label, long offset, Exception cause) {
        return new HaltException(
                StoreCodes.OBJECT_DAMAGED,
                label
                        + " cannot be read behind byte "
                        + offset
                        + " of its content: "
                        + cause.getMessage()
                        + ". It is damaged, encrypted, or not what its name says: use another"
                        + " backup",
                cause);
    }

    private static RetryException broken(String label, long offset, Exception cause) {
        return new RetryException(
                StoreCodes.UNREACHABLE,
                label + " could not be read on behind byte " + offset + ": " + cause.getMessage(),
                cause);
    }

    private static void closeQuietly(InputStream stream) {
        try {
            stream.close();
        } catch (IOException _) {
            // nothing was written: nothing can be lost
        }
    }

    @Override
    public void close() {
        closeQuietly(in);
    }

    /** Remembers that a failure came from the store. */
    private static final class Counted extends FilterInputStream {
        private @Nullable Exception failure;
        private long bytes;

        private Counted(InputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int from, int length) throws IOException {
            try {
                int count = in.read(bytes, from, length);
                this.bytes += Math.max(0, count);
                return count;
            } catch (IOException | RuntimeException e) {
                failure = e;
                throw e;
            }
        }
    }
}
