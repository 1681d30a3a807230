package dev.walshadow.postgres.wal;

/**
 * Payloads of the heap resource managers.
 *
 * <pre>
 * xl_heap_header        0 u16 t_infomask2  2 u16 t_infomask  4 u8 t_hoff           length 5
 * xl_heap_insert        0 u16 offnum  2 u8 flags                                   length 3
 *   block 0 data: xl_heap_header, bitmap, padding, tuple data
 * xl_heap_delete        0 u32 xmax  4 u16 offnum  6 u8 infobits_set  7 u8 flags    length 8
 *   then, if CONTAINS_OLD: xl_heap_header and the old tuple or key (main data)
 * xl_heap_update        0 u32 old_xmax  4 u16 old_offnum  6 u8 old_infobits_set  7 u8 flags
 *                       8 u32 new_xmax  12 u16 new_offnum                          length 14
 *   block 0 (new page) data: [u16 prefix] [u16 suffix] xl_heap_header, tuple data
 *   then, if CONTAINS_OLD: xl_heap_header and the old tuple or key (main data)
 *   block 1: the old page, if it is another one
 * xl_heap_multi_insert  0 u8 flags  2 u16 ntuples  4 u16 offsets[] (none with INIT_PAGE)
 *   block 0 data: per tuple, 2-byte aligned: xl_multi_insert_tuple and tuple data
 * xl_multi_insert_tuple 0 u16 datalen  2 u16 t_infomask2  4 u16 t_infomask  6 u8 t_hoff  length 7
 * xl_heap_truncate      0 u32 dbId  4 u32 nrelids  8 u8 flags  12 u32 relids[]
 * xl_heap_lock          0 u32 xmax  4 u16 offnum  6 u8 infobits_set  7 u8 flags    length 8
 * xl_heap_confirm       0 u16 offnum                                               length 2
 * xl_heap_inplace       0 u16 offnum; 18 adds dbId, tsId, init-file flag, messages
 * </pre>
 *
 * Source: {@code src/include/access/heapam_xlog.h}, PostgreSQL 15-18. 17 merged PRUNE, VACUUM and
 * FREEZE_PAGE (0x10, 0x20, 0x30) into one format under the same numbers.
 */
public final class HeapRecordLayout {
    // Info values of ResourceManager.HEAP
    public static final int XLOG_HEAP_INSERT = 0x00;
    public static final int XLOG_HEAP_DELETE = 0x10;
    public static final int XLOG_HEAP_UPDATE = 0x20;
    public static final int XLOG_HEAP_TRUNCATE = 0x30;
    public static final int XLOG_HEAP_HOT_UPDATE = 0x40;
    public static final int XLOG_HEAP_CONFIRM = 0x50;
    public static final int XLOG_HEAP_LOCK = 0x60;
    public static final int XLOG_HEAP_INPLACE = 0x70;
    public static final int XLOG_HEAP_OPMASK = 0x70;
    public static final int XLOG_HEAP_INIT_PAGE = 0x80;

    // Info values of ResourceManager.HEAP2
    public static final int XLOG_HEAP2_REWRITE = 0x00;

    /** 17+: PRUNE_ON_ACCESS. */
    public static final int XLOG_HEAP2_PRUNE = 0x10;

    /** 17+: PRUNE_VACUUM_SCAN. */
    public static final int XLOG_HEAP2_VACUUM = 0x20;

    /** 17+: PRUNE_VACUUM_CLEANUP. */
    public static final int XLOG_HEAP2_FREEZE_PAGE = 0x30;

    public static final int XLOG_HEAP2_VISIBLE = 0x40;
    public static final int XLOG_HEAP2_MULTI_INSERT = 0x50;
    public static final int XLOG_HEAP2_LOCK_UPDATED = 0x60;
    public static final int XLOG_HEAP2_NEW_CID = 0x70;

    // xl_heap_insert and xl_heap_multi_insert flags
    public static final int XLH_INSERT_ALL_VISIBLE_CLEARED = 1;
    public static final int XLH_INSERT_LAST_IN_MULTI = 1 << 1;
    public static final int XLH_INSERT_IS_SPECULATIVE = 1 << 2;
    public static final int XLH_INSERT_CONTAINS_NEW_TUPLE = 1 << 3;
    public static final int XLH_INSERT_ON_TOAST_RELATION = 1 << 4;
    public static final int XLH_INSERT_ALL_FROZEN_SET = 1 << 5;

