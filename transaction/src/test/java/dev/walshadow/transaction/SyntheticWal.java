package dev.walshadow.transaction;

import static dev.walshadow.postgres.wal.HeapRecordLayout.*;
import static dev.walshadow.postgres.wal.TransactionRecordLayout.*;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import org.jspecify.annotations.Nullable;

/** Makes WAL records byte by byte, each at the position behind the one before. */
final class SyntheticWal {
    static final int DATABASE = 5;
    static final int TABLESPACE = 1663;

    private final ByteBuilder main = new ByteBuilder(64);
    private final WalRecord record = new WalRecord();
    private long nextLsn = 0x1_0000_0028L;
    private int topLevelXid;

    static RelationLocator table(int number) {
        return new RelationLocator(TABLESPACE, DATABASE, number);
    }

    /** Where the next record will start. */
    long nextLsn() {
        return nextLsn;
    }

    /** The next record names its top level. */
    SyntheticWal under(int xid) {
        topLevelXid = xid;
        return this;
    }

    WalRecord insert(
            int xid, RelationLocator table, int block, int offnum, int flags, byte[] data) {
        main.clear();
        main.putShort(offnum);
        main.putByte(flags);
        return record(ResourceManager.HEAP, XLOG_HEAP_INSERT, xid, table, block, -1, data);
    }

    WalRecord insert(int xid, RelationLocator table, byte[] data) {
        return insert(xid, table, 0, 1, XLH_INSERT_CONTAINS_NEW_TUPLE, data);
    }

    WalRecord toastChunk(int xid, RelationLocator toast, int valueId, int sequence, byte[] data) {
        return toastChunk(xid, toast, 3, new int[] {valueId, sequence}, data);
    }

    /** With an attribute too few. */
    WalRecord unreadableToastChunk(int xid, RelationLocator toast) {
        return toastChunk(xid, toast, 2, new int[] {6999, 0}, new byte[100]);
    }

    private WalRecord toastChunk(
            int xid, RelationLocator toast, int attributes, int[] place, byte[] data) {
        ByteBuilder tuple = new ByteBuilder(data.length + 32);
        tuple.putShort(attributes);
        tuple.putShort(0x0802);
        tuple.putByte(24);
        tuple.putByte(0);
        tuple.putInt(place[0]);
        tuple.putInt(place[1]);
        tuple.putInt((data.length + 4) << 2);
        tuple.putBytes(data);
        return insert(
                xid,
                toast,
                0,
                1,
                XLH_INSERT_CONTAINS_NEW_TUPLE | XLH_INSERT_ON_TOAST_RELATION,
                tuple.toByteArray());
    }

    WalRecord update(int xid, RelationLocator table, byte[] oldKey, byte[] data) {
        main.clear();
        main.putInt(xid);
        main.putShort(1);
        main.putByte(0);
        main.putByte(XLH_UPDATE_CONTAINS_NEW_TUPLE | XLH_UPDATE_CONTAINS_OLD_KEY);
        main.putInt(0);
        main.putShort(2);
        main.putBytes(oldKey);
        return record(ResourceManager.HEAP, XLOG_HEAP_UPDATE, xid, table, 8, 7, data);
    }

    WalRecord delete(int xid, RelationLocator table, int block, int offnum, int flags) {
        main.clear();
        main.putInt(xid);
        main.putShort(offnum);
        main.putByte(0);
        main.putByte(flags);
        return record(ResourceManager.HEAP, XLOG_HEAP_DELETE, xid, table, block, -1, new byte[0]);
    }

    WalRecord confirm(int xid, RelationLocator table, int block, int offnum) {
        main.clear();
        main.putShort(offnum);
        return record(ResourceManager.HEAP, XLOG_HEAP_CONFIRM, xid, table, block, -1, new byte[0]);
    }

    WalRecord multiInsert(int xid, RelationLocator table, int tuples, byte[] data) {
        main.clear();
        main.putByte(XLH_INSERT_CONTAINS_NEW_TUPLE);
        main.putByte(0);
        main.putShort(tuples);
        return record(
                ResourceManager.HEAP2,
                XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE,
                xid,
                table,
                3,
                -1,
                data);
    }

    WalRecord truncate(int xid, int database, int... relations) {
        main.clear();
        main.putInt(database);
        main.putInt(relations.length);
        main.putInt(0);
        for (int relation : relations) {
            main.putInt(relation);
        }
        return record(ResourceManager.HEAP, XLOG_HEAP_TRUNCATE, xid, null, 0, -1, new byte[0]);
    }

    WalRecord lock(int xid, RelationLocator table) {
        main.clear();
        main.putZeros(LOCK_LENGTH);
        return record(ResourceManager.HEAP, XLOG_HEAP_LOCK, xid, table, 0, -1, new byte[0]);
    }

    WalRecord commit(int xid, int... subtransactions) {
        return end(XLOG_XACT_COMMIT, xid, 0, subtransactions);
    }

    WalRecord abort(int xid, int... subtransactions) {
        return end(XLOG_XACT_ABORT, xid, 0, subtransactions);
    }

    WalRecord commitPrepared(int xid, int... subtransactions) {
        return end(XLOG_XACT_COMMIT_PREPARED, 0, xid, subtransactions);
    }

    WalRecord rollbackPrepared(int xid, int... subtransactions) {
        return end(XLOG_XACT_ABORT_PREPARED, 0, xid, subtransactions);
    }

