package dev.walshadow.pipeline;

/**
 * A key whose newest version is looked up.
 *
 * @param literal the key in SQL
 * @param high commit position of the first row that asks
 * @param low low half of its version
 * @param needed true if that row takes values from there and no row before it in the window is of
 *     this key
 */
record WantedKey(String literal, long high, long low, boolean needed) {}
