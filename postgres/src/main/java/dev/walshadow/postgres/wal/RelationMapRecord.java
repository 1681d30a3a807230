package dev.walshadow.postgres.wal;

import dev.walshadow.base.LittleEndian;

/**
 * View over {@code XLOG_RELMAP_UPDATE}: the whole new map of one database, or the shared one.
 * Reused.
 *
 * <pre>
 * xl_relmap_update  0 u32 dbid (0 shared)  4 u32 tsid  8 i32 nbytes  12 RelMapFile
 * RelMapFile        0 u32 magic 0x592717   4 i32 num_mappings
 *                   8 { u32 mapoid, u32 mapfilenumber } * 62 (15) or 64 (16-18), crc
 * </pre>
 *
 * Source: {@code src/include/utils/relmapper.h}, {@code src/backend/utils/cache/relmapper.c},
 * PostgreSQL 15-18.
 */
public final class RelationMapRecord {
    private static final int TABLESPACE = 4;
    private static final int BYTES = 8;
    private static final int FILE = 12;
    private static final int FILE_COUNT = 4;
    private static final int FILE_MAPPINGS = 8;
    private static final int MAPPING_LENGTH = 8;
    private static final int MAGIC = 0x592717;

    private byte[] bytes = new byte[0];
    private int start;
    private int count;

    public void wrap(WalRecord record) {
        bytes = record.buffer();
        start = record.mainDataOffset();
        int length = record.mainDataLength();
        if (length < FILE + FILE_MAPPINGS) {
            throw record.corrupt("a relation map is cut off");
        }
        int fileBytes = LittleEndian.getInt(bytes, start + BYTES);
        count = LittleEndian.getInt(bytes, start + FILE + FILE_COUNT);
        if (LittleEndian.getInt(bytes, start + FILE) != MAGIC
                || fileBytes < 0
                || fileBytes > length - FILE
                || count < 0
                || (long) count * MAPPING_LENGTH > fileBytes - FILE_MAPPINGS) {
            throw record.corrupt("a relation map of " + count + " mappings does not fit");
        }
    }

    /** 0 for the map of shared catalogs. */
    public int databaseOid() {
        return LittleEndian.getInt(bytes, start);
    }

    /** The database's default tablespace. */
    public int tablespaceOid() {
        return LittleEndian.getInt(bytes, start + TABLESPACE);
    }

    public int count() {
        return count;
    }

    public int catalogOid(int i) {
        return LittleEndian.getInt(bytes, start + FILE + FILE_MAPPINGS + i * MAPPING_LENGTH);
    }

    public int relationNumber(int i) {
        return LittleEndian.getInt(bytes, start + FILE + FILE_MAPPINGS + i * MAPPING_LENGTH + 4);
    }
}
