/** A ClickHouse cluster for tests. */
@NullMarked
package dev.walshadow.testkit.cluster;

import org.jspecify.annotations.NullMarked;
