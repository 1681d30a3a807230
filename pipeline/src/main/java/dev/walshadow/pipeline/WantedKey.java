package dev.walshadow.pipeline;

/**
 * A key whose newest version is looked up.
 *
 * @param literal the key in SQL
 * @param high commit position of the first row that asks
 * @param low low half of its version
 * @param needed true if that row takes values from there and no row before it in the window is of
 *     this key
 * @param tid where that row lies in the source's heap
 * @param xid the (sub)transaction that put it there
 */
record WantedKey(String literal, long high, long low, boolean needed, long tid, int xid) {}
