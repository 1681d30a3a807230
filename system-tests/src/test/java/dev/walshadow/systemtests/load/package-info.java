/** The initial load while everything moves on the source. */
@NullMarked
package dev.walshadow.systemtests.load;

import org.jspecify.annotations.NullMarked;
