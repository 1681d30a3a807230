package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.pipeline.encode.KnownValues;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The values out of line that the rows of one window need, held until the window is done: what its
 * scan has found, its encoding finds too. Worker thread only.
 */
final class WindowValues implements KnownValues {
    private final RecentValues recent;
    private final TargetTable table;
    private final Map<RecentValues.Key, RecentValues.Value> held = new HashMap<>();
    private long bytes;
    private long newBytes;

    // of the change at hand
    private boolean used;
    private boolean lost;
    private boolean contradicted;

    WindowValues(RecentValues recent, TargetTable table) {
        this.recent = recent;
        this.table = table;
    }

    void clear() {
        recent.release(held.values());
        held.clear();
        bytes = 0;
        newBytes = 0;
    }

    /** Bytes that are held. */
    long bytes() {
        return bytes;
    }

    /** Those that the window's own changes brought. */
    long newBytes() {
        return newBytes;
    }

    void beginChange() {
        used = false;
        lost = false;
        contradicted = false;
    }

    /** The change took a value that a restart will not know. */
    boolean isUsed() {
        return used;
    }

    /** A new value of the change was not kept. */
    boolean isLost() {
        return lost;
    }

    /** The change gave a value's id, which earlier changes of the window use, to another one. */
    boolean isContradicted() {
        return contradicted;
    }

    private RecentValues.Key key(int toastRelationOid, int valueId, int column) {
        return new RecentValues.Key(table, toastRelationOid, valueId, column);
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, int column, ByteBuilder out) {
        RecentValues.Key key = key(toastRelationOid, valueId, column);
        RecentValues.Value value = held.get(key);
        if (value == null) {
            value = recent.hold(key);
            if (value == null) {
                return false;
            }
            held.put(key, value);
            bytes += value.rowBinary().length;
        }
        out.putBytes(value.rowBinary());
        used = true;
        return true;
    }

    @Override
    public int largest() {
        return recent.largest();
    }

    @Override
    public void learn(int toastRelationOid, int valueId, int column, byte[] rowBinary) {
        RecentValues.Key key = key(toastRelationOid, valueId, column);
        RecentValues.Value before = held.get(key);
        if (before == null) {
            held.put(key, recent.putHeld(key, rowBinary));
            bytes += rowBinary.length;
            newBytes += rowBinary.length;
        } else if (!Arrays.equals(before.rowBinary(), rowBinary)) {
            contradicted = true;
        }
    }

    @Override
    public void forget(int toastRelationOid, int valueId, int column) {
        RecentValues.Key key = key(toastRelationOid, valueId, column);
        lost = true;
        contradicted |= held.containsKey(key);
        recent.remove(key);
    }
}
