/** Tests of the shadow, on real servers. */
@NullMarked
package dev.walshadow.shadow;

import org.jspecify.annotations.NullMarked;
