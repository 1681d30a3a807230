package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.DatabaseRecord;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.ParameterChangeRecord;
import dev.walshadow.postgres.wal.RelationMapRecord;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.StandbyLockRecord;
import dev.walshadow.postgres.wal.StorageRecord;
import dev.walshadow.postgres.wal.TablespaceRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.TransactionRecordLayout;
import dev.walshadow.postgres.wal.WalCodes;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.nio.ByteBuffer;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Decides for every record, once and in order, whether the shadow gets it: what concerns catalogs
 * is kept, what concerns only user data is dropped. The rules and their reasons are in {@code
 * docs/filter.md}. Deterministic: the same records after the same {@link StreamSnapshot} give the
 * same decisions, so a segment that is filtered again after a restart has the same bytes.
 *
 * <p>Besides, it collects which catalogs each transaction writes and turns the commit of one that
 * changed shapes into a {@link CatalogBoundary}.
 *
 * <p>Single-threaded; no I/O, no clock (I13).
 */
public final class Filter {
    /** Time, flags, database and origin of an end record: it says nothing else as a rule. */
    private static final int PLAIN_END_LENGTH = 36;

    private final int majorVersion;
    private final FilterState state = new FilterState();
    private final TransactionRecord transaction;
    private final StorageRecord storage = new StorageRecord();
    private final StandbyLockRecord locks = new StandbyLockRecord();
    private final RunningXactsRecord running = new RunningXactsRecord();
    private final DatabaseRecord database = new DatabaseRecord();
    private final RelationMapRecord relationMap = new RelationMapRecord();
    private final ParameterChangeRecord parameters = new ParameterChangeRecord();
    private final ShapelessRelations shapeless;
    private final CatalogBoundary boundary = new CatalogBoundary();
    private CapturedRelations captured = (_, _) -> true;
    private boolean atBoundary;
    private long invalidations;

    /** An empty state, for WAL of this major version (15-18). */
    public Filter(int majorVersion) {
        this.majorVersion = majorVersion;
        transaction = new TransactionRecord(majorVersion);
        shapeless = new ShapelessRelations(majorVersion);
    }

    /**
     * Adds what was rewritten before the stream began.
     *
     * @param complete no transaction that began before the stream can bring more
     */
    public void seed(Collection<CatalogSeed> seeds, boolean complete) {
        if (complete) {
            state.settle();
        }
        for (CatalogSeed seed : seeds) {
            if (!isLargeObject(seed.catalogOid())) {
                RelationLocator locator = seed.locator();
                state.rewritten.put(
                        locator.tablespaceOid(),
                        locator.databaseOid(),
                        locator.relationNumber(),
                        Catalogs.bit(seed.catalogOid()),
                        0);
            }
        }
    }

    /** Until then every relation counts as captured. */
    void use(CapturedRelations relations) {
        captured = relations;
    }

    /** What a reader of the catalogs has seen at the last record so far. */
    void knowIndex(int databaseOid, int indexOid, int tableOid) {
        shapeless.know(databaseOid, indexOid, tableOid);
    }

    void encodeState(ByteBuilder out) {
        state.encode(out);
    }

    void decodeState(ByteBuffer in) {
        state.decode(in);
    }

    /**
     * Takes note of {@code record} and decides. Records come once each, in WAL order.
     *
     * @throws HaltException if the record is of an unknown kind, or says that the stream cannot be
     *     followed further
     */
    public Decision decide(WalRecord record) {
        atBoundary = false;
        if (record.topLevelXid() != 0) {
            state.subtransaction(record.xid(), record.topLevelXid());
        }
        int manager = record.resourceManager();
        return switch (manager) {
            case ResourceManager.HEAP,
                    ResourceManager.HEAP2,
                    ResourceManager.BTREE,
                    ResourceManager.HASH,
                    ResourceManager.GIN,
                    ResourceManager.GIST,
                    ResourceManager.SEQUENCE,
                    ResourceManager.SPGIST,
                    ResourceManager.BRIN,
                    ResourceManager.GENERIC ->
                    relation(record, manager);
            case ResourceManager.TRANSACTION -> transaction(record);
            case ResourceManager.XLOG -> xlog(record);
            case ResourceManager.STORAGE -> storage(record);
            case ResourceManager.STANDBY -> standby(record);
            case ResourceManager.DATABASE -> database(record);
            case ResourceManager.TABLESPACE ->
                    operation(record) == TablespaceRecord.XLOG_TBLSPC_CREATE
                            ? Decision.PATCH
                            : Decision.KEEP;
            case ResourceManager.RELMAP -> relationMap(record);
            case ResourceManager.CLOG,
                    ResourceManager.MULTIXACT,
                    ResourceManager.COMMIT_TS,
                    ResourceManager.REPLICATION_ORIGIN ->
                    Decision.KEEP;
            case ResourceManager.LOGICAL_MESSAGE -> Decision.DROP;
            default -> {
                if (manager < ResourceManager.MIN_CUSTOM) {
                    throw unknown(record);
                }
                yield Decision.DROP;
            }
        };
    }

