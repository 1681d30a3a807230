package dev.walshadow.bootstrap.backup;

import dev.walshadow.postgres.RelationLocator;

/** Where an entry of the backup goes. */
public sealed interface Route {
    /** Not wanted, drained unread. */
    record Skip() implements Route {}

    /**
     * To this path under the shadow's data directory.
     *
     * @param path with forward slashes
     */
    record Keep(String path) implements Route {}

    /** A segment of a user relation's main fork, offered to the heap file sink. */
    record Heap(RelationLocator locator, int segmentNumber) implements Route {}

    /** The only instance that is needed. */
    Skip SKIP = new Skip();
}
