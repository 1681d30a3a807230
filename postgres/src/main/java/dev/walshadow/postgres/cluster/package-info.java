/**
 * Files of a PostgreSQL data directory outside the relations: {@code global/pg_control}, the commit
 * log in {@code pg_xact}, the members of multixacts in {@code pg_multixact}, {@code backup_label}.
 * Parses bytes or files it is given; starts nothing.
 */
@NullMarked
package dev.walshadow.postgres.cluster;

import org.jspecify.annotations.NullMarked;
