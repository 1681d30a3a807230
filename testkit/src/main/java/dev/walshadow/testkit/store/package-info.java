/** Buckets as backup tools fill them, and a server for them. */
@NullMarked
package dev.walshadow.testkit.store;

import org.jspecify.annotations.NullMarked;
