package dev.walshadow.source.replication;

/**
 * Answer of IDENTIFY_SYSTEM.
 *
 * @param systemIdentifier unsigned; unique per initdb
 * @param timeline the current timeline
 * @param flushLsn how far the server's WAL is flushed
 */
public record SystemIdentity(long systemIdentifier, int timeline, long flushLsn) {}
