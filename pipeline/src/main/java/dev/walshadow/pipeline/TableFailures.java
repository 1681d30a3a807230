package dev.walshadow.pipeline;

import dev.walshadow.base.Code;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.postgres.Lsn;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sets single tables aside: first durably on disk, then for everybody to see. Thread safe. */
final class TableFailures {
    private static final Logger log = LoggerFactory.getLogger(TableFailures.class);

    private final Quarantine quarantine;
    private final PipelineEvents events;

    TableFailures(Quarantine quarantine, PipelineEvents events) {
        this.quarantine = quarantine;
        this.events = events;
    }

    /**
     * The table's changes from {@code position} on are discarded; earlier ones still go. On return
     * that is durable, so nothing that is discarded afterwards holds the watermark.
     *
     * @param position commit position of the first change that does not arrive
     */
    void setAside(TargetTable table, Code code, String reason, long position) {
        if (table.state() == TableState.QUARANTINED && table.positionLsn() <= position) {
            return;
        }
        String told = reason.startsWith(code.toString()) ? reason : code + " " + reason;
        Quarantine.Entry entry =
                quarantine.add(
                        new Quarantine.Entry(
                                table.databaseOid(),
                                table.relationOid(),
                                table.label(),
                                position,
                                code.number(),
                                told,
                                0));
        if (table.setAside(entry.reason(), entry.positionLsn())) {
            log.error("table {} is set aside at {}: {}", table.label(), Lsn.format(position), told);
            events.quarantined(table.status());
        }
    }

    void setAside(TargetTable table, QuarantineException failure, long position) {
        setAside(table, failure.code(), String.valueOf(failure.getMessage()), position);
    }

    /** A tuple that the decoder tripped over; the stack trace goes to the log. */
    void setAside(TargetTable table, RuntimeException failure, long position, long recordLsn) {
        log.error("decoding of {} failed", table.label(), failure);
        setAside(
                table,
                PipelineCodes.DECODE_FAILED,
                "a row of "
                        + table.label()
                        + " could not be decoded (record at "
                        + Lsn.format(recordLsn)
                        + "): "
                        + failure
                        + "; please report this, then load the table anew",
                position);
    }
}
