package dev.walshadow.source.replication;

import dev.walshadow.base.Invariant;
import dev.walshadow.source.replication.BaseBackupSink.Tablespace;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of BASE_BACKUP. The server's answer: a row (start position, timeline), rows of
 * tablespaces, CopyOut with the archives one after the other, a row (end position, timeline).
 * Source: {@code src/backend/backup/basebackup_copy.c}, PostgreSQL 15-18.
 */
final class BaseBackupReader {
    private final ReplicationConnection connection;
    private final Wire wire;
    private final MessageReader reader;

    BaseBackupReader(ReplicationConnection connection, Wire wire) {
        this.connection = connection;
        this.wire = wire;
        this.reader = wire.reader();
    }

    void run(BaseBackupOptions options, BaseBackupSink sink) throws InterruptedException {
        wire.writer().query(command(options));
        String[] start = positionRow("the backup's start");
        sink.start(connection.parseLsn(start[0]), timeline(start[1]), tablespaces());
        expect(Protocol.COPY_OUT_RESPONSE, "the backup's archives");
        readArchives(sink);
        String[] end = positionRow("the backup's end");
        connection.drainToReady();
        sink.end(connection.parseLsn(end[0]), timeline(end[1]));
    }

    private static String command(BaseBackupOptions options) {
        int rate = options.maxRateKilobytes();
        Invariant.check(
                rate == 0 || (rate >= 32 && rate <= 1 << 20), "MAX_RATE is within its limits");
        return "BASE_BACKUP (LABEL '"
                + options.label().replace("'", "''")
                + "', PROGRESS true, CHECKPOINT '"
                + (options.fastCheckpoint() ? "fast" : "spread")
                + "', WAIT false, VERIFY_CHECKSUMS false, TABLESPACE_MAP true, MANIFEST 'no'"
                + (rate == 0 ? "" : ", MAX_RATE " + rate)
                + ")";
    }

    private void expect(int type, String what) {
        int found = connection.nextMessage();
        if (found == Protocol.ERROR_RESPONSE) {
            throw ServerError.read(reader).toException("take a base backup", wire.peer());
        }
        if (found != type) {
            throw reader.unexpected(what);
        }
    }

    private String[] positionRow(String what) {
        expect(Protocol.ROW_DESCRIPTION, what);
        expect(Protocol.DATA_ROW, what);
        @Nullable String[] row = connection.readRow();
        String position = row.length >= 2 ? row[0] : null;
        String timeline = row.length >= 2 ? row[1] : null;
        if (position == null || timeline == null) {
            throw reader.notProtocol("an unreadable position of the backup");
        }
        expect(Protocol.COMMAND_COMPLETE, what);
        return new String[] {position, timeline};
    }

    private int timeline(String text) {
        try {
            return Integer.parseUnsignedInt(text);
        } catch (NumberFormatException e) {
            throw reader.notProtocol("timeline " + text);
        }
    }

    private List<Tablespace> tablespaces() {
        expect(Protocol.ROW_DESCRIPTION, "the backup's tablespaces");
        List<Tablespace> result = new ArrayList<>();
        while (true) {
            int type = connection.nextMessage();
            if (type == Protocol.COMMAND_COMPLETE) {
                return result;
            }
            if (type != Protocol.DATA_ROW) {
                throw reader.unexpected("a tablespace of the backup");
            }
            @Nullable String[] row = connection.readRow();
            if (row.length < 3) {
                throw reader.notProtocol("an unreadable tablespace");
            }
            result.add(tablespace(row[0], row[1], row[2]));
        }
    }

    private Tablespace tablespace(
            @Nullable String oid, @Nullable String path, @Nullable String kilobytes) {
        try {
            return new Tablespace(
                    oid == null ? 0 : Integer.parseUnsignedInt(oid),
                    path == null ? "" : path,
                    kilobytes == null ? -1 : Long.parseLong(kilobytes));
        } catch (NumberFormatException e) {
            throw reader.notProtocol("an unreadable tablespace");
        }
    }

    private void readArchives(BaseBackupSink sink) throws InterruptedException {
        boolean manifest = false;
        while (true) {
            int type = connection.nextMessage();
            if (type == Protocol.COPY_DONE) {
                return;
            }
            if (type == Protocol.ERROR_RESPONSE) {
                throw ServerError.read(reader).toException("take a base backup", wire.peer());
            }
            if (type != Protocol.COPY_DATA) {
                throw reader.unexpected("the backup's archives");
            }
            int kind = reader.int8();
            switch (kind) {
                case Protocol.BACKUP_ARCHIVE -> {
                    String name = reader.cString();
                    sink.archive(name, reader.cString());
                    manifest = false;
                }
                case Protocol.BACKUP_DATA -> {
                    if (!manifest) {
                        sink.data(reader.buffer(), reader.cursor(), reader.remaining());
                    }
                }
                case Protocol.BACKUP_PROGRESS -> sink.progress(reader.int64());
                case Protocol.BACKUP_MANIFEST -> manifest = true;
                default -> throw reader.notProtocol("backup data of kind " + kind);
            }
        }
    }
}
