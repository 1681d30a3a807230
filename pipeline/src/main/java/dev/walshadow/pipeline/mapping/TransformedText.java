package dev.walshadow.pipeline.mapping;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import java.nio.charset.StandardCharsets;
import javax.crypto.Mac;
import org.jspecify.annotations.Nullable;

/** Applies one {@link Transform} to texts in UTF-8. Not thread safe. */
public final class TransformedText {
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private final Transform transform;
    private final @Nullable Mac mac;
    private final byte[] constant;

    /**
     * @throws QuarantineException if it is a hash whose salt is not at hand
     */
    public TransformedText(Transform transform) {
        this.transform = transform;
        this.mac = transform instanceof Transform.Hash(HashKey key) ? mac(key) : null;
        this.constant =
                transform instanceof Transform.Constant(String value)
                        ? value.getBytes(StandardCharsets.UTF_8)
                        : new byte[0];
    }

    private static Mac mac(HashKey key) {
        Mac mac = key.mac();
        if (mac == null) {
            throw new QuarantineException(
                    MappingCodes.SALT,
                    "its hashed columns were made with another salt (fingerprint "
                            + key.fingerprint()
                            + ") than [transform] salt gives; set that salt again, or load the"
                            + " table anew");
        }
        return mac;
    }

    /**
     * Appends what becomes of a text that is not NULL.
     *
     * @return false if it becomes NULL; then nothing was appended
     */
    public boolean append(byte[] bytes, int offset, int length, ByteBuilder out) {
        switch (transform) {
            case Transform.Hash _ -> hash(bytes, offset, length, out);
            case Transform.Mask _ -> {
                for (int i = offset; i < offset + length; i++) {
                    if (startsCharacter(bytes[i])) {
                        out.putByte('*');
                    }
                }
            }
            case Transform.Truncate(int characters) ->
                    out.putBytes(bytes, offset, truncated(bytes, offset, length, characters));
            case Transform.Constant _ -> out.putBytes(constant);
            case Transform.Null _ -> {
                return false;
            }
        }
        return true;
    }

    private void hash(byte[] bytes, int offset, int length, ByteBuilder out) {
        Mac keyed = java.util.Objects.requireNonNull(mac);
        keyed.update(bytes, offset, length);
        for (byte b : keyed.doFinal()) {
            out.putByte(HEX[(b >> 4) & 0xF]);
            out.putByte(HEX[b & 0xF]);
        }
    }

    private static int truncated(byte[] bytes, int offset, int length, int characters) {
        int seen = 0;
        for (int i = 0; i < length; i++) {
            if (startsCharacter(bytes[offset + i]) && ++seen > characters) {
                return i;
            }
        }
        return length;
    }

    /** All bytes of UTF-8 but 10xxxxxx. */
    private static boolean startsCharacter(byte b) {
        return (b & 0xC0) != 0x80;
    }

    /** The same for a whole value. */
    public @Nullable String of(@Nullable String text) {
        if (text == null && !(transform instanceof Transform.Constant)) {
            return null;
        }
        byte[] bytes = text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8);
        ByteBuilder out = new ByteBuilder(64);
        return append(bytes, 0, bytes.length, out)
                ? new String(out.array(), 0, out.length(), StandardCharsets.UTF_8)
                : null;
    }
}
