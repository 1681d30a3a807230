package dev.walshadow.postgres.heap;

/**
 * The heap tuple header in its three shapes and its flag bits, under PostgreSQL's own names.
 *
 * <pre>
 * page shape, HeapTupleHeaderData        WAL shape, xl_heap_header    multi, xl_multi_insert_tuple
 *  0 u32 t_xmin                           0 u16 t_infomask2            0 u16 datalen (2-aligned)
 *  4 u32 t_xmax                           2 u16 t_infomask             2 u16 t_infomask2
 *  8 u32 t_cid / t_xvac                   4 u8  t_hoff                 4 u16 t_infomask
 * 12 u16 t_ctid block, high half          5 ..  bitmap, padding,       6 u8  t_hoff
 * 14 u16 t_ctid block, low half                 data: the page         7 ..  datalen bytes: bitmap,
 * 16 u16 t_ctid offset number                   shape's bytes                padding, data
 * 18 u16 t_infomask2                            from 23 on
 * 20 u16 t_infomask
 * 22 u8  t_hoff: where the data starts, counted from byte 0 of the page shape, 8-aligned
 * 23 ..  null bitmap (1 = present) if HEAP_HASNULL, padding, data
 * </pre>
 *
 * Source: {@code src/include/access/htup_details.h}, {@code src/include/access/heapam_xlog.h},
 * PostgreSQL 15-18, unchanged between them.
 */
public final class HeapTupleLayout {
    public static final int T_XMIN = 0;
    public static final int T_XMAX = T_XMIN + 4;
    public static final int T_CID = T_XMAX + 4;
    public static final int T_CTID_BLOCK_HIGH = T_CID + 4;
    public static final int T_CTID_BLOCK_LOW = T_CTID_BLOCK_HIGH + 2;
    public static final int T_CTID_OFFSET = T_CTID_BLOCK_LOW + 2;
    public static final int T_INFOMASK2 = T_CTID_OFFSET + 2;
    public static final int T_INFOMASK = T_INFOMASK2 + 2;
    public static final int T_HOFF = T_INFOMASK + 2;
    public static final int T_BITS = T_HOFF + 1;

    /** SizeofHeapTupleHeader. */
    public static final int LENGTH = T_BITS;

    public static final int XL_INFOMASK2 = 0;
    public static final int XL_INFOMASK = XL_INFOMASK2 + 2;
    public static final int XL_HOFF = XL_INFOMASK + 2;

    /** SizeOfHeapHeader. */
    public static final int XL_LENGTH = XL_HOFF + 1;

    public static final int MULTI_DATALEN = 0;
    public static final int MULTI_INFOMASK2 = MULTI_DATALEN + 2;
    public static final int MULTI_INFOMASK = MULTI_INFOMASK2 + 2;
    public static final int MULTI_HOFF = MULTI_INFOMASK + 2;

    /** SizeOfMultiInsertTuple. */
    public static final int MULTI_LENGTH = MULTI_HOFF + 1;

    /** MaxTupleAttributeNumber. */
    public static final int MAX_ATTRIBUTES = 1664;

    public static final int HEAP_HASNULL = 0x0001;
    public static final int HEAP_HASVARWIDTH = 0x0002;
    public static final int HEAP_HASEXTERNAL = 0x0004;
    public static final int HEAP_XMAX_KEYSHR_LOCK = 0x0010;
    public static final int HEAP_COMBOCID = 0x0020;
    public static final int HEAP_XMAX_EXCL_LOCK = 0x0040;
    public static final int HEAP_XMAX_LOCK_ONLY = 0x0080;
    public static final int HEAP_XMAX_SHR_LOCK = HEAP_XMAX_EXCL_LOCK | HEAP_XMAX_KEYSHR_LOCK;
    public static final int HEAP_LOCK_MASK = HEAP_XMAX_SHR_LOCK;
    public static final int HEAP_XMIN_COMMITTED = 0x0100;
    public static final int HEAP_XMIN_INVALID = 0x0200;
    public static final int HEAP_XMIN_FROZEN = HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID;
    public static final int HEAP_XMAX_COMMITTED = 0x0400;
    public static final int HEAP_XMAX_INVALID = 0x0800;
    public static final int HEAP_XMAX_IS_MULTI = 0x1000;
    public static final int HEAP_UPDATED = 0x2000;

    /** In t_infomask2. */
    public static final int HEAP_NATTS_MASK = 0x07FF;

    public static final int HEAP_KEYS_UPDATED = 0x2000;
    public static final int HEAP_HOT_UPDATED = 0x4000;
    public static final int HEAP_ONLY_TUPLE = 0x8000;

    /** In t_ctid's offset: the tuple is a speculative insertion that was not completed. */
    public static final int SPEC_TOKEN_OFFSET = 0xFFFE;

    private HeapTupleLayout() {}
}
