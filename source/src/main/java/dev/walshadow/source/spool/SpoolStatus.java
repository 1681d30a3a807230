package dev.walshadow.source.spool;

/**
 * @param state {@code off}, {@code open}, {@code full} (nothing is taken over), {@code failed}
 *     (nothing is made durable) or {@code draining} (switched off, what is left is being read)
 * @param reason why it takes nothing over; empty if it does
 * @param end position behind the last byte
 * @param durable how far the source may forget its WAL because of the spool; 0: not at all
 */
public record SpoolStatus(
        String state, String reason, long bytes, long bytesLimit, long end, long durable) {
    public long headroomBytes() {
        return Math.max(0, bytesLimit - bytes);
    }
}
