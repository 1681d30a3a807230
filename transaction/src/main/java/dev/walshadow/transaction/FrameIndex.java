package dev.walshadow.transaction;

import java.util.Arrays;

/**
 * Where the frames of a spill file begin and which TOAST values they may hold. Bounded: beyond
 * {@link #MAX_ENTRIES} an entry stands for twice as many frames. One writer, then read only.
 */
final class FrameIndex {
    static final int MAX_ENTRIES = 1 << 15;

    private final int maxEntries;
    private long[] offsets = new long[4];
    private ToastRange[] ranges = new ToastRange[4];
    private int entries;
    private long frames;
    private long framesPerEntry = 1;

    FrameIndex(int maxEntries) {
        this.maxEntries = maxEntries;
    }

    int entries() {
        return entries;
    }

    /** Where the first frame of the entry begins. */
    long offset(int entry) {
        return offsets[entry];
    }

    ToastRange range(int entry) {
        return ranges[entry];
    }

    void add(long offset, ToastRange range) {
        if (frames % framesPerEntry != 0) {
            ranges[entries - 1].add(range);
            frames++;
            return;
        }
        if (entries == maxEntries) {
            halve();
            add(offset, range);
            return;
        }
        if (entries == offsets.length) {
            offsets = Arrays.copyOf(offsets, entries * 2);
            ranges = Arrays.copyOf(ranges, entries * 2);
        }
        ToastRange copy = new ToastRange();
        copy.add(range);
        offsets[entries] = offset;
        ranges[entries] = copy;
        entries++;
        frames++;
    }

    private void halve() {
        int kept = 0;
        for (int i = 0; i < entries; i += 2) {
            offsets[kept] = offsets[i];
            ranges[kept] = ranges[i];
            if (i + 1 < entries) {
                ranges[kept].add(ranges[i + 1]);
            }
            kept++;
        }
        entries = kept;
        framesPerEntry *= 2;
    }

    /** Forgets the last frame. */
    void removeLast() {
        frames--;
        if (frames % framesPerEntry == 0) {
            entries--;
        }
    }
}
