/**
 * The first load, in one pass over one base backup: {@code backup} streams it, lays the shadow's
 * data directory and hands on the heap files of user relations; {@code load} turns those into
 * baseline rows. The seam between the two is here: {@link dev.walshadow.bootstrap.HeapFileSink}.
 */
@NullMarked
package dev.walshadow.bootstrap;

import org.jspecify.annotations.NullMarked;
