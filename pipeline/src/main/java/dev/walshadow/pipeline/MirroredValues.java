package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What {@link ChunkMirror} has of the values that one window's rows lack. Worker thread only, but
 * for {@link #fetch}, while which the worker leaves it alone.
 */
final class MirroredValues {
    private final Set<Integer> wanted = new HashSet<>();
    private final Set<Integer> asked = new HashSet<>();
    private final Map<Integer, ChunkMirror.Value> found = new HashMap<>();

    void clear() {
        wanted.clear();
        asked.clear();
        found.clear();
    }

    /** A row lacks the value of this id. */
    void want(int valueId) {
        if (!asked.contains(valueId)) {
            wanted.add(valueId);
        }
    }

    /** Whether values are wanted that were not asked for yet. */
    boolean isWanting() {
        return !wanted.isEmpty();
    }

    /**
     * Asks for what is wanted; throws what the client throws, and can be repeated.
     *
     * @param valueBytes more stored bytes of a value are not needed
     */
    void fetch(ChunkMirror mirror, TargetTable table, int valueBytes) {
        found.putAll(mirror.fetch(table, wanted, valueBytes));
        asked.addAll(wanted);
        wanted.clear();
    }

    /**
     * Appends the first {@code bytes} stored bytes of a value.
     *
     * @param commitPosition of the row that points to it: what was inserted later is another value
     * @return false, and nothing appended, if not all of them are here
     */
    boolean append(int valueId, int bytes, long commitPosition, ByteBuilder out) {
        ChunkMirror.Value value = found.get(valueId);
        if (value == null
                || value.stored().length() < bytes
                || Long.compareUnsigned(value.position(), commitPosition) > 0) {
            return false;
        }
        out.putBytes(value.stored().array(), 0, bytes);
        return true;
    }
}
