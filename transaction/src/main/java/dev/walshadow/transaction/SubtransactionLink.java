package dev.walshadow.transaction;

/**
 * A subtransaction that named its top level.
 *
 * @param position nothing in the arena before it was written by the subtransaction
 */
record SubtransactionLink(OpenTransaction topLevel, long position) {}
