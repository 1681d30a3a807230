package dev.walshadow.postgres.wal;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.LittleEndian;

/** Makes WAL records part by part. */
final class RecordBuilder {
    private final ByteBuilder headers = new ByteBuilder(256);
    private final ByteBuilder payload = new ByteBuilder(1024);
    private byte[] mainData = new byte[0];
    private int xid = 700;
    private int manager = ResourceManager.HEAP;
    private int info;

    RecordBuilder kind(int resourceManager, int recordInfo) {
        manager = resourceManager;
        info = recordInfo;
        return this;
    }

    RecordBuilder xid(int value) {
        xid = value;
        return this;
    }

    RecordBuilder block(int id, int relation, int blockNumber, byte[] data) {
        block(id, data.length > 0 ? XLogLayout.BKPBLOCK_HAS_DATA : 0, data.length);
        locator(relation, blockNumber);
        payload.putBytes(data);
        return this;
    }

    RecordBuilder sameRelation(int id, int blockNumber) {
        block(id, XLogLayout.BKPBLOCK_SAME_REL | XLogLayout.BKPBLOCK_WILL_INIT, 0);
        headers.putInt(blockNumber);
        return this;
    }

    RecordBuilder image(
            int id, int relation, byte[] stored, int flags, int holeOffset, int holeLength) {
        block(id, XLogLayout.BKPBLOCK_HAS_IMAGE, 0);
        headers.putShort(stored.length);
        headers.putShort(holeOffset);
        headers.putByte(flags);
        if ((flags & XLogLayout.BKPIMAGE_COMPRESSED_MASK) != 0
                && (flags & XLogLayout.BKPIMAGE_HAS_HOLE) != 0) {
            headers.putShort(holeLength);
        }
        locator(relation, 9);
        payload.putBytes(stored);
        return this;
    }

    private void block(int id, int flags, int dataLength) {
        headers.putByte(id);
        headers.putByte(flags);
        headers.putShort(dataLength);
    }

    private void locator(int relation, int blockNumber) {
        headers.putInt(1663);
        headers.putInt(5);
        headers.putInt(relation);
        headers.putInt(blockNumber);
    }

    RecordBuilder origin(int id) {
        headers.putByte(XLogLayout.XLR_BLOCK_ID_ORIGIN);
        headers.putShort(id);
        return this;
    }

    RecordBuilder topLevel(int top) {
        headers.putByte(XLogLayout.XLR_BLOCK_ID_TOPLEVEL_XID);
        headers.putInt(top);
        return this;
    }

    RecordBuilder main(byte[] data) {
        mainData = data;
        return this;
    }

    byte[] build() {
        if (mainData.length > 255) {
            headers.putByte(XLogLayout.XLR_BLOCK_ID_DATA_LONG);
            headers.putInt(mainData.length);
        } else if (mainData.length > 0) {
            headers.putByte(XLogLayout.XLR_BLOCK_ID_DATA_SHORT);
            headers.putByte(mainData.length);
        }
        ByteBuilder out = new ByteBuilder(1024);
        out.putZeros(XLogLayout.RECORD_HEADER_LENGTH);
        out.putBytes(headers.toByteArray());
        out.putBytes(payload.toByteArray());
        out.putBytes(mainData);
        byte[] record = out.toByteArray();
        LittleEndian.putInt(record, XLogLayout.TOTAL_LENGTH, record.length);
        LittleEndian.putInt(record, XLogLayout.XID, xid);
        LittleEndian.putLong(record, XLogLayout.PREVIOUS, 0x1000);
        record[XLogLayout.INFO] = (byte) info;
        record[XLogLayout.RMID] = (byte) manager;
        LittleEndian.putInt(
                record, XLogLayout.CRC, new WalChecksum().compute(record, 0, record.length));
        return record;
    }

    WalRecord wrapped() {
        byte[] bytes = build();
        WalRecord record = new WalRecord();
        record.wrap(bytes, 0, bytes.length, 0x2000, 0x2000 + XLogLayout.align(bytes.length));
        return record;
    }
}
