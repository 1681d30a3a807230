/** Every kind of transaction that PostgreSQL can commit, through the whole daemon. */
@NullMarked
package dev.walshadow.systemtests.transaction;

import org.jspecify.annotations.NullMarked;