    // xl_heap_update flags
    public static final int XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED = 1;
    public static final int XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED = 1 << 1;
    public static final int XLH_UPDATE_CONTAINS_OLD_TUPLE = 1 << 2;
    public static final int XLH_UPDATE_CONTAINS_OLD_KEY = 1 << 3;
    public static final int XLH_UPDATE_CONTAINS_NEW_TUPLE = 1 << 4;
    public static final int XLH_UPDATE_PREFIX_FROM_OLD = 1 << 5;
    public static final int XLH_UPDATE_SUFFIX_FROM_OLD = 1 << 6;
    public static final int XLH_UPDATE_CONTAINS_OLD =
            XLH_UPDATE_CONTAINS_OLD_TUPLE | XLH_UPDATE_CONTAINS_OLD_KEY;

    // xl_heap_delete flags
    public static final int XLH_DELETE_ALL_VISIBLE_CLEARED = 1;
    public static final int XLH_DELETE_CONTAINS_OLD_TUPLE = 1 << 1;
    public static final int XLH_DELETE_CONTAINS_OLD_KEY = 1 << 2;
    public static final int XLH_DELETE_IS_SUPER = 1 << 3;
    public static final int XLH_DELETE_IS_PARTITION_MOVE = 1 << 4;
    public static final int XLH_DELETE_CONTAINS_OLD =
            XLH_DELETE_CONTAINS_OLD_TUPLE | XLH_DELETE_CONTAINS_OLD_KEY;

    // xl_heap_truncate flags
    public static final int XLH_TRUNCATE_CASCADE = 1;
    public static final int XLH_TRUNCATE_RESTART_SEQS = 1 << 1;

    public static final int HEADER_INFOMASK2 = 0;
    public static final int HEADER_INFOMASK = 2;
    public static final int HEADER_HOFF = 4;
    public static final int HEADER_LENGTH = 5;

    public static final int INSERT_OFFNUM = 0;
    public static final int INSERT_FLAGS = 2;
    public static final int INSERT_LENGTH = 3;

    public static final int DELETE_XMAX = 0;
    public static final int DELETE_OFFNUM = 4;
    public static final int DELETE_INFOBITS = 6;
    public static final int DELETE_FLAGS = 7;
    public static final int DELETE_LENGTH = 8;

    public static final int UPDATE_OLD_XMAX = 0;
    public static final int UPDATE_OLD_OFFNUM = 4;
    public static final int UPDATE_OLD_INFOBITS = 6;
    public static final int UPDATE_FLAGS = 7;
    public static final int UPDATE_NEW_XMAX = 8;
    public static final int UPDATE_NEW_OFFNUM = 12;
    public static final int UPDATE_LENGTH = 14;

    public static final int MULTI_INSERT_FLAGS = 0;
    public static final int MULTI_INSERT_NTUPLES = 2;
    public static final int MULTI_INSERT_OFFSETS = 4;
    public static final int MULTI_INSERT_LENGTH = 4;

    public static final int MULTI_TUPLE_DATALEN = 0;
    public static final int MULTI_TUPLE_INFOMASK2 = 2;
    public static final int MULTI_TUPLE_INFOMASK = 4;
    public static final int MULTI_TUPLE_HOFF = 6;
    public static final int MULTI_TUPLE_LENGTH = 7;

    public static final int TRUNCATE_DATABASE = 0;
    public static final int TRUNCATE_COUNT = 4;
    public static final int TRUNCATE_FLAGS = 8;
    public static final int TRUNCATE_RELATIONS = 12;

    public static final int LOCK_XMAX = 0;
    public static final int LOCK_OFFNUM = 4;
    public static final int LOCK_INFOBITS = 6;
    public static final int LOCK_FLAGS = 7;
    public static final int LOCK_LENGTH = 8;

    public static final int CONFIRM_OFFNUM = 0;
    public static final int CONFIRM_LENGTH = 2;
    public static final int INPLACE_OFFNUM = 0;
    public static final int INPLACE_LENGTH = 2;

    private HeapRecordLayout() {}
}
