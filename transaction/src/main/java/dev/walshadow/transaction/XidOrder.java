package dev.walshadow.transaction;

/**
 * PostgreSQL's order of 32-bit transaction ids, which wrap around. Source: {@code
 * src/backend/access/transam/transam.c}, PostgreSQL 15-18.
 */
final class XidOrder {
    private static final int FIRST_NORMAL = 3;

    private XidOrder() {}

    /** TransactionIdPrecedes. */
    static boolean precedes(int left, int right) {
        if (!isNormal(left) || !isNormal(right)) {
            return Integer.compareUnsigned(left, right) < 0;
        }
        return left - right < 0;
    }

    private static boolean isNormal(int xid) {
        return Integer.compareUnsigned(xid, FIRST_NORMAL) >= 0;
    }
}
