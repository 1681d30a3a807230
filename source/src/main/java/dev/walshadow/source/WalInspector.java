package dev.walshadow.source;

import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.HeapRecordLayout;
import dev.walshadow.postgres.wal.RecordNames;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.RunningXactsRecord;
import dev.walshadow.postgres.wal.TransactionRecord;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.WalSegmentReader;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;

/**
 * Prints the records of one segment as pg_waldump does, with the filter's decision at the end of
 * each line. Without the segment's {@link StreamSnapshot}, the filter begins knowing nothing:
 * catalogs that were rewritten before then count as user tables.
 */
public final class WalInspector {
    private static final String[] FORKS = {"main", "fsm", "vm", "init"};
    private static final Instant POSTGRES_EPOCH = Instant.parse("2000-01-01T00:00:00Z");

    /**
     * What a segment held.
     *
     * @param bytes of the records, headers included
     * @param dropped how many of the records the shadow would not get
     * @param end why reading ended
     */
    public record Summary(
            long records, long bytes, long dropped, long endLsn, WalSegmentReader.End end) {}

    private final WalSegmentReader reader;
    private final Filter filter;
    private final TransactionRecord transaction;
    private final RunningXactsRecord running = new RunningXactsRecord();
    private final int majorVersion;

    /**
     * @throws HaltException if the bytes do not begin with a WAL page of PostgreSQL 15-18
     */
    public WalInspector(byte[] segment) {
        reader = new WalSegmentReader(segment);
        majorVersion = reader.pages().majorVersion();
        filter = new Filter(majorVersion);
        transaction = new TransactionRecord(majorVersion);
    }

    /** With the filter's state from {@code state}, which belongs to this segment. */
    public WalInspector(byte[] segment, StreamSnapshot state) {
        reader = new WalSegmentReader(segment);
        majorVersion = reader.pages().majorVersion();
        filter = state.newFilter();
        transaction = new TransactionRecord(majorVersion);
    }

    /** One line per record, then how it ended. */
    public Summary print(PrintWriter out) {
        WalRecord record = new WalRecord();
        StringBuilder line = new StringBuilder(256);
        long records = 0;
        long bytes = 0;
        long dropped = 0;
        while (reader.next(record)) {
            Decision decision = filter.decide(record);
            line.setLength(0);
            describe(record, decision, line);
            out.println(line);
            records++;
            bytes += record.length();
            dropped += decision == Decision.DROP ? 1 : 0;
        }
        return new Summary(records, bytes, dropped, reader.position(), reader.end());
    }

    /** What was wrong where reading ended, in words; empty if nothing was. */
    public String failure() {
        HaltException failure = reader.failure();
        return reader.end() == WalSegmentReader.End.DAMAGED && failure != null
                ? String.valueOf(failure.getMessage())
                : "";
    }

    private void describe(WalRecord record, Decision decision, StringBuilder line) {
        int images = 0;
        for (int i = 0; i < record.blockCount(); i++) {
            images += record.imageLength(i);
        }
        line.append(
                String.format(
                        Locale.ROOT,
                        "rmgr: %-11s len (rec/tot): %6d/%6d, tx: %10s, lsn: %s, prev %s, desc: %s",
                        ResourceManager.name(record.resourceManager()),
                        record.length() - images,
                        record.length(),
                        Integer.toUnsignedString(record.xid()),
                        position(record.lsn()),
                        position(record.previousLsn()),
                        RecordNames.name(record.resourceManager(), record.info(), majorVersion)));
        details(record, line);
        for (int i = 0; i < record.blockCount(); i++) {
            block(record, i, line);
        }
        line.append(" [").append(decision).append(']');
        CatalogBoundary boundary = filter.boundary();
        if (boundary != null) {
            line.append(" [catalog boundary, ").append(boundary.relationCount());
            line.append(" relations]");
        }
    }

    /** With a fixed width of the lower half, as pg_waldump prints it. */
    private static String position(long lsn) {
        return String.format(Locale.ROOT, "%X/%08X", lsn >>> 32, lsn & 0xFFFF_FFFFL);
    }

    private static void block(WalRecord record, int i, StringBuilder line) {
        line.append(", blkref #").append(record.blockId(i)).append(": rel ");
        line.append(Integer.toUnsignedString(record.tablespaceOid(i))).append('/');
        line.append(Integer.toUnsignedString(record.databaseOid(i))).append('/');
        line.append(Integer.toUnsignedString(record.relationNumber(i)));
        int fork = record.forkNumber(i);
        if (fork != 0) {
            line.append(" fork ").append(fork < FORKS.length ? FORKS[fork] : fork);
        }
        line.append(" blk ").append(Integer.toUnsignedString(record.blockNumber(i)));
        if (record.hasImage(i)) {
            line.append(record.imageApplies(i) ? " FPW" : " FPW for WAL verification");
        }
    }

