package dev.walshadow.postgres.wal;

import static dev.walshadow.postgres.wal.TransactionRecordLayout.*;

import dev.walshadow.base.Invariant;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import java.nio.charset.StandardCharsets;

/**
 * View over a record of {@link ResourceManager#TRANSACTION}. Reused; valid as long as the wrapped
 * {@link WalRecord}. Layouts: {@link TransactionRecordLayout}. Any bytes give either a view whose
 * arrays lie inside the record or {@link WalRecord#corrupt}.
 *
 * <p>In a PREPARE record, subtransactions and invalidations are those of a later commit, and the
 * dropped relations those that a commit will drop ({@link #abortRelationCount} for a rollback).
 */
public final class TransactionRecord {
    private final int statsItemLength;

    private byte[] bytes = new byte[0];
    private int operation;
    private int xinfo;
    private int xid;
    private int databaseOid;
    private int tablespaceOid;
    private long timestampMicros;
    private int subxactCount;
    private int subxactsOffset;
    private int relationCount;
    private int relationsOffset;
    private int abortRelationCount;
    private int abortRelationsOffset;
    private int messageCount;
    private int messagesOffset;
    private int ownerOid;
    private int gidOffset;
    private int gidLength;
    private int topLevelXid;
    private long originLsn;
    private long originTimestampMicros;

    /** For records of this major version (15-18): the size of a stats item depends on it. */
    public TransactionRecord(int majorVersion) {
        Invariant.check(majorVersion >= 15, "PostgreSQL 15 or newer");
        statsItemLength = majorVersion >= 18 ? STATS_ITEM_LENGTH_18 : STATS_ITEM_LENGTH_15;
    }

    /**
     * Points at {@code record}, which is of resource manager {@link ResourceManager#TRANSACTION}.
     */
    public void wrap(WalRecord record) {
        clear(record);
        int at = record.mainDataOffset();
        int end = at + record.mainDataLength();
        switch (operation) {
            case XLOG_XACT_COMMIT,
                    XLOG_XACT_ABORT,
                    XLOG_XACT_COMMIT_PREPARED,
                    XLOG_XACT_ABORT_PREPARED ->
                    parseEnd(record, at, end);
            case XLOG_XACT_PREPARE -> parsePrepare(record, at, end);
            case XLOG_XACT_ASSIGNMENT -> {
                need(record, at, 8, end);
                topLevelXid = LittleEndian.getInt(bytes, at);
                subxactCount = count(record, at + 4, Integer.BYTES, end);
                subxactsOffset = at + 8;
            }
            case XLOG_XACT_INVALIDATIONS -> {
                messageCount = count(record, at, MESSAGE_LENGTH, end);
                messagesOffset = at + 4;
            }
            default -> throw record.corrupt("unknown transaction record type " + operation);
        }
        checkXids(record);
    }

    /** Xid 0 is none: whoever keeps xids may trust that it is not among these. */
    private void checkXids(WalRecord record) {
        boolean none = (operation == XLOG_XACT_ASSIGNMENT ? topLevelXid : xid) == 0;
        for (int i = 0; i < subxactCount; i++) {
            none |= subxact(i) == 0;
        }
        if (none && operation != XLOG_XACT_INVALIDATIONS) {
            throw record.corrupt("a transaction record names xid 0");
        }
    }

    private void clear(WalRecord wrapped) {
        bytes = wrapped.buffer();
        operation = wrapped.info() & XLOG_XACT_OPMASK;
        xid = wrapped.xid();
        topLevelXid = wrapped.topLevelXid();
        xinfo = 0;
        databaseOid = 0;
        tablespaceOid = 0;
        timestampMicros = 0;
        subxactCount = 0;
        relationCount = 0;
        abortRelationCount = 0;
        messageCount = 0;
        ownerOid = 0;
        gidOffset = 0;
        gidLength = 0;
        originLsn = 0;
        originTimestampMicros = 0;
    }

