/** The product as a whole, on real servers, with kills. */
@NullMarked
package dev.walshadow.systemtests;

import org.jspecify.annotations.NullMarked;