    /** What the record decided last means for catalogs; null for nearly all. */
    public @Nullable CatalogBoundary boundary() {
        return atBoundary ? boundary : null;
    }

    /**
     * How many shared-invalidation messages the replay of all records so far sends; an upper bound
     * that is zero for transactions that change no catalog.
     */
    long invalidations() {
        return invalidations;
    }

    /** Some transaction is between its RELMAP_UPDATE and its end: catalogs cannot be read. */
    boolean isRelationMapInFlight() {
        return state.isRelationMapInFlight();
    }

    // ---- relations -------------------------------------------------------------------------

    private Decision relation(WalRecord record, int manager) {
        int blocks = record.blockCount();
        for (int i = 0; i < blocks; i++) {
            if (isCatalog(
                    record.tablespaceOid(i), record.databaseOid(i), record.relationNumber(i))) {
                if (manager == ResourceManager.HEAP || manager == ResourceManager.HEAP2) {
                    catalogWrite(record, manager, i);
                }
                return Decision.KEEP;
            }
        }
        return blocks > 0 ? Decision.DROP : withoutBlocks(record, manager);
    }

    /** The few records of relations that touch no block. */
    private Decision withoutBlocks(WalRecord record, int manager) {
        if (manager == ResourceManager.HEAP2
                && operation(record) == HeapRecordLayout.XLOG_HEAP2_NEW_CID) {
            return Decision.KEEP; // only ever about catalogs; replay ignores it
        }
        boolean reusePage = manager == ResourceManager.BTREE || manager == ResourceManager.GIST;
        if (reusePage && record.mainDataLength() >= XLogLayout.LOCATOR_LENGTH) {
            byte[] bytes = record.buffer();
            int at = record.mainDataOffset();
            boolean catalog =
                    isCatalog(
                            LittleEndian.getInt(bytes, at + XLogLayout.LOCATOR_TABLESPACE),
                            LittleEndian.getInt(bytes, at + XLogLayout.LOCATOR_DATABASE),
                            LittleEndian.getInt(bytes, at + XLogLayout.LOCATOR_RELATION));
            return catalog ? Decision.KEEP : Decision.DROP;
        }
        return Decision.DROP; // TRUNCATE's list of OIDs, logical rewrite mappings
    }

    private boolean isCatalog(int tablespace, int databaseOid, int relation) {
        if (Integer.compareUnsigned(relation, Catalogs.FIRST_NORMAL_OID) < 0) {
            return !isLargeObject(relation);
        }
        return tablespace == Catalogs.GLOBAL_TABLESPACE
                || state.rewritten.get(tablespace, databaseOid, relation) != 0;
    }

    /** Can be terabytes, and nothing reads it on the shadow. */
    private static boolean isLargeObject(int oidOrNumber) {
        return oidOrNumber == Catalogs.PG_LARGEOBJECT
                || oidOrNumber == Catalogs.PG_LARGEOBJECT_LOID_PN_INDEX;
    }

