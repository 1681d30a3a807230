package dev.walshadow.pipeline.mapping;

import java.nio.charset.StandardCharsets;
import java.security.InvalidKeyException;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The salt of hashed columns. What is pinned in ClickHouse is its fingerprint only: whoever had the
 * salt itself could try values out. Equal if the fingerprints are. Immutable.
 */
public final class HashKey {
    private static final String ALGORITHM = "HmacSHA256";
    private static final byte[] LABEL =
            "walshadow: fingerprint of a salt".getBytes(StandardCharsets.US_ASCII);
    private static final int FINGERPRINT_BYTES = 8;

    /** Stands for a salt that is not known yet. */
    public static final HashKey NONE = new HashKey("", null);

    private final String fingerprint;
    private final byte @Nullable [] salt;

    private HashKey(String fingerprint, byte @Nullable [] salt) {
        this.fingerprint = fingerprint;
        this.salt = salt;
    }

    /**
     * @param salt not empty
     */
    public static HashKey of(String salt) {
        byte[] bytes = salt.getBytes(StandardCharsets.UTF_8);
        byte[] full = mac(bytes).doFinal(LABEL);
        return new HashKey(HexFormat.of().formatHex(full, 0, FINGERPRINT_BYTES), bytes);
    }

    /** One that is known by its fingerprint only. */
    static HashKey unknown(String fingerprint) {
        return new HashKey(fingerprint, null);
    }

    String fingerprint() {
        return fingerprint;
    }

    /** Null if only the fingerprint is known. */
    @Nullable Mac mac() {
        return salt == null ? null : mac(salt);
    }

    private static Mac mac(byte[] salt) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(salt, ALGORITHM));
            return mac;
        } catch (NoSuchAlgorithmException | InvalidKeyException e) {
            throw new IllegalStateException("every Java has " + ALGORITHM, e);
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HashKey key && key.fingerprint.equals(fingerprint);
    }

    @Override
    public int hashCode() {
        return fingerprint.hashCode();
    }

    /** The fingerprint; never the salt. */
    @Override
    public String toString() {
        return fingerprint;
    }
}
