package dev.walshadow.transaction;

import org.jspecify.annotations.Nullable;

/** The records of one arena that count, in LSN order: spilled frames first, then memory. */
final class ArenaCursor implements RecordCursor {
    private static final byte[] NOTHING = {};

    private final Arena arena;
    private final @Nullable CommittedMembers members;
    private final @Nullable SpillReader spilled;
    private long nextFrame = SpillReader.firstFrame();
    private int nextChunk;
    private byte[] bytes = NOTHING;
    private int at;
    private int end;
    private long start;
    private int lastMember;

    /**
     * @param members null if every record counts
     */
    ArenaCursor(Arena arena, @Nullable CommittedMembers members) {
        this.arena = arena;
        this.members = members;
        SpillFile file = arena.spill();
        spilled = file == null ? null : new SpillReader(file);
    }

    @Override
    public boolean next(RawRecord into) {
        while (true) {
            while (at == end) {
                if (!nextRun()) {
                    return false;
                }
            }
            into.wrap(bytes, at);
            long position = start + at;
            at += into.length();
            if ((into.flags() & RawRecordLayout.CANCELLED) == 0
                    && isMember(into.xid())
                    && !arena.isCancelled(position)) {
                return true;
            }
        }
    }

    private boolean isMember(int xid) {
        CommittedMembers all = members;
        if (all == null || xid == lastMember) {
            return true;
        }
        if (!all.contains(xid)) {
            return false;
        }
        lastMember = xid;
        return true;
    }

    private boolean nextRun() {
        SpillReader reader = spilled;
        if (reader != null && reader.isFrame(nextFrame)) {
            reader.open(nextFrame);
            reader.load();
            nextFrame = reader.nextFrame();
            set(reader.payload(), reader.payloadLength(), reader.position());
            return true;
        }
        if (nextChunk < arena.chunkCount()) {
            set(arena.chunk(nextChunk), arena.used(nextChunk), arena.start(nextChunk));
            nextChunk++;
            return true;
        }
        return false;
    }

    private void set(byte[] run, int length, long position) {
        bytes = run;
        at = 0;
        end = length;
        start = position;
    }

    @Override
    public boolean chunkIsStable() {
        return spilled == null;
    }
}
