package dev.walshadow.transaction;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.postgres.RelationLocator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a test keeps of a committed transaction. */
record Collected(
        int xid,
        int databaseOid,
        long firstLsn,
        long commitLsn,
        long commitPosition,
        long commitMicros,
        List<Entry> records) {

    /** One record, content by hash. */
    record Entry(
            long lsn,
            int xid,
            int resourceManager,
            int info,
            int relation,
            int block0,
            int block1,
            int mainHash,
            int dataHash) {}

    /** Fails if the changes are of relations that they do not name. */
    static Collected of(CommittedChanges changes) {
        requireNamed(changes);
        return new Collected(
                changes.xid(),
                changes.databaseOid(),
                changes.firstLsn(),
                changes.commitLsn(),
                changes.commitPosition(),
                changes.commitMicros(),
                entries(changes.records()));
    }

    private static void requireNamed(CommittedChanges changes) {
        Set<RelationLocator> named = changes.relations();
        boolean truncates = false;
        Set<RelationLocator> found = new HashSet<>();
        RecordCursor cursor = changes.records();
        RawRecord record = new RawRecord();
        while (cursor.next(record)) {
            truncates |= !record.hasBlock0();
            found.add(
                    new RelationLocator(
                            record.tablespaceOid(), record.databaseOid(), record.relationNumber()));
        }
        if (named != null) {
            assertThat(truncates).isFalse();
            assertThat(named).containsAll(found);
        }
    }

    static List<Entry> entries(RecordCursor cursor) {
        List<Entry> entries = new ArrayList<>();
        RawRecord record = new RawRecord();
        while (cursor.next(record)) {
            entries.add(
                    new Entry(
                            record.lsn(),
                            record.xid(),
                            record.resourceManager(),
                            record.info(),
                            record.relationNumber(),
                            record.block0(),
                            record.block1(),
                            hash(record.buffer(), record.mainOffset(), record.mainLength()),
                            hash(record.buffer(), record.dataOffset(), record.dataLength())));
        }
        return entries;
    }

    static int hash(byte[] bytes, int offset, int length) {
        return Arrays.hashCode(Arrays.copyOfRange(bytes, offset, offset + length));
    }

    List<Long> lsns() {
        return records.stream().map(Entry::lsn).toList();
    }

    static byte @Nullable [] toast(CommittedChanges changes, int toastRelationOid, int valueId) {
        ByteBuilder out = new ByteBuilder(16);
        out.putByte(42);
        if (changes.toast().append(toastRelationOid, valueId, out)) {
            return Arrays.copyOfRange(out.array(), 1, out.length());
        }
        return out.length() == 1 ? null : new byte[] {-1, -1, -1};
    }
}