    private WalRecord end(int operation, int xid, int preparedXid, int... subtransactions) {
        int xinfo = XACT_XINFO_HAS_DBINFO;
        xinfo |= subtransactions.length > 0 ? XACT_XINFO_HAS_SUBXACTS : 0;
        xinfo |= preparedXid != 0 ? XACT_XINFO_HAS_TWOPHASE : 0;
        main.clear();
        main.putLong(nextLsn * 10); // the time of the end, told from the position
        main.putInt(xinfo);
        main.putInt(DATABASE);
        main.putInt(TABLESPACE);
        if (subtransactions.length > 0) {
            main.putInt(subtransactions.length);
            putAll(subtransactions);
        }
        if (preparedXid != 0) {
            main.putInt(preparedXid);
        }
        return record(ResourceManager.TRANSACTION, operation | XLOG_XACT_HAS_INFO, xid);
    }

    WalRecord prepare(int xid, int... subtransactions) {
        main.clear();
        main.putInt(0x57F9_4534);
        main.putInt(0);
        main.putInt(xid);
        main.putInt(DATABASE);
        main.putLong(nextLsn);
        main.putInt(10);
        main.putInt(subtransactions.length);
        main.putZeros(20);
        main.putByte(0);
        main.putByte(0);
        main.putShort(4);
        main.putLong(0);
        main.putLong(0);
        main.putBytes(new byte[] {'g', 'i', 'd', 0, 0, 0, 0, 0});
        putAll(subtransactions);
        main.putZeros(XLogLayout.align(main.length()) - main.length());
        return record(ResourceManager.TRANSACTION, XLOG_XACT_PREPARE, xid);
    }

    WalRecord assignment(int topLevel, int... subtransactions) {
        main.clear();
        main.putInt(topLevel);
        main.putInt(subtransactions.length);
        putAll(subtransactions);
        return record(ResourceManager.TRANSACTION, XLOG_XACT_ASSIGNMENT, topLevel);
    }

    WalRecord runningXacts(int nextXid, int oldestRunning, int... xids) {
        main.clear();
        main.putInt(xids.length);
        main.putInt(0);
        main.putInt(0);
        main.putInt(nextXid);
        main.putInt(oldestRunning);
        main.putInt(nextXid - 1);
        putAll(xids);
        return record(ResourceManager.STANDBY, RunningXactsRecord.XLOG_RUNNING_XACTS, 0);
    }

    WalRecord shutdownCheckpoint() {
        main.clear();
        main.putZeros(88);
        return record(ResourceManager.XLOG, XLogLayout.XLOG_CHECKPOINT_SHUTDOWN, 0);
    }

    WalRecord endOfRecovery() {
        main.clear();
        main.putZeros(24);
        return record(ResourceManager.XLOG, XLogLayout.XLOG_END_OF_RECOVERY, 0);
    }

    WalRecord parameterChange(int walLevel) {
        main.clear();
        main.putZeros(20);
        main.putInt(walLevel);
        main.putZeros(4);
        return record(ResourceManager.XLOG, XLogLayout.XLOG_PARAMETER_CHANGE, 0);
    }

    private void putAll(int[] values) {
        for (int value : values) {
            main.putInt(value);
        }
    }

    private WalRecord record(int resourceManager, int info, int xid) {
        return record(resourceManager, info, xid, null, 0, -1, new byte[0]);
    }

    /**
     * @param block1 a second block of the same relation, -1 for none
     */
    private WalRecord record(
            int resourceManager,
            int info,
            int xid,
            @Nullable RelationLocator table,
            int block0,
            int block1,
            byte[] data) {
        ByteBuilder out = new ByteBuilder(data.length + main.length() + 128);
        out.putZeros(XLogLayout.RECORD_HEADER_LENGTH);
        // a block's data is at most 64 KB: what is longer goes to the main data in these tests
        int blockData = table == null ? 0 : Math.min(data.length, 0xFFFF);
        int mainLength = main.length() + (data.length - blockData);
        if (table != null) {
            out.putByte(0);
            out.putByte(blockData > 0 ? XLogLayout.BKPBLOCK_HAS_DATA : 0);
            out.putShort(blockData);
            out.putInt(table.tablespaceOid());
            out.putInt(table.databaseOid());
            out.putInt(table.relationNumber());
            out.putInt(block0);
            if (block1 >= 0) {
                out.putByte(1);
                out.putByte(XLogLayout.BKPBLOCK_SAME_REL);
                out.putShort(0);
                out.putInt(block1);
            }
        }
        if (topLevelXid != 0) {
            out.putByte(XLogLayout.XLR_BLOCK_ID_TOPLEVEL_XID);
            out.putInt(topLevelXid);
            topLevelXid = 0;
        }
        out.putByte(XLogLayout.XLR_BLOCK_ID_DATA_LONG);
        out.putInt(mainLength);
        out.putBytes(data, 0, blockData);
        out.putBytes(main.array(), 0, main.length());
        out.putBytes(data, blockData, data.length - blockData);
        byte[] bytes = out.array();
        LittleEndian.putInt(bytes, XLogLayout.TOTAL_LENGTH, out.length());
        LittleEndian.putInt(bytes, XLogLayout.XID, xid);
        bytes[XLogLayout.INFO] = (byte) info;
        bytes[XLogLayout.RMID] = (byte) resourceManager;
        long lsn = nextLsn;
        nextLsn += XLogLayout.align(out.length());
        record.wrap(bytes, 0, out.length(), lsn, nextLsn);
        return record;
    }
}
