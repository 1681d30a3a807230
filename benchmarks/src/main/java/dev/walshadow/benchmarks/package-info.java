/**
 * JMH benchmarks of the hot paths, and the end-to-end harness. Figures and commands: {@code
 * docs/benchmarks.md}.
 */
@NullMarked
package dev.walshadow.benchmarks;

import org.jspecify.annotations.NullMarked;
