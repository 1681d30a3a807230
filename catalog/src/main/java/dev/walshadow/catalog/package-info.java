/**
 * Relation descriptors and the descriptor log: which shape a relation had at which WAL position.
 * Pure (I13): reads no server; whoever captures a catalog hands descriptors in.
 */
@NullMarked
package dev.walshadow.catalog;

import org.jspecify.annotations.NullMarked;
