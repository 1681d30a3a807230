package dev.walshadow.source.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.ReconnectException;
import dev.walshadow.base.RetryException;
import dev.walshadow.base.WalshadowException;
import org.jspecify.annotations.Nullable;

/**
 * An ErrorResponse or NoticeResponse. What to do about an error is decided by its SQLSTATE alone:
 * texts depend on the server's language.
 */
record ServerError(String severity, String sqlState, String message, String detail, String hint) {
    static ServerError read(MessageReader reader) {
        String severity = "";
        String sqlState = "";
        String message = "";
        String detail = "";
        String hint = "";
        while (reader.remaining() > 0) {
            int field = reader.int8();
            if (field == 0) {
                break;
            }
            String value = reader.cString();
            switch (field) {
                case 'V' -> severity = value;
                case 'C' -> sqlState = value;
                case 'M' -> message = value;
                case 'D' -> detail = value;
                case 'H' -> hint = value;
                default -> {}
            }
        }
        return new ServerError(severity, sqlState, message, detail, hint);
    }

    String text() {
        StringBuilder text = new StringBuilder(message);
        if (!detail.isEmpty()) {
            text.append("; ").append(detail);
        }
        return text.append(" (SQLSTATE ").append(sqlState).append(')').toString();
    }

    /**
     * @param doing what was asked, as "cannot ..."
     * @param peer the server
     */
    WalshadowException toException(String doing, String peer) {
        String found = "cannot " + doing + " at " + peer + ": " + text();
        WalshadowException aboutSlot = doing.contains(" slot ") ? slotException(found) : null;
        return aboutSlot != null ? aboutSlot : generalException(found);
    }

    private @Nullable WalshadowException slotException(String found) {
        return switch (sqlState) {
            case "42704" ->
                    new ConfigurationException(
                            ReplicationCodes.SLOT_MISSING,
                            found + ". Create it with pg_create_physical_replication_slot");
            case "55006" -> new RetryException(ReplicationCodes.SLOT_ACTIVE, found);
            case "55000", "0A000" ->
                    new ConfigurationException(
                            ReplicationCodes.SLOT_UNUSABLE,
                            found + ". Drop the slot or choose another name in [source] slot");
            default -> null;
        };
    }

    private WalshadowException generalException(String found) {
        return switch (sqlState) {
            case "28P01" ->
                    new ConfigurationException(
                            ReplicationCodes.WRONG_PASSWORD,
                            found
                                    + ". Check the password in the connection setting, PGPASSWORD"
                                    + " or the password file");
            case "28000" ->
                    new ConfigurationException(
                            ReplicationCodes.NOT_ADMITTED,
                            found
                                    + ". The role must exist and pg_hba.conf must admit it from"
                                    + " this host, for its database and for \"replication\"");
            case "42501" ->
                    new ConfigurationException(
                            ReplicationCodes.NOT_ADMITTED,
                            found + ". Run ALTER ROLE ... REPLICATION on the source");
            case "53300", "53400", "57P01", "57P02", "57P03", "57P05" ->
                    new ReconnectException(ReplicationCodes.SERVER_NOT_READY, found);
            case "58P01" ->
                    new HaltException(
                            ReplicationCodes.WAL_REMOVED,
                            found
                                    + ". The source no longer has this WAL: the slot was dropped"
                                    + " or exceeded max_slot_wal_keep_size. Restore the segment"
                                    + " into the source's pg_wal, or load anew");
            default ->
                    sqlState.startsWith("08")
                            ? new ReconnectException(ReplicationCodes.CONNECTION_LOST, found)
                            : new RetryException(ReplicationCodes.SERVER_ERROR, found);
        };
    }
}
