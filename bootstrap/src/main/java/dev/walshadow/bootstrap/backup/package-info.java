/**
 * Streams a base backup: tar archives to files, files to where they belong. Catalog and system
 * files become the shadow's data directory, heap files of user relations go to a {@link
 * dev.walshadow.bootstrap.HeapFileSink}, everything else is dropped unread. Also the markers that
 * tell a complete shadow from a half-laid one. Knows no tuple and no ClickHouse.
 */
@NullMarked
package dev.walshadow.bootstrap.backup;

import org.jspecify.annotations.NullMarked;
