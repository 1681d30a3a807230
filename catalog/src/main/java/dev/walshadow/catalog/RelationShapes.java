package dev.walshadow.catalog;

import org.jspecify.annotations.Nullable;

/** Compares what two descriptors mean for decoding and mapping. */
public final class RelationShapes {
    private RelationShapes() {}

    /** The first difference that matters, for people to read; null if there is none. */
    public static @Nullable String shapeDiffers(RelationDescriptor a, RelationDescriptor b) {
        if (a.equals(b)) {
            return null;
        }
        throw new UnsupportedOperationException();
    }
}