    private void catalogWrite(WalRecord record, int manager, int block) {
        boolean inPlace =
                manager == ResourceManager.HEAP
                        && (record.info() & HeapRecordLayout.XLOG_HEAP_OPMASK)
                                == HeapRecordLayout.XLOG_HEAP_INPLACE;
        if (inPlace) {
            invalidations += record.mainDataLength() / TransactionRecordLayout.MESSAGE_LENGTH;
        }
        int relation = record.relationNumber(block);
        long catalogs =
                Integer.compareUnsigned(relation, Catalogs.FIRST_NORMAL_OID) < 0
                        ? Catalogs.bit(relation)
                        : state.rewritten.get(
                                record.tablespaceOid(block), record.databaseOid(block), relation);
        catalogs &= Catalogs.TRACKED;
        if (catalogs == 0) {
            return;
        }
        int operation = record.info() & HeapRecordLayout.XLOG_HEAP_OPMASK;
        if (manager == ResourceManager.HEAP2) {
            if (operation != HeapRecordLayout.XLOG_HEAP2_MULTI_INSERT) {
                return;
            }
            catalogs |= unread(catalogs);
        } else {
            switch (operation) {
                case HeapRecordLayout.XLOG_HEAP_INSERT ->
                        catalogs |= inserted(record, block, catalogs);
                case HeapRecordLayout.XLOG_HEAP_UPDATE,
                        HeapRecordLayout.XLOG_HEAP_HOT_UPDATE,
                        HeapRecordLayout.XLOG_HEAP_DELETE -> {
                    if (catalogs == Catalogs.CLASS
                            && operation != HeapRecordLayout.XLOG_HEAP_DELETE
                            && shapeless.keepsCapturedColumns(record, block)) {
                        return;
                    }
                    catalogs |= changed(catalogs);
                    if (operation != HeapRecordLayout.XLOG_HEAP_DELETE) {
                        catalogs |= updated(record, block, catalogs);
                    }
                    if ((catalogs & Catalogs.TYPE) != 0) {
                        catalogs |= Catalogs.TYPE_CHANGED;
                        catalogs |=
                                operation == HeapRecordLayout.XLOG_HEAP_DELETE
                                        ? 0
                                        : Catalogs.TYPE_UPDATED;
                    }
                    if ((catalogs & Catalogs.NAMESPACE) != 0) {
                        catalogs |= Catalogs.NAMESPACE_CHANGED;
                    }
                }
                default -> {
                    return; // LOCK, CONFIRM; INPLACE changes statistics, never a shape
                }
            }
        }
        state.write(record.xid(), catalogs);
    }

    /** A rewritten catalog may be one of several: then its rows cannot be read. */
    private long inserted(WalRecord record, int block, long catalogs) {
        if (catalogs == Catalogs.CLASS) {
            return shapeless.classInsert(record, block);
        }
        return catalogs == Catalogs.INDEX ? shapeless.indexInsert(record, block) : unread(catalogs);
    }

    private long unread(long catalogs) {
        if ((catalogs & (Catalogs.CLASS | Catalogs.INDEX)) == 0) {
            return 0;
        }
        shapeless.clear();
        return Catalogs.CLASS_INSERTED_CAPTURED | Catalogs.KEY_INSERTED;
    }

    /** Of an UPDATE or DELETE in these catalogs. */
    private static long changed(long catalogs) {
        long changed = 0;
        if ((catalogs & Catalogs.CLASS) != 0) {
            changed |= Catalogs.CLASS_CHANGED;
        }
        if ((catalogs & Catalogs.ATTRIBUTE) != 0) {
            changed |= Catalogs.ATTRIBUTE_CHANGED;
        }
        if ((catalogs & Catalogs.INDEX) != 0) {
            changed |= Catalogs.INDEX_CHANGED;
        }
        return changed;
    }

    private long updated(WalRecord record, int block, long catalogs) {
        boolean moved =
                (catalogs & Catalogs.CLASS) != 0
                        && ((catalogs & Catalogs.TRACKED) != Catalogs.CLASS
                                || !shapeless.keepsPlace(record, block));
        return (moved ? Catalogs.CLASS_MOVED : 0)
                | ((catalogs & Catalogs.INDEX) != 0 ? Catalogs.INDEX_UPDATED : 0);
    }

    // ---- storage and databases -------------------------------------------------------------

    private Decision storage(WalRecord record) {
        storage.wrap(record);
        int tablespace = storage.tablespaceOid();
        int databaseOid = storage.databaseOid();
        int relation = storage.relationNumber();
        if (isCatalog(tablespace, databaseOid, relation)) {
            invalidations++;
            return Decision.KEEP;
        }
        if (!storage.isCreate()
                || Integer.compareUnsigned(relation, Catalogs.FIRST_NORMAL_OID) < 0) {
            return Decision.DROP;
        }
        // made by a transaction that holds a catalog exclusively: that catalog's new storage
        long catalogs = state.lockedCatalogs(record.xid());
        if (catalogs == 0 && state.isNewDatabase(databaseOid)) {
            // a clone has its template's numbers, and only catalogs are wanted
            catalogs = state.rewritten.bitsOfNumber(relation);
        }
        if (catalogs == 0) {
            return Decision.DROP;
        }
        state.rewritten.put(tablespace, databaseOid, relation, catalogs, record.xid());
        return Decision.KEEP;
    }

    private Decision database(WalRecord record) {
        database.wrap(record);
        switch (database.operation()) {
            case DatabaseRecord.XLOG_DBASE_CREATE_FILE_COPY ->
                    state.rewritten.copyDatabase(
                            database.sourceDatabaseOid(),
                            database.sourceTablespaceOid(),
                            database.databaseOid(),
                            database.tablespaceOid());
            case DatabaseRecord.XLOG_DBASE_CREATE_WAL_LOG -> {
                if (record.xid() != 0) {
                    state.newDatabase(database.databaseOid(), record.xid());
                }
            }
            default -> {
                for (int i = 0; i < database.tablespaceCount(); i++) {
                    state.rewritten.dropDatabase(database.databaseOid(), database.tablespace(i));
                }
            }
        }
        return Decision.KEEP;
    }

