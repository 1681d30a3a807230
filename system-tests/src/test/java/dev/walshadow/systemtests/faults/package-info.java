/**
 * What happens to a running replication when something around it is damaged, taken away or
 * replaced: the message, the exit code, and the way back.
 */
@NullMarked
package dev.walshadow.systemtests.faults;

import org.jspecify.annotations.NullMarked;
