package dev.walshadow.source.replication;

/**
 * PostgreSQL's frontend/backend protocol 3.0 as far as it is spoken here. A message is a type byte,
 * an i32 length that counts itself, and a body; the startup packets lack the type byte. Integers
 * are in network byte order. Source: {@code src/include/libpq/protocol.h}, {@code
 * src/include/libpq/pqcomm.h}, {@code doc/src/sgml/protocol.sgml}, PostgreSQL 15-18.
 *
 * <pre>
 * CopyData of WAL  'w' i64 start  i64 server end  i64 time  bytes
 * keepalive        'k' i64 server end  i64 time  u8 reply requested
 * standby status   'r' i64 write  i64 flush  i64 apply  i64 time  u8 reply requested
 * base backup      'n' cstring archive cstring path | 'd' bytes | 'p' i64 done | 'm'
 * </pre>
 */
final class Protocol {
    static final int VERSION_3_0 = 3 << 16;
    static final int SSL_REQUEST = 80877103;
    static final int TYPE_LENGTH = 1;
    static final int HEADER_LENGTH = TYPE_LENGTH + 4;

    /** No message of a server is longer: CopyData holds at most 128 KiB, history files a few. */
    static final int MESSAGE_LENGTH_LIMIT = 16 << 20;

    static final int AUTHENTICATION = 'R';
    static final int BACKEND_KEY_DATA = 'K';
    static final int PARAMETER_STATUS = 'S';
    static final int READY_FOR_QUERY = 'Z';
    static final int ERROR_RESPONSE = 'E';
    static final int NOTICE_RESPONSE = 'N';
    static final int NOTIFICATION_RESPONSE = 'A';
    static final int NEGOTIATE_VERSION = 'v';
    static final int ROW_DESCRIPTION = 'T';
    static final int DATA_ROW = 'D';
    static final int COMMAND_COMPLETE = 'C';
    static final int EMPTY_QUERY = 'I';
    static final int COPY_BOTH_RESPONSE = 'W';
    static final int COPY_OUT_RESPONSE = 'H';
    static final int COPY_DATA = 'd';
    static final int COPY_DONE = 'c';

    static final int QUERY = 'Q';
    static final int PASSWORD = 'p';
    static final int TERMINATE = 'X';

    static final int AUTH_OK = 0;
    static final int AUTH_CLEARTEXT = 3;
    static final int AUTH_MD5 = 5;
    static final int AUTH_SASL = 10;
    static final int AUTH_SASL_CONTINUE = 11;
    static final int AUTH_SASL_FINAL = 12;

    static final int WAL_DATA = 'w';
    static final int WAL_DATA_HEADER = 1 + 3 * 8;
    static final int KEEPALIVE = 'k';
    static final int KEEPALIVE_LENGTH = 1 + 2 * 8 + 1;
    static final int STANDBY_STATUS = 'r';
    static final int STANDBY_STATUS_LENGTH = 1 + 4 * 8 + 1;

    static final int BACKUP_ARCHIVE = 'n';
    static final int BACKUP_DATA = 'd';
    static final int BACKUP_PROGRESS = 'p';
    static final int BACKUP_MANIFEST = 'm';

    /** 2000-01-01 in Unix seconds: PostgreSQL's epoch. */
    static final long POSTGRES_EPOCH_SECONDS = 946_684_800L;

    private Protocol() {}
}
