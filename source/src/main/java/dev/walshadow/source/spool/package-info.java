/**
 * The local spool of the source's WAL: a bounded store on disk ({@link
 * dev.walshadow.source.spool.WalSpool}) that a WAL source runs through ({@link
 * dev.walshadow.source.spool.SpooledWalSource}), so that the source may recycle WAL that is still
 * needed here. Knows WAL positions and segments, no records. Design and reasons: {@code
 * docs/spool.md}.
 */
@NullMarked
package dev.walshadow.source.spool;

import org.jspecify.annotations.NullMarked;
