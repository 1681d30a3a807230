package dev.walshadow.transaction;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.RelationLocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Values whose chunks were inserted by the transaction itself. Nothing is built ahead: the ranges
 * of value ids that came with the runs of records say where to look, so memory stays bounded
 * whatever the size of the transaction, and a value costs the reading of one or two runs.
 */
final class AssembledToast implements ToastValues {
    private final Arena[] arenas;
    private final @Nullable CommittedMembers members;
    private final ToastRelations relations;
    private final long commitPosition;
    private final @Nullable SpillReader[] readers;
    private final int[] lastEntries;
    private final RawRecord record = new RawRecord();
    private final ToastChunk chunk = new ToastChunk();
    private @Nullable Map<Integer, List<RelationLocator>> locators;

    // the search that is going on
    private int relationNumber;
    private RelationLocator wanted = new RelationLocator(0, 0, 0);
    private int wantedValue;
    private int expectedSequence;
    private int bytesLeft;
    private boolean roomWanted;
    private boolean sawLaterChunk;
    private int firstLater;
    private boolean complete;

    AssembledToast(
            Arena[] arenas,
            @Nullable CommittedMembers members,
            ToastRelations relations,
            long commitPosition) {
        this.arenas = arenas;
        this.members = members;
        this.relations = relations;
        this.commitPosition = commitPosition;
        readers = new @Nullable SpillReader[arenas.length];
        lastEntries = new int[arenas.length];
    }

    @Override
    public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
        return append(toastRelationOid, valueId, Integer.MAX_VALUE, false, out);
    }

    @Override
    public boolean appendPrefix(int toastRelationOid, int valueId, int limit, ByteBuilder out) {
        return append(toastRelationOid, valueId, limit, true, out);
    }

    private boolean append(
            int toastRelationOid, int valueId, int limit, boolean makeRoom, ByteBuilder out) {
        int start = out.length();
        boolean torn = false;
        for (RelationLocator locator : locatorsOf(toastRelationOid)) {
            want(locator, valueId, limit);
            roomWanted = makeRoom;
            searchFrom(0, out);
            if (expectedSequence > 0 && (complete || !sawLaterChunk)) {
                return true;
            }
            torn |= sawLaterChunk;
            out.setLength(start);
        }
        return torn || hasUnreadableChunks();
    }

    @Override
    public int appendTail(int toastRelationOid, int valueId, ByteBuilder out) {
        for (RelationLocator locator : locatorsOf(toastRelationOid)) {
            want(locator, valueId, Integer.MAX_VALUE);
            roomWanted = false;
            firstLater = Integer.MAX_VALUE;
            searchFrom(-1, out); // takes none, sees all
            if (sawLaterChunk) {
                int first = firstLater;
                searchFrom(first, out);
                return first;
            }
        }
        return -1;
    }

    private void want(RelationLocator locator, int valueId, int limit) {
        wanted = locator;
        relationNumber = locator.relationNumber();
        wantedValue = valueId;
        bytesLeft = limit;
        complete = false;
    }

    private void searchFrom(int sequence, ByteBuilder out) {
        expectedSequence = sequence;
        int before;
        do {
            before = expectedSequence;
            sawLaterChunk = false;
            search(out);
            // chunks that lie out of order: each further pass takes the next ones
        } while (!complete && sawLaterChunk && expectedSequence > before);
    }

    /** They may be of any value. */
    private boolean hasUnreadableChunks() {
        for (Arena arena : arenas) {
            if (arena.hasUnreadableToastChunks()) {
                return true;
            }
        }
        return false;
    }

    private List<RelationLocator> locatorsOf(int toastRelationOid) {
        Map<Integer, List<RelationLocator>> known = locators;
        if (known == null) {
            known = new HashMap<>();
            for (Arena arena : arenas) {
                for (RelationLocator locator : arena.toastLocators()) {
                    int oid = relations.toastRelationOid(locator, commitPosition);
                    List<RelationLocator> same = known.computeIfAbsent(oid, _ -> new ArrayList<>());
                    if (oid != 0 && !same.contains(locator)) {
                        same.add(locator);
                    }
                }
            }
            locators = known;
        }
        return known.getOrDefault(toastRelationOid, List.of());
    }

    private void search(ByteBuilder out) {
        for (int i = 0; i < arenas.length && !complete; i++) {
            Arena arena = arenas[i];
            SpillFile file = arena.spill();
            if (file != null) {
                searchFile(i, file, out);
            }
            for (int c = 0; c < arena.chunkCount() && !complete; c++) {
                if (arena.toastRange(c).mayHold(relationNumber, wantedValue)) {
                    scan(arena, arena.chunk(c), arena.used(c), arena.start(c), out);
                }
            }
        }
    }

    /** Values are mostly asked for in the order of the file: begin where the last one was. */
    private void searchFile(int i, SpillFile file, ByteBuilder out) {
        FrameIndex index = file.index();
        int entries = index.entries();
        int first = expectedSequence == 0 ? lastEntries[i] : 0;
        for (int step = 0; step < entries && !complete; step++) {
            int entry = (first + step) % entries;
            if (index.range(entry).mayHold(relationNumber, wantedValue)) {
                int before = expectedSequence;
                long limit = entry + 1 < entries ? index.offset(entry + 1) : file.length();
                searchFrames(i, file, index.offset(entry), limit, out);
                if (expectedSequence > before) {
                    lastEntries[i] = entry;
                }
            }
        }
    }

    private void searchFrames(int i, SpillFile file, long from, long limit, ByteBuilder out) {
        SpillReader reader = readers[i];
        if (reader == null) {
            reader = new SpillReader(file);
            readers[i] = reader;
        }
        for (long frame = from; frame < limit && !complete; frame = reader.nextFrame()) {
            reader.open(frame);
            if (reader.toastRange().mayHold(relationNumber, wantedValue)) {
                reader.load();
                scan(arenas[i], reader.payload(), reader.payloadLength(), reader.position(), out);
            }
        }
    }

    private void scan(Arena arena, byte[] bytes, int length, long position, ByteBuilder out) {
        for (int at = 0; at < length && !complete; at += record.length()) {
            record.wrap(bytes, at);
            if (isWantedChunk() && !arena.isCancelled(position + at)) {
                int sequence = chunk.sequence();
                if (sequence == expectedSequence) {
                    take(bytes, out);
                } else if (sequence > expectedSequence) {
                    sawLaterChunk = true;
                    firstLater = Math.min(firstLater, sequence);
                }
            }
        }
    }

    /** The next chunk of the value, as much of it as is wanted. */
    private void take(byte[] bytes, ByteBuilder out) {
        if (roomWanted) {
            out.ensure(bytesLeft);
            roomWanted = false;
        }
        int count = Math.min(bytesLeft, chunk.dataLength());
        out.putBytes(bytes, chunk.dataOffset(), count);
        bytesLeft -= count;
        expectedSequence++;
        complete = chunk.dataLength() < ToastChunk.MAX_SIZE || bytesLeft == 0;
    }

    private boolean isWantedChunk() {
        CommittedMembers all = members;
        return record.relationNumber() == relationNumber
                && record.tablespaceOid() == wanted.tablespaceOid()
                && record.databaseOid() == wanted.databaseOid()
                && ToastChunk.isInsert(
                        record.resourceManager(),
                        record.info(),
                        record.buffer(),
                        record.mainOffset())
                && (record.flags() & RawRecordLayout.CANCELLED) == 0
                && (all == null || all.contains(record.xid()))
                && chunk.wrap(record.buffer(), record.dataOffset(), record.dataLength())
                && chunk.valueId() == wantedValue;
    }
}
