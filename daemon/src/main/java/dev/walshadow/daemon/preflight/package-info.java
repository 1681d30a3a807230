/**
 * What is checked before anything is changed: the source, the target, the tables that are selected.
 * All findings are reported at once, each with its remedy.
 */
@NullMarked
package dev.walshadow.daemon.preflight;

import org.jspecify.annotations.NullMarked;
