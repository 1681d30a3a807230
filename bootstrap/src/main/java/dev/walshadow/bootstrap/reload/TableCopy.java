package dev.walshadow.bootstrap.reload;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.Invariant;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.bootstrap.load.BaselineChunk;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.postgres.value.SendForm;
import dev.walshadow.transaction.BaselineRecords;
import java.sql.SQLException;
import java.util.List;
import org.postgresql.copy.CopyOut;

/** Reads one COPY to its end and hands its rows on in chunks. Used once, by one thread. */
final class TableCopy {
    private static final int CTID_LENGTH = 6;

    /** As in a base backup: below any record's LSN. */
    private static final long RECORD_LSN = 0;

    /**
     * The descriptor's record headers, alignment and null bitmaps may add to a row's sent bytes.
     */
    private static final int ROW_OVERHEAD = 512;

    private final RelationDescriptor table;
    private final List<Integer> keys;
    private final ValueLimit limit;

    /** The number of the first column whose value is beyond the limit, else 0. */
    private final int oversizedField;

    private final RelationLocator locator;
    private final BaselineChunk.Origin origin;
    private final int chunkBytes;
    private final TableLoad.Rows target;
    private final TableLoad.Progress progress;
    private final CopyStream stream;
    private final TupleWriter tuples;

    private ByteBuilder chunk;
    private long chunkRows;
    private long rows;
    private long bytes;

    TableCopy(
            LoadShape shape,
            List<SendForm> forms,
            BaselineChunk.Origin origin,
            TableLoad.Options options,
            TableLoad.Consumers consumers) {
        RelationDescriptor table = shape.virtual();
        RelationLocator storage = table.locator();
        if (storage == null) {
            throw new QuarantineException(
                    BootstrapCodes.LOAD_COLUMN,
                    table.label()
                            + " has no rows of its own to load (relkind "
                            + table.kind()
                            + ")");
        }
        this.locator = storage;
        this.origin = origin;
        this.chunkBytes = options.chunkBytes();
        this.target = consumers.rows();
        this.progress = consumers.progress();
        this.stream = new CopyStream(forms.size() + 2);
        this.oversizedField = forms.size() + 1;
        this.limit = options.limit();
        this.table = table;
        this.keys = shape.mapping().key();
        this.tuples = new TupleWriter(shape, forms);
        this.chunk = new ByteBuilder(chunkBytes);
    }

    /** Returns the number of rows. */
    long run(CopyOut copy) throws SQLException, InterruptedException {
        for (byte[] message = copy.readFromCopy(); message != null; message = copy.readFromCopy()) {
            bytes += message.length;
            stream.add(message);
            while (stream.next()) {
                row(message.length);
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
        if (!stream.ended()) {
            throw new SQLException("malformed COPY stream: it broke off", "08P01");
        }
        submit();
        long counted = copy.getHandledRowCount();
        Invariant.check(counted < 0 || counted == rows, "every row of the COPY was handed on");
        return rows;
    }

    private void row(int messageLength) throws InterruptedException {
        long needed = chunk.length() + (long) messageLength + ROW_OVERHEAD;
        if (needed > chunkBytes && chunkRows > 0) {
            submit();
        }
        if (chunkRows == 0 && messageLength > chunkBytes / 2) {
            chunk = new ByteBuilder((int) Math.min(1 << 30, messageLength * 9L / 8 + ROW_OVERHEAD));
        }
        Invariant.check(stream.length(0) == CTID_LENGTH, "a ctid has 6 bytes");
        byte[] buffer = stream.buffer();
        checkSizes(CopyStream.int4(buffer, stream.offset(oversizedField)));
        int at = stream.offset(0);
        int block = CopyStream.int4(buffer, at);
        int offsetNumber = (buffer[at + 4] & 0xFF) << 8 | (buffer[at + 5] & 0xFF);
        int start = BaselineRecords.begin(chunk, locator, block, offsetNumber, RECORD_LSN);
        tuples.append(stream, chunk);
        BaselineRecords.end(chunk, start);
        chunkRows++;
        rows++;
    }

    private void checkSizes(int oversizedColumn) {
        if (oversizedColumn != 0) {
            boolean isKey = keys.contains(oversizedColumn);
            if (isKey || limit.oversized() == ValueLimit.Oversized.QUARANTINE) {
                throw limit.exceeded(
                        "a value of column "
                                + table.attributes().get(oversizedColumn - 1).name()
                                + " in "
                                + table.label(),
                        isKey);
            }
        }
    }

    private void submit() throws InterruptedException {
        if (chunkRows > 0) {
            ByteBuilder full = chunk;
            BaselineChunk handedOn =
                    new BaselineChunk(
                            origin,
                            full.array(),
                            full.length(),
                            chunkRows,
                            () -> (relation, value, out) -> false,
                            () -> {});
            chunk = new ByteBuilder(chunkBytes);
            chunkRows = 0;
            target.submit(handedOn);
        }
        progress.advanced(rows, bytes);
    }
}
