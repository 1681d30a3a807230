package dev.walshadow.transaction;

import dev.walshadow.postgres.RelationLocator;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A committed transaction in the hands of the consumer. Immutable but for {@link #close}, which
 * gives the memory back to the WAL pump's pool and deletes the spill files.
 */
final class CommittedTransaction implements CommittedChanges {
    /** What the commit record says, and where the transaction began. */
    record Commit(
            int xid,
            int databaseOid,
            long firstLsn,
            long commitLsn,
            long commitPosition,
            long commitMicros,
            boolean ignored) {}

    private final Commit commit;
    private final Arena[] arenas;
    private final @Nullable CommittedMembers members;
    private final ToastRelations toastRelations;
    private final ChunkPool pool;
    private final long bytesInMemory;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * @param arenas of the top level and of subtransactions that had none known; at least one
     * @param members null if all records in the arenas count
     */
    CommittedTransaction(
            Commit commit,
            Arena[] arenas,
            @Nullable CommittedMembers members,
            ToastRelations toastRelations,
            ChunkPool pool) {
        this.commit = commit;
        this.arenas = arenas;
        this.members = members;
        this.toastRelations = toastRelations;
        this.pool = pool;
        bytesInMemory = bytesInMemory(arenas);
    }

    static long bytesInMemory(Arena[] arenas) {
        long bytes = 0;
        for (Arena arena : arenas) {
            bytes += arena.bytesInMemory();
        }
        return bytes;
    }

    @Override
    public int xid() {
        return commit.xid();
    }

    @Override
    public int databaseOid() {
        return commit.databaseOid();
    }

    @Override
    public long firstLsn() {
        return commit.firstLsn();
    }

    @Override
    public long commitLsn() {
        return commit.commitLsn();
    }

    @Override
    public long commitPosition() {
        return commit.commitPosition();
    }

    @Override
    public long commitMicros() {
        return commit.commitMicros();
    }

    @Override
    public boolean ignored() {
        return commit.ignored();
    }

    @Override
    public RecordCursor records() {
        if (arenas.length == 1) {
            return new ArenaCursor(arenas[0], members);
        }
        RecordCursor[] sources = new RecordCursor[arenas.length];
        for (int i = 0; i < arenas.length; i++) {
            sources[i] = new ArenaCursor(arenas[i], members);
        }
        return new MergedCursor(sources);
    }

    @Override
    public ToastValues toast() {
        return new AssembledToast(arenas, members, toastRelations, commit.commitPosition());
    }

    @Override
    public long recordCount() {
        long records = 0;
        for (Arena arena : arenas) {
            records += arena.recordCount();
        }
        return records;
    }

    @Override
    public long bytes() {
        long bytes = 0;
        for (Arena arena : arenas) {
            bytes += arena.end();
        }
        return bytes;
    }

    @Override
    public @Nullable Set<RelationLocator> relations() {
        Set<RelationLocator> all = new HashSet<>();
        for (Arena arena : arenas) {
            if (!arena.addRelations(all)) {
                return null;
            }
        }
        return all;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                for (Arena arena : arenas) {
                    arena.free();
                }
            } finally {
                pool.returnHandedOver(bytesInMemory);
            }
        }
    }
}