    private Decision relationMap(WalRecord record) {
        relationMap.wrap(record);
        invalidations++;
        if (record.xid() != 0 && !state.isNewDatabase(relationMap.databaseOid())) {
            state.relationMap(record.xid());
        }
        for (int i = 0; i < relationMap.count(); i++) {
            int relation = relationMap.relationNumber(i);
            if (Integer.compareUnsigned(relation, Catalogs.FIRST_NORMAL_OID) >= 0) {
                state.rewritten.put(
                        relationMap.tablespaceOid(),
                        relationMap.databaseOid(),
                        relation,
                        Catalogs.bit(relationMap.catalogOid(i)),
                        0);
            }
        }
        return Decision.KEEP;
    }

    // ---- transactions ----------------------------------------------------------------------

    private Decision transaction(WalRecord record) {
        int operation = record.info() & TransactionRecordLayout.XLOG_XACT_OPMASK;
        switch (operation) {
            case TransactionRecordLayout.XLOG_XACT_COMMIT,
                    TransactionRecordLayout.XLOG_XACT_COMMIT_PREPARED,
                    TransactionRecordLayout.XLOG_XACT_ABORT,
                    TransactionRecordLayout.XLOG_XACT_ABORT_PREPARED -> {
                // a message each, and one for each file that is dropped, which is shorter
                invalidations +=
                        Math.max(0, record.mainDataLength() - PLAIN_END_LENGTH)
                                / XLogLayout.LOCATOR_LENGTH;
                if (!state.isIdle()) {
                    transaction.wrap(record);
                    endTransaction(record);
                }
            }
            case TransactionRecordLayout.XLOG_XACT_PREPARE -> {
                transaction.wrap(record);
                state.prepare(transaction);
            }
            case TransactionRecordLayout.XLOG_XACT_ASSIGNMENT -> {
                transaction.wrap(record);
                for (int i = 0; i < transaction.subxactCount(); i++) {
                    state.subtransaction(transaction.subxact(i), transaction.topLevelXid());
                }
            }
            case TransactionRecordLayout.XLOG_XACT_INVALIDATIONS -> {
                // replay ignores it; the commit record repeats what counts
            }
            default -> throw unknown(record);
        }
        return Decision.KEEP;
    }

    private void endTransaction(WalRecord record) {
        boolean commit = transaction.isCommit();
        forgetDroppedStorage(record, commit);
        long catalogs = state.end(transaction);
        boolean unseen =
                transaction.invalidationCount() > 0
                        && state.mayHaveWrittenUnseen(transaction.xid());
        if (unseen) {
            // what it did before the stream is not known, only that it did something
            catalogs |= Catalogs.ANY;
        }
        if (!commit || (catalogs & Catalogs.BOUNDARY) == 0) {
            return;
        }
        boundary.clear(
                transaction.xid(),
                record.lsn(),
                record.nextLsn(),
                transaction.databaseOid(),
                catalogs);
        if (unseen) {
            boundary.unseen();
        }
        for (int i = 0; i < transaction.invalidationCount(); i++) {
            if (transaction.invalidationKind(i) == TransactionRecordLayout.SHAREDINVALRELCACHE_ID) {
                int relation = transaction.invalidationObject(i);
                int databaseOid = transaction.databaseOid();
                boundary.addRelation(
                        relation,
                        shapeless.isNeverCaptured(databaseOid, relation),
                        shapeless.isNoKey(databaseOid, relation),
                        shapeless.tableOf(databaseOid, relation));
            }
        }
        atBoundary = boundary.mayChangeShapes();
    }

    private void forgetDroppedStorage(WalRecord record, boolean commit) {
        int count = transaction.relationCount();
        if (count == 0) {
            return;
        }
        boolean suspect = commit && state.mayPrecedeStream(transaction.xid());
        if (!suspect && state.rewritten.isEmpty()) {
            return;
        }
        int created = suspect ? state.createdCatalogs(transaction) : 0;
        int dropped = 0;
        for (int i = 0; i < count; i++) {
            RelationLocator locator = transaction.relation(i);
            int tablespace = locator.tablespaceOid();
            int databaseOid = locator.databaseOid();
            int relation = locator.relationNumber();
            if (isCatalog(tablespace, databaseOid, relation)) {
                dropped++;
                state.rewritten.remove(tablespace, databaseOid, relation);
            }
        }
        if (suspect && dropped > created) {
            throw new HaltException(
                    SourceCodes.CATALOG_REWRITE_MISSED,
                    "transaction "
                            + Integer.toUnsignedString(transaction.xid())
                            + ", which was rewriting system catalogs when the base backup began,"
                            + " committed at "
                            + Lsn.format(record.lsn())
                            + ": expected to have seen the creation of "
                            + dropped
                            + " new catalog files, saw "
                            + created
                            + ". Bootstrap again when no VACUUM FULL, CLUSTER or REINDEX of"
                            + " system catalogs is running.");
        }
    }