    private void details(WalRecord record, StringBuilder line) {
        switch (record.resourceManager()) {
            case ResourceManager.HEAP, ResourceManager.HEAP2 -> heap(record, line);
            case ResourceManager.TRANSACTION -> transaction(record, line);
            case ResourceManager.STANDBY -> {
                if ((record.info() & 0xF0) == RunningXactsRecord.XLOG_RUNNING_XACTS) {
                    running.wrap(record);
                    line.append(" nextXid ").append(Integer.toUnsignedString(running.nextXid()));
                    line.append(" oldestRunningXid ");
                    line.append(Integer.toUnsignedString(running.oldestRunningXid()));
                    line.append(" xacts ").append(running.xidCount());
                }
            }
            default -> {
                // the name says enough
            }
        }
    }

    private static void heap(WalRecord record, StringBuilder line) {
        int operation = record.info() & HeapRecordLayout.XLOG_HEAP_OPMASK;
        byte[] bytes = record.buffer();
        int at = record.mainDataOffset();
        int length = record.mainDataLength();
        if (record.resourceManager() == ResourceManager.HEAP2) {
            if (operation == HeapRecordLayout.XLOG_HEAP2_MULTI_INSERT
                    && length >= HeapRecordLayout.MULTI_INSERT_LENGTH) {
                line.append(" tuples ");
                line.append(
                        LittleEndian.getUnsignedShort(
                                bytes, at + HeapRecordLayout.MULTI_INSERT_NTUPLES));
                flags(line, bytes[at + HeapRecordLayout.MULTI_INSERT_FLAGS]);
            }
            return;
        }
        switch (operation) {
            case HeapRecordLayout.XLOG_HEAP_INSERT -> {
                if (length >= HeapRecordLayout.INSERT_LENGTH) {
                    offset(line, bytes, at + HeapRecordLayout.INSERT_OFFNUM);
                    flags(line, bytes[at + HeapRecordLayout.INSERT_FLAGS]);
                }
            }
            case HeapRecordLayout.XLOG_HEAP_DELETE -> {
                if (length >= HeapRecordLayout.DELETE_LENGTH) {
                    offset(line, bytes, at + HeapRecordLayout.DELETE_OFFNUM);
                    flags(line, bytes[at + HeapRecordLayout.DELETE_FLAGS]);
                }
            }
            case HeapRecordLayout.XLOG_HEAP_UPDATE, HeapRecordLayout.XLOG_HEAP_HOT_UPDATE -> {
                if (length >= HeapRecordLayout.UPDATE_LENGTH) {
                    offset(line, bytes, at + HeapRecordLayout.UPDATE_OLD_OFFNUM);
                    flags(line, bytes[at + HeapRecordLayout.UPDATE_FLAGS]);
                    line.append(" new");
                    offset(line, bytes, at + HeapRecordLayout.UPDATE_NEW_OFFNUM);
                }
            }
            default -> {
                // the name says enough
            }
        }
    }

    private static void offset(StringBuilder line, byte[] bytes, int at) {
        line.append(" off ").append(LittleEndian.getUnsignedShort(bytes, at));
    }

    private static void flags(StringBuilder line, byte flags) {
        line.append(String.format(Locale.ROOT, " flags 0x%02X", flags & 0xFF));
    }

    private void transaction(WalRecord record, StringBuilder line) {
        transaction.wrap(record);
        if (transaction.timestampMicros() != 0) {
            line.append(' ');
            line.append(
                    POSTGRES_EPOCH.plus(Duration.ofNanos(transaction.timestampMicros() * 1000)));
        }
        if (transaction.xid() != record.xid()) {
            line.append("; xid ").append(Integer.toUnsignedString(transaction.xid()));
        }
        String gid = transaction.gid();
        if (!gid.isEmpty()) {
            line.append("; gid ").append(gid);
        }
        if (transaction.subxactCount() > 0) {
            line.append("; subxacts ").append(transaction.subxactCount());
        }
        if (transaction.relationCount() > 0) {
            line.append("; rels ").append(transaction.relationCount());
        }
        if (transaction.invalidationCount() > 0) {
            line.append("; inval msgs ").append(transaction.invalidationCount());
        }
    }

    /** One line about a summary, for people. */
    public static String sentence(Summary summary) {
        String end =
                switch (summary.end()) {
                    case SEGMENT -> "the segment ends here";
                    case UNWRITTEN -> "nothing further has been written";
                    case DAMAGED -> "the next record is damaged";
                };
        return summary.records()
                + " records, "
                + summary.bytes()
                + " bytes, "
                + summary.dropped()
                + " dropped by the filter; up to "
                + Lsn.format(summary.endLsn())
                + ", "
                + end;
    }
}
