package dev.walshadow.transaction;

import org.jspecify.annotations.Nullable;

/** Open transactions, linked in the order of their first records; so the first is the floor. */
final class OpenTransactionList {
    private @Nullable OpenTransaction first;
    private @Nullable OpenTransaction last;

    @Nullable OpenTransaction first() {
        return first;
    }

    void add(OpenTransaction transaction) {
        OpenTransaction before = last;
        transaction.previous = before;
        if (before == null) {
            first = transaction;
        } else {
            before.next = transaction;
        }
        last = transaction;
    }

    void remove(OpenTransaction transaction) {
        OpenTransaction before = transaction.previous;
        OpenTransaction after = transaction.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        transaction.previous = null;
        transaction.next = null;
    }

    /** The one that holds most memory; null if none holds any. */
    @Nullable OpenTransaction largest() {
        OpenTransaction largest = null;
        long most = 0;
        for (OpenTransaction each = first; each != null; each = each.next) {
            if (each.arena().bytesInMemory() > most) {
                most = each.arena().bytesInMemory();
                largest = each;
            }
        }
        return largest;
    }
}