    // ---- the rest --------------------------------------------------------------------------

    private Decision standby(WalRecord record) {
        return switch (operation(record)) {
            case RunningXactsRecord.XLOG_STANDBY_LOCK -> {
                noteLocks(record);
                yield Decision.DROP; // a replayed lock on a catalog would block every reader
            }
            case RunningXactsRecord.XLOG_RUNNING_XACTS -> {
                running.wrap(record);
                state.running(running.oldestRunningXid(), running.nextXid());
                yield Decision.KEEP;
            }
            case RunningXactsRecord.XLOG_INVALIDATIONS -> {
                invalidations += record.mainDataLength() / TransactionRecordLayout.MESSAGE_LENGTH;
                yield Decision.KEEP;
            }
            default -> throw unknown(record);
        };
    }

    private void noteLocks(WalRecord record) {
        locks.wrap(record);
        for (int i = 0; i < locks.count(); i++) {
            int relation = locks.relationOid(i);
            int xid = locks.xid(i);
            if (Integer.compareUnsigned(relation, Catalogs.FIRST_NORMAL_OID) >= 0) {
                if (captured.mayContain(locks.databaseOid(i), relation)) {
                    state.write(xid, Catalogs.CAPTURED_LOCKED);
                }
            } else if (!isLargeObject(relation) && xid != 0) {
                state.lock(xid, Catalogs.bit(relation));
            }
        }
    }

    private Decision xlog(WalRecord record) {
        return switch (operation(record)) {
            case XLogLayout.XLOG_FPI, XLogLayout.XLOG_FPI_FOR_HINT ->
                    relation(record, ResourceManager.XLOG);
            case XLogLayout.XLOG_CHECKPOINT_SHUTDOWN, XLogLayout.XLOG_END_OF_RECOVERY -> {
                state.restarted();
                yield Decision.KEEP;
            }
            case XLogLayout.XLOG_PARAMETER_CHANGE -> {
                parameters.wrap(record);
                requireLogicalWal(record);
                yield Decision.KEEP;
            }
            case XLogLayout.XLOG_CHECKPOINT_ONLINE,
                    XLogLayout.XLOG_NOOP,
                    XLogLayout.XLOG_NEXTOID,
                    XLogLayout.XLOG_SWITCH,
                    XLogLayout.XLOG_BACKUP_END,
                    XLogLayout.XLOG_RESTORE_POINT,
                    XLogLayout.XLOG_FPW_CHANGE,
                    XLogLayout.XLOG_OVERWRITE_CONTRECORD,
                    XLogLayout.XLOG_CHECKPOINT_REDO ->
                    Decision.KEEP;
            default -> throw unknown(record);
        };
    }

    private void requireLogicalWal(WalRecord record) {
        if (parameters.walLevel() < ParameterChangeRecord.WAL_LEVEL_LOGICAL) {
            throw new HaltException(
                    SourceCodes.WAL_LEVEL_LOWERED,
                    "wal_level was lowered on the source at "
                            + Lsn.format(record.lsn())
                            + ": expected logical, found "
                            + (parameters.walLevel() == ParameterChangeRecord.WAL_LEVEL_REPLICA
                                    ? "replica"
                                    : "minimal")
                            + ". From there on the WAL lacks old keys, so changes cannot be"
                            + " followed. Set wal_level = logical again, restart the source, and"
                            + " bootstrap walshadow anew.");
        }
    }

    private static int operation(WalRecord record) {
        return record.info() & XLogLayout.XLR_RMGR_INFO_MASK;
    }

    private HaltException unknown(WalRecord record) {
        return new HaltException(
                WalCodes.UNSUPPORTED_VERSION,
                "unknown WAL record type at "
                        + Lsn.format(record.lsn())
                        + ": resource manager "
                        + ResourceManager.name(record.resourceManager())
                        + ", info 0x"
                        + Integer.toHexString(record.info())
                        + ", which PostgreSQL "
                        + majorVersion
                        + " was not known to write. A newer walshadow may know it.");
    }
}
