/** What tests of the product as a whole are built from: an installation and a load. */
@NullMarked
package dev.walshadow.testkit;

import org.jspecify.annotations.NullMarked;
