/**
 * The path from a source to its shadow, for tests: {@link dev.walshadow.testkit.shadow.ShadowRig}
 * wires it, {@link dev.walshadow.testkit.shadow.DdlStorm} gives it something to carry.
 */
@NullMarked
package dev.walshadow.testkit.shadow;

import org.jspecify.annotations.NullMarked;
