package dev.walshadow.postgres.value;

import org.jspecify.annotations.Nullable;

/** Which codec prints which type. */
public final class Codecs {
    private Codecs() {}

    /** The codec of a built-in scalar type (OID below 16384), or null if there is none yet. */
    public static @Nullable ValueCodec builtin(int typeOid) {
        return null;
    }

    /** The codec of an extension's type by its name (citext), or null if there is none yet. */
    public static @Nullable ValueCodec byName(String typeName) {
        return null;
    }
}
