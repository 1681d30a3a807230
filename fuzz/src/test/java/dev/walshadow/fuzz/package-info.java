/**
 * Fuzz targets for every parser of foreign bytes. In the normal build they run their seeds
 * (regression mode); {@code JAZZER_FUZZ=1} searches. A target fails on anything but the typed
 * failure of its parser.
 */
@NullMarked
package dev.walshadow.fuzz;

import org.jspecify.annotations.NullMarked;
