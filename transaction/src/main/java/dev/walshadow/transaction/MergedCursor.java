package dev.walshadow.transaction;

import java.util.Arrays;

/**
 * Merges cursors by LSN: a binary heap over reused flyweights. Used where subtransactions are known
 * to belong together only by the commit record's list.
 */
final class MergedCursor implements RecordCursor {
    private final RecordCursor[] cursors;
    private final RawRecord[] heads;
    private final boolean stable;
    private int count;
    private boolean headIsUsed;

    MergedCursor(RecordCursor[] sources) {
        cursors = sources;
        heads = new RawRecord[sources.length];
        stable = Arrays.stream(sources).allMatch(RecordCursor::chunkIsStable);
        for (RecordCursor source : sources) {
            RawRecord head = new RawRecord();
            if (source.next(head)) {
                cursors[count] = source;
                heads[count++] = head;
            }
        }
        for (int i = count / 2 - 1; i >= 0; i--) {
            siftDown(i);
        }
    }

    @Override
    public boolean next(RawRecord into) {
        if (headIsUsed) {
            if (!cursors[0].next(heads[0])) {
                count--;
                cursors[0] = cursors[count];
                heads[0] = heads[count];
            }
            siftDown(0);
        }
        headIsUsed = count > 0;
        if (headIsUsed) {
            into.wrap(heads[0].buffer(), heads[0].offset());
        }
        return headIsUsed;
    }

    private void siftDown(int from) {
        int i = from;
        while (true) {
            int child = 2 * i + 1;
            if (child >= count) {
                return;
            }
            if (child + 1 < count && heads[child + 1].lsn() < heads[child].lsn()) {
                child++;
            }
            if (heads[i].lsn() <= heads[child].lsn()) {
                return;
            }
            swap(i, child);
            i = child;
        }
    }

    private void swap(int i, int j) {
        RecordCursor cursor = cursors[i];
        cursors[i] = cursors[j];
        cursors[j] = cursor;
        RawRecord head = heads[i];
        heads[i] = heads[j];
        heads[j] = head;
    }

    @Override
    public boolean chunkIsStable() {
        return stable;
    }
}