    private void parseEnd(WalRecord record, int start, int end) {
        int at = start;
        need(record, at, Long.BYTES, end);
        timestampMicros = LittleEndian.getLong(bytes, at);
        at += Long.BYTES;
        if ((record.info() & XLOG_XACT_HAS_INFO) == 0) {
            return;
        }
        need(record, at, Integer.BYTES, end);
        xinfo = LittleEndian.getInt(bytes, at);
        at += Integer.BYTES;
        if ((xinfo & XACT_XINFO_HAS_DBINFO) != 0) {
            need(record, at, 8, end);
            databaseOid = LittleEndian.getInt(bytes, at);
            tablespaceOid = LittleEndian.getInt(bytes, at + 4);
            at += 8;
        }
        if ((xinfo & XACT_XINFO_HAS_SUBXACTS) != 0) {
            subxactCount = count(record, at, Integer.BYTES, end);
            subxactsOffset = at + 4;
            at = subxactsOffset + subxactCount * Integer.BYTES;
        }
        if ((xinfo & XACT_XINFO_HAS_RELFILELOCATORS) != 0) {
            relationCount = count(record, at, XLogLayout.LOCATOR_LENGTH, end);
            relationsOffset = at + 4;
            at = relationsOffset + relationCount * XLogLayout.LOCATOR_LENGTH;
        }
        if ((xinfo & XACT_XINFO_HAS_DROPPED_STATS) != 0) {
            at += 4 + count(record, at, statsItemLength, end) * statsItemLength;
        }
        if ((xinfo & XACT_XINFO_HAS_INVALS) != 0) {
            messageCount = count(record, at, MESSAGE_LENGTH, end);
            messagesOffset = at + 4;
            at = messagesOffset + messageCount * MESSAGE_LENGTH;
        }
        parseTwoPhaseAndOrigin(record, at, end);
    }

    private void parseTwoPhaseAndOrigin(WalRecord record, int start, int end) {
        int at = start;
        if ((xinfo & XACT_XINFO_HAS_TWOPHASE) != 0) {
            need(record, at, Integer.BYTES, end);
            xid = LittleEndian.getInt(bytes, at);
            at += Integer.BYTES;
        }
        if ((xinfo & XACT_XINFO_HAS_GID) != 0) {
            gidOffset = at;
            while (at < end && bytes[at] != 0) {
                at++;
            }
            need(record, at, 1, end);
            gidLength = at - gidOffset;
            at++;
        }
        if ((xinfo & XACT_XINFO_HAS_ORIGIN) != 0) {
            need(record, at, 16, end);
            originLsn = LittleEndian.getLong(bytes, at);
            originTimestampMicros = LittleEndian.getLong(bytes, at + 8);
        }
    }

    private void parsePrepare(WalRecord record, int start, int end) {
        need(record, start, PREPARE_LENGTH, end);
        xid = LittleEndian.getInt(bytes, start + PREPARE_XID);
        databaseOid = LittleEndian.getInt(bytes, start + PREPARE_DATABASE);
        timestampMicros = LittleEndian.getLong(bytes, start + PREPARE_TIME);
        ownerOid = LittleEndian.getInt(bytes, start + PREPARE_OWNER);
        originLsn = LittleEndian.getLong(bytes, start + PREPARE_ORIGIN_LSN);
        originTimestampMicros = LittleEndian.getLong(bytes, start + PREPARE_ORIGIN_TIME);
        long at = (long) start + PREPARE_LENGTH;
        int gidBytes = LittleEndian.getUnsignedShort(bytes, start + PREPARE_GID_LENGTH);
        gidOffset = (int) at;
        gidLength = Math.max(0, gidBytes - 1);
        at = skip(record, at, gidBytes, 1, end);
        subxactsOffset = (int) at;
        subxactCount = LittleEndian.getInt(bytes, start + PREPARE_SUBXACTS);
        at = skip(record, at, subxactCount, Integer.BYTES, end);
        relationsOffset = (int) at;
        relationCount = LittleEndian.getInt(bytes, start + PREPARE_COMMIT_RELATIONS);
        at = skip(record, at, relationCount, XLogLayout.LOCATOR_LENGTH, end);
        abortRelationsOffset = (int) at;
        abortRelationCount = LittleEndian.getInt(bytes, start + PREPARE_ABORT_RELATIONS);
        at = skip(record, at, abortRelationCount, XLogLayout.LOCATOR_LENGTH, end);
        int commitStats = LittleEndian.getInt(bytes, start + PREPARE_COMMIT_STATS);
        at = skip(record, at, commitStats, statsItemLength, end);
        int abortStats = LittleEndian.getInt(bytes, start + PREPARE_ABORT_STATS);
        at = skip(record, at, abortStats, statsItemLength, end);
        messagesOffset = (int) at;
        messageCount = LittleEndian.getInt(bytes, start + PREPARE_MESSAGES);
        skip(record, at, messageCount, MESSAGE_LENGTH, end);
    }

    private static long skip(WalRecord record, long at, int count, int size, int end) {
        long next = at + (long) count * size;
        if (count < 0 || next > end) {
            throw record.corrupt("a list of " + count + " entries is cut off");
        }
        // the padding is relative to the payload, which starts unaligned in the record
        int start = record.mainDataOffset();
        return start + XLogLayout.align(next - start);
    }

