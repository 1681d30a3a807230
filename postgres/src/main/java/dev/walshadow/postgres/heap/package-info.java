/**
 * Heap pages and heap tuples: page headers and line pointers ({@link
 * dev.walshadow.postgres.heap.HeapPage}), the three shapes in which a tuple occurs ({@link
 * dev.walshadow.postgres.heap.TupleView}) and the walk over a tuple's attributes ({@link
 * dev.walshadow.postgres.heap.AttributeWalker}). Flyweights over foreign bytes: whatever the bytes
 * are, the answer is a value or a {@link dev.walshadow.base.QuarantineException}. Knows no catalog:
 * shapes come in as lengths and alignments.
 */
@NullMarked
package dev.walshadow.postgres.heap;

import org.jspecify.annotations.NullMarked;
