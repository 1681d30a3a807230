package dev.walshadow.bootstrap.load;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.DurableFiles;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.base.RetryException;
import dev.walshadow.bootstrap.BootstrapCodes;
import dev.walshadow.transaction.RawRecord;
import dev.walshadow.transaction.ToastValues;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Delivers deferred tuple versions once the transactions that they wait for have ended. What is
 * known about a version:
 *
 * <pre>
 * inserter           deleter                     what the target has
 * not known          any                         nothing
 * rolled back        any                         nothing
 * settled            not known, rolled back      row (B, 0): sent with the baseline
 * settled            committed at C2             tombstone (C2, 0)
 * settled            committed before B          tombstone (B, 2)
 * certainly          not known, rolled back      row (B, 4): sent with the baseline
 * certainly          committed before B          tombstone (B, 6)
 * committed at C1    none, not known, r. back    row (C1, 4)
 * committed at C1    committed at C2 > C1        tombstone (C2, 0)
 * committed at C1    the same transaction        nothing
 * </pre>
 *
 * ("Certainly": {@link BackupSnapshot#COMMITTED_BEFORE}; otherwise like settled.)
 *
 * <p>Each end that becomes known may bring a version from one of these states into another, and
 * what the new one asks for is sent. A transaction that had ended before B after all (it was listed
 * while it waited for a synchronous standby, or the list was too long) has C = B. Rows of a
 * transaction get versions of its commit position with a low half below any LSN, so whatever it did
 * from B on, which the WAL brings, wins over them.
 *
 * <p>Restart: the outcomes that are durable are in a file of their own; {@link
 * BackupTransactions#floor} holds the resume floor below the others. Used by one thread.
 */
public final class DeferredRows {
    private static final int CHUNK_BYTES = 1 << 20;
    private static final int ENTRY_HEADER = 12;
    private static final int VALUE_HEADER = 12;

    private final DeferredFile file;
    private final Path outcomesFile;
    private final int databaseOid;
    private final BaselineSink sink;
    private final Map<Integer, TransactionEnd> outcomes = new HashMap<>();
    private final Set<Integer> needed = new HashSet<>();
    private final RawRecord record = new RawRecord();
    private @Nullable DeferredValues values;

    private DeferredRows(DeferredFile file, Path directory, int databaseOid, BaselineSink sink) {
        this.file = file;
        this.outcomesFile = directory.resolve("outcomes");
        this.databaseOid = databaseOid;
        this.sink = sink;
    }

    /** Takes up what a finished load left in {@code directory}; nothing there is fine too. */
    public static DeferredRows open(
            Path directory, long systemIdentifier, int databaseOid, BaselineSink sink)
            throws InterruptedException {
        DeferredFile file = new DeferredFile(directory, systemIdentifier);
        DeferredRows rows = new DeferredRows(file, directory, databaseOid, sink);
        if (file.exists()) {
            rows.readOutcomes();
            file.read((payload, _) -> {
                rows.need(LittleEndian.getInt(payload, 0));
                rows.need(LittleEndian.getInt(payload, 4));
            });
            if (rows.isEmpty()) {
                rows.forget();
            }
        }
        return rows;
    }

    private void need(int xid) {
        if (BackupSnapshot.isTransaction(xid) && !outcomes.containsKey(xid)) {
            needed.add(xid);
        }
    }

    /** True when nothing waits any more. */
    public boolean isEmpty() {
        return needed.isEmpty();
    }

    /** The transactions that rows wait for. */
    public Set<Integer> waitsFor() {
        return Set.copyOf(needed);
    }

    /** The snapshot that the rows were walked with. */
    public BackupSnapshot snapshot() {
        return file.start().snapshot();
    }

    public int databaseOid() {
        return databaseOid;
    }

    /**
     * The out-of-line values of the rows, for changes that leave them as they are: as long as not
     * all rows are delivered, what the target has of a key may be an older version. Answers false
     * afterwards.
     */
    public ToastValues values() throws InterruptedException {
        DeferredValues open = file.values();
        values = open;
        return open;
    }

    /** Delivers what these ends decide; returns when it is durable. */
    public void resolve(List<TransactionEnd> ends) throws InterruptedException {
        Map<Integer, TransactionEnd> news = new HashMap<>();
        for (TransactionEnd end : ends) {
            if (needed.contains(end.xid())) {
                news.put(end.xid(), end);
            }
        }
        if (news.isEmpty()) {
            return;
        }
        Map<Integer, TransactionEnd> before = Map.copyOf(outcomes);
        outcomes.putAll(news);
        needed.removeAll(news.keySet());
        Delivery delivery = new Delivery(file.start());
        file.read((payload, length) -> {
            int inserter = LittleEndian.getInt(payload, 0);
            int deleter = LittleEndian.getInt(payload, 4);
            State now = state(inserter, deleter, outcomes);
            if (now != state(inserter, deleter, before)) {
                record.wrap(payload, ENTRY_HEADER);
                switch (now) {
                    case NOTHING -> {}
                    case ROW -> delivery.row(outcomes.get(inserter), payload, length);
                    case DELETED ->
                            delivery.tombstone(
                                    Objects.requireNonNull(outcomes.get(deleter)), payload, length);
                }
            }
        });
        delivery.flush();
        writeOutcomes();
        if (needed.isEmpty()) {
            forget();
        }
    }

    /** The rows first: without them the outcomes mean nothing. */
    private void forget() {
        file.delete();
        DeferredValues open = values;
        if (open != null) {
            values = null;
            open.close();
        }
        try {
            Files.deleteIfExists(outcomesFile);
        } catch (IOException e) {
            throw unwritable(e);
        }
    }

    /** What the target has of a tuple version. */
    private enum State {
        NOTHING,
        ROW,
        DELETED
    }

    private static State state(int inserter, int deleter, Map<Integer, TransactionEnd> known) {
        TransactionEnd inserted = known.get(inserter);
        if (BackupSnapshot.isTransaction(inserter) && (inserted == null || !inserted.committed())) {
            return State.NOTHING;
        }
        TransactionEnd deleted = known.get(deleter);
        if (deleted == null || !deleted.committed()) {
            return State.ROW;
        }
        boolean same = inserted != null && inserted.position() == deleted.position();
        return same ? State.NOTHING : State.DELETED;
    }

    /** Collects by commit position, which a chunk has one of. */
    private final class Delivery {
        private final Map<Long, Pending> pending = new TreeMap<>();
        private final DeferredFile.Start start;
        private long last;

        private static final class Pending {
            final ByteBuilder bytes = new ByteBuilder(1 << 12);
            final EntryToast toast = new EntryToast();
            final TransactionEnd end;
            long records;

            Pending(TransactionEnd end) {
                this.end = end;
            }
        }

        Delivery(DeferredFile.Start start) {
            this.start = start;
        }

        /** A settled inserter (null) counts as ended before the backup. */
        void row(@Nullable TransactionEnd inserted, byte[] payload, int length)
                throws InterruptedException {
            Pending to = of(inserted);
            RowWriter.row(to.bytes, record, RowWriter.OPEN_INSERTER);
            added(to, payload, length);
        }

        void tombstone(TransactionEnd deleted, byte[] payload, int length)
                throws InterruptedException {
            Pending to = of(deleted);
            long late =
                    LittleEndian.getInt(payload, 0) == BackupSnapshot.COMMITTED_BEFORE
                            ? RowWriter.LAST_TOMBSTONE
                            : RowWriter.LATE_TOMBSTONE;
            long low = deleted.beforeBackup() ? late : RowWriter.OPEN_TOMBSTONE;
            RowWriter.tombstone(to.bytes, record, low);
            added(to, payload, length);
        }

        private Pending of(@Nullable TransactionEnd end) {
            TransactionEnd known =
                    end == null || end.beforeBackup() ? new TransactionEnd(0, true, 0, 0, 0) : end;
            return pending.computeIfAbsent(known.position(), _ -> new Pending(known));
        }

        private void added(Pending to, byte[] payload, int length) throws InterruptedException {
            to.toast.addAll(payload, ENTRY_HEADER + record.length(), length);
            to.records++;
            if (to.bytes.length() + to.toast.bytes() >= CHUNK_BYTES) {
                submit(to);
                pending.remove(to.end.position());
            }
        }

        private void submit(Pending each) throws InterruptedException {
            TransactionEnd end = each.end;
            long startLsn = start.snapshot().startLsn();
            boolean before = end.beforeBackup();
            BaselineChunk.Origin origin =
                    new BaselineChunk.Origin(
                            end.xid(),
                            databaseOid,
                            before ? startLsn : end.lsn(),
                            before ? startLsn : end.position(),
                            before ? start.micros() : end.commitMicros());
            last =
                    sink.submit(
                            new BaselineChunk(
                                    origin,
                                    each.bytes.toByteArray(),
                                    each.bytes.length(),
                                    each.records,
                                    () -> each.toast,
                                    () -> {}));
        }

        void flush() throws InterruptedException {
            for (Pending each : pending.values()) {
                submit(each);
            }
            pending.clear();
            if (last > 0) {
                sink.await(last);
            }
        }
    }

    /** The values that came with the entries; read-only once submitted. */
    private static final class EntryToast implements ToastValues {
        private final Map<Long, byte[]> values = new HashMap<>();
        private long bytes;

        void addAll(byte[] payload, int from, int end) {
            int at = from;
            while (end - at >= VALUE_HEADER) {
                int length = LittleEndian.getInt(payload, at + 8);
                byte[] value = new byte[length];
                System.arraycopy(payload, at + VALUE_HEADER, value, 0, length);
                values.put(
                        key(LittleEndian.getInt(payload, at), LittleEndian.getInt(payload, at + 4)),
                        value);
                bytes += length;
                at += VALUE_HEADER + length;
            }
        }

        long bytes() {
            return bytes;
        }

        private static long key(int relation, int valueId) {
            return (long) relation << 32 | Integer.toUnsignedLong(valueId);
        }

        @Override
        public boolean append(int toastRelationOid, int valueId, ByteBuilder out) {
            byte[] value = values.get(key(toastRelationOid, valueId));
            if (value != null) {
                out.putBytes(value);
            }
            return value != null;
        }
    }

    // ---- outcomes: "xid committed lsn position micros" a line

    private void writeOutcomes() {
        StringBuilder text = new StringBuilder();
        for (TransactionEnd end : outcomes.values()) {
            text.append(end.xid()).append(' ').append(end.committed()).append(' ');
            text.append(end.lsn()).append(' ').append(end.position()).append(' ');
            text.append(end.commitMicros()).append('\n');
        }
        text.append("end\n");
        try {
            DurableFiles.replace(outcomesFile, text.toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw unwritable(e);
        }
    }

    private RetryException unwritable(IOException e) {
        return new RetryException(
                BootstrapCodes.SPOOL,
                outcomesFile + " cannot be written: " + e + "; make room in the state directory",
                e);
    }

    private void readOutcomes() {
        if (!Files.exists(outcomesFile)) {
            return;
        }
        try {
            List<String> lines = Files.readAllLines(outcomesFile);
            if (lines.isEmpty() || !lines.getLast().equals("end")) {
                throw damagedOutcomes("it is cut off");
            }
            for (String line : lines.subList(0, lines.size() - 1)) {
                String[] part = line.split(" ", -1);
                if (part.length != 5) {
                    throw damagedOutcomes("found '" + line + "'");
                }
                int xid = Integer.parseInt(part[0]);
                outcomes.put(
                        xid,
                        new TransactionEnd(
                                xid,
                                Boolean.parseBoolean(part[1]),
                                Long.parseLong(part[2]),
                                Long.parseLong(part[3]),
                                Long.parseLong(part[4])));
            }
        } catch (IOException | NumberFormatException e) {
            throw damagedOutcomes(e.toString());
        }
    }

    private ConfigurationException damagedOutcomes(String found) {
        return new ConfigurationException(
                BootstrapCodes.DEFERRED_DAMAGED,
                outcomesFile
                        + " is damaged: "
                        + found
                        + "; restore it from a copy, or attach anew with an empty [state] dir");
    }
}