    /** Reads the count at {@code at} and checks that as many entries follow it. */
    private int count(WalRecord record, int at, int size, int end) {
        need(record, at, Integer.BYTES, end);
        int count = LittleEndian.getInt(bytes, at);
        if (count < 0 || (long) count * size > end - at - Integer.BYTES) {
            throw record.corrupt("a list of " + count + " entries is cut off");
        }
        return count;
    }

    private static void need(WalRecord record, int at, int size, int end) {
        if (end - at < size) {
            throw record.corrupt("a transaction record is cut off");
        }
    }

    /** One of {@link TransactionRecordLayout}'s XLOG_XACT operations. */
    public int operation() {
        return operation;
    }

    public boolean isCommit() {
        return operation == XLOG_XACT_COMMIT || operation == XLOG_XACT_COMMIT_PREPARED;
    }

    public boolean isAbort() {
        return operation == XLOG_XACT_ABORT || operation == XLOG_XACT_ABORT_PREPARED;
    }

    public boolean isPrepare() {
        return operation == XLOG_XACT_PREPARE;
    }

    /**
     * The transaction concerned: the one that ends or is prepared (for COMMIT PREPARED and ROLLBACK
     * PREPARED the prepared one, not the one that runs the command). An ABORT may be that of a
     * subtransaction: then this is the subtransaction and {@link #subxact} lists its children.
     */
    public int xid() {
        return xid;
    }

    /** XLOG_XACT_ASSIGNMENT: the top-level transaction of the listed subtransactions. */
    public int topLevelXid() {
        return topLevelXid;
    }

    public int xinfo() {
        return xinfo;
    }

    /** 0 where the record does not say. */
    public int databaseOid() {
        return databaseOid;
    }

    public int tablespaceOid() {
        return tablespaceOid;
    }

    /** Of commit, abort or prepare; PostgreSQL epoch (2000-01-01), microseconds. */
    public long timestampMicros() {
        return timestampMicros;
    }

    public int subxactCount() {
        return subxactCount;
    }

    public int subxact(int i) {
        return LittleEndian.getInt(bytes, subxactsOffset + i * Integer.BYTES);
    }

    /** Relations whose files go with this end of the transaction. */
    public int relationCount() {
        return relationCount;
    }

    public RelationLocator relation(int i) {
        return locator(relationsOffset + i * XLogLayout.LOCATOR_LENGTH);
    }

    /** PREPARE only: relations whose files would go at a rollback. */
    public int abortRelationCount() {
        return abortRelationCount;
    }

    public RelationLocator abortRelation(int i) {
        return locator(abortRelationsOffset + i * XLogLayout.LOCATOR_LENGTH);
    }

    private RelationLocator locator(int at) {
        return new RelationLocator(
                LittleEndian.getInt(bytes, at + XLogLayout.LOCATOR_TABLESPACE),
                LittleEndian.getInt(bytes, at + XLogLayout.LOCATOR_DATABASE),
                LittleEndian.getInt(bytes, at + XLogLayout.LOCATOR_RELATION));
    }

    public int invalidationCount() {
        return messageCount;
    }

    /** A catcache id if not negative, else one of the SHAREDINVAL..._ID constants. */
    public int invalidationKind(int i) {
        return bytes[messagesOffset + i * MESSAGE_LENGTH];
    }

    /** 0 for shared catalogs. Not for SHAREDINVALSMGR_ID. */
    public int invalidationDatabase(int i) {
        return LittleEndian.getInt(bytes, messagesOffset + i * MESSAGE_LENGTH + MESSAGE_DATABASE);
    }

    /**
     * SHAREDINVALRELCACHE_ID: the relation's OID, 0 for all. SHAREDINVALCATALOG_ID: the catalog's.
     * Catcache: the hash of the key.
     */
    public int invalidationObject(int i) {
        return LittleEndian.getInt(bytes, messagesOffset + i * MESSAGE_LENGTH + MESSAGE_OBJECT);
    }

    /** PREPARE only: the role that prepared the transaction. */
    public int ownerOid() {
        return ownerOid;
    }

    /** The name of the prepared transaction; empty if the record has none. */
    public String gid() {
        return new String(bytes, gidOffset, gidLength, StandardCharsets.UTF_8);
    }

    public long originLsn() {
        return originLsn;
    }

    public long originTimestampMicros() {
        return originTimestampMicros;
    }
}
