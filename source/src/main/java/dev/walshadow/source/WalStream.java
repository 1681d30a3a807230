package dev.walshadow.source;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.HaltException;
import dev.walshadow.base.LittleEndian;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.wal.CheckpointRecord;
import dev.walshadow.postgres.wal.LongHeapRecord;
import dev.walshadow.postgres.wal.NoopRecord;
import dev.walshadow.postgres.wal.ResourceManager;
import dev.walshadow.postgres.wal.TablespaceRecord;
import dev.walshadow.postgres.wal.WalChecksum;
import dev.walshadow.postgres.wal.WalCodes;
import dev.walshadow.postgres.wal.WalPages;
import dev.walshadow.postgres.wal.WalRecord;
import dev.walshadow.postgres.wal.XLogLayout;
import java.util.Arrays;

/**
 * From WAL bytes in any chunking to records and to filtered bytes: page, record, checksum, filter,
 * rewrite, publish, record sink, segment sink, in this order. Design and reasons: {@code
 * docs/wal-stream.md}.
 *
 * <p>Input bytes are copied once, into the segment's buffer, which is where rewriting happens; a
 * record that lies in one page and one chunk is read in place from the chunk, any other is stitched
 * into scratch. So the record sink sees the source's own bytes after the shadow got the filtered
 * ones (I1).
 *
 * <p>Single-threaded: the WAL pump. After any failure the stream is poisoned, because wire, sink
 * and archive may differ by a record; a new one starts from a {@link StreamSnapshot}.
 */
public final class WalStream {
    private static final int INITIAL_SCRATCH = 64 * 1024;

    /** A whole checkpoint is the longest. */
    private static final int MAX_HEAD = 160;

    /** Two segments of the usual size would not hold it. */
    private static final int LONG_RECORD = 32 << 20;

    /** Of a long record, so much has its headers, and the data of its blocks as a rule. */
    private static final int LONG_BEGINNING = 64 * 1024;

    private final WalPages pages;
    private final long decodeFrom;
    private final Filter filter;
    private final WireSink wire;
    private final RecordSink records;
    private final SegmentSink segments;
    private final StreamStart start;
    private final SegmentWindow window;
    private final RecordRun run = new RecordRun();
    private final DeferredRecords deferred = new DeferredRecords();
    private final WalChecksum checksum = new WalChecksum();
    private final NoopRecord noop = new NoopRecord();
    private final StreamCounters counters = new StreamCounters();
    private final byte[] head = new byte[MAX_HEAD];
    private final int longRecord;

    /** Everything before it has been received. */
    private long received;

    /** Where the next record, or the page header before it, starts. */
    private long cursor;

    /** End of the last complete record; before {@link #cursor} only after a segment switch. */
    private long recordEnd;

    /** Everything before it has been published. */
    private long published;

    /** Invalidation messages of everything that was published. */
    private long invalidations;

    /** The record before {@link #cursor}; 0 if unknown. */
    private long previous;

    /** The last record that crossed a page: what it became, for the next snapshot. */
    private long tailStart;

    private final byte[] tailHead = new byte[MAX_HEAD];
    private int tailHeadLength;
    private boolean tailRewritten;

    private boolean poisoned;

    // the record that crosses a page end, while it is incomplete
    private boolean crossing;
    private long recordStart;
    private int recordLength;
    private int stitched;
    private long stitchedTo;
    private byte[] scratch = new byte[INITIAL_SCRATCH];

    // the same if it is passed on as it comes: a short form of it is in scratch
    private boolean passing;
    private int passingLength;
    private int passingHeadLength;
    private long passingEnd;
    private final byte[] passingHeader = new byte[XLogLayout.RECORD_HEADER_LENGTH];

    /**
     * @param from where to begin: the first {@link #push} is at its {@link
     *     StreamSnapshot#segmentStart}
     * @param decodeFrom records that start before it are filtered and published but not handed to
     *     {@code records}
     */
    public WalStream(
            StreamSnapshot from,
            long decodeFrom,
            WireSink wire,
            RecordSink records,
            SegmentSink segments) {
        this(from, decodeFrom, wire, records, segments, LONG_RECORD);
    }

    /**
     * @param longRecord length from which on a record of user data is not collected whole
     */
    WalStream(
            StreamSnapshot from,
            long decodeFrom,
            WireSink wire,
            RecordSink records,
            SegmentSink segments,
            int longRecord) {
        this.longRecord = longRecord;
        this.pages = from.pages();
        this.decodeFrom = decodeFrom;
        this.filter = from.newFilter();
        this.wire = wire;
        this.records = records;
        this.segments = segments;
        this.start = new StreamStart(from);
        this.window = new SegmentWindow(pages, from.segmentStart());
        this.received = from.segmentStart();
        this.published = received;
        this.recordEnd = received;
        this.cursor = from.firstRecord();
        this.previous = from.previousRecord();
        rememberTail(
                from.tail().start(),
                from.tail().head(),
                from.tail().head().length,
                from.tail().isRewritten());
    }

    /** Which relations are captured, as soon as that is known. Before a push. */
    public void use(CapturedRelations captured) {
        filter.use(captured);
    }

    /**
     * That this is an index of that table by the catalogs as of the last record that was handed on.
     * While a record is handed on, or between pushes.
     */
    public void knowIndex(int databaseOid, int indexOid, int tableOid) {
        filter.knowIndex(databaseOid, indexOid, tableOid);
    }

    /** Whether the shadow's catalogs can be read between pushes. */
    public boolean isReadable() {
        return deferred.isEmpty() && !filter.isRelationMapInFlight();
    }

    /** Where the next {@link #push} must begin: what to ask the source for after a reconnect. */
    public long nextLsn() {
        return received;
    }

    /** Behind the last record handed on: everything before it was published, too. */
    public long lastRecordEnd() {
        return deferred.isEmpty() ? cursor : deferred.firstLsn();
    }

    /**
     * As {@link #lastRecordEnd}, but not above what was received: behind a switch of segments the
     * last record ends where the next segment begins, and that one has no point to resume from
     * before it does.
     */
    public long resumableTo() {
        return Math.min(lastRecordEnd(), received);
    }

    /** Every record that ends at or before it was handed on; further than the last one's end. */
    public long readTo() {
        return deferred.isEmpty() ? received : deferred.firstLsn();
    }

    public StreamCounters counters() {
        return counters;
    }

    /**
     * Takes the next bytes, of any number, and does everything that they complete.
     *
     * @throws HaltException if the WAL cannot be followed further; the stream is then poisoned, as
     *     it is when a sink throws
     */
    public void push(long lsn, byte[] bytes, int offset, int length) throws InterruptedException {
        if (poisoned) {
            throw new HaltException(
                    SourceCodes.STREAM_POISONED,
                    "the WAL stream failed before at "
                            + Lsn.format(cursor)
                            + " and cannot go on; the first failure says why.");
        }
        if (lsn != received) {
            throw new HaltException(
                    SourceCodes.WAL_GAP,
                    "expected WAL from "
                            + Lsn.format(received)
                            + " on, got it from "
                            + Lsn.format(lsn)
                            + " on. This is a fault in walshadow, please report it.");
        }
        poisoned = true;
        int from = offset;
        int end = offset + length;
        while (from < end) {
            int room = pages.segmentSize() - window.offset(received);
            int count = Math.min(room, end - from);
            window.append(received, bytes, from, count);
            received += count;
            drain(bytes, from, received - count);
            from += count;
        }
        poisoned = false;
    }

    /** Reads every record that is complete; {@code chunk} holds the newest bytes. */
    private void drain(byte[] chunk, int chunkOffset, long chunkStart) throws InterruptedException {
        if (!start.isOver()) {
            start.advance(window, received);
        }
        while (cursor < received && nextRecord(chunk, chunkOffset, chunkStart)) {
            if (run.isFull() || !deferred.isEmpty() || cursor >= window.firstEnd()) {
                deliver();
                completeSegments();
            }
        }
        deliver();
        completeSegments();
    }

    // ---- records ---------------------------------------------------------------------------

    /** False if more bytes are needed. */
    private boolean nextRecord(byte[] chunk, int chunkOffset, long chunkStart)
            throws InterruptedException {
        if (crossing) {
            return stitch();
        }
        long at = cursor;
        if (XLogLayout.offsetInPage(at) == 0) {
            int header = pages.headerLength(at);
            if (received - at < header) {
                return false;
            }
            checkFirstPageHeader(at);
            at += header;
        }
        if (received - at < Integer.BYTES) {
            return false;
        }
        byte[] segment = window.buffer(at);
        int offset = window.offset(at);
        int length = LittleEndian.getInt(segment, offset);
        checkLength(at, length);
        if (length > XLogLayout.PAGE_SIZE - XLogLayout.offsetInPage(at)) {
            crossing = true;
            recordStart = at;
            recordLength = length;
            stitched = 0;
            stitchedTo = at;
            return stitch();
        }
        long end = at + XLogLayout.align(length);
        if (received < end) {
            return false;
        }
        if (at >= chunkStart) {
            complete(chunk, chunkOffset + (int) (at - chunkStart), length, at, end);
        } else {
            // begun in an earlier chunk: the rewrite must not destroy what the sink will see
            System.arraycopy(segment, offset, scratch, 0, length);
            complete(scratch, 0, length, at, end);
            deliver();
        }
        return true;
    }

    /** The next bytes of the crossing record, which lie in one page. */
    private void take(int count) throws InterruptedException {
        if (passing) {
            checksum.update(window.buffer(stitchedTo), window.offset(stitchedTo), count);
            window.rewrite(stitchedTo, head, passingHeadLength, stitched, stitched + count);
        } else {
            ensureScratch(stitched + count);
            window.copy(stitchedTo, count, scratch, stitched);
        }
        boolean isBeginning = stitched < LONG_BEGINNING;
        stitched += count;
        stitchedTo += count;
        if (!passing && stitched >= XLogLayout.RECORD_HEADER_LENGTH) {
            checkHeader(scratch, 0, recordStart);
        }
        if (isBeginning && stitched >= LONG_BEGINNING && recordLength >= longRecord) {
            pass();
        }
    }

    /**
     * From here on the long record is passed on while it comes, if it is one that the shadow does
     * not get: what it becomes depends on its length alone, so nothing of it is believed before its
     * checksum has been seen.
     */
    private void pass() throws InterruptedException {
        if (!LongHeapRecord.isKind(scratch, 0)) {
            return;
        }
        deliver();
        System.arraycopy(scratch, 0, passingHeader, 0, passingHeader.length);
        byte[] beginning = Arrays.copyOf(scratch, stitched);
        int length = LongHeapRecord.shorten(beginning, stitched, recordStart);
        if (length == 0) {
            return;
        }
        passingEnd = endOfCrossing();
        WalRecord record = new WalRecord();
        record.wrap(beginning, 0, length, recordStart, passingEnd);
        if (filter.decide(record) != Decision.DROP || filter.boundary() != null) {
            throw record.corrupt("a long record that is of a catalog");
        }
        checksum.begin();
        checksum.update(
                scratch,
                XLogLayout.RECORD_HEADER_LENGTH,
                stitched - XLogLayout.RECORD_HEADER_LENGTH);
        scratch = beginning;
        passing = true;
        passingLength = length;
        passingHeadLength = noop.head(passingHeader, 0, head);
        window.rewrite(recordStart, head, passingHeadLength, 0, stitched);
        rememberTail(recordStart, head, passingHeadLength, true);
    }

    /** Where the crossing record ends. */
    private long endOfCrossing() {
        long at = stitchedTo;
        int left = recordLength - stitched;
        while (left > 0) {
            int inPage = XLogLayout.offsetInPage(at);
            if (inPage == 0) {
                inPage = pages.headerLength(at);
                at += inPage;
            }
            int count = Math.min(left, XLogLayout.PAGE_SIZE - inPage);
            at += count;
            left -= count;
        }
        return XLogLayout.align(at);
    }

    /** The record that was passed on is complete. */
    private void passed(long end) throws InterruptedException {
        passing = false;
        checksum.verifyPieces(passingHeader, recordStart);
        run.next().wrap(scratch, 0, passingLength, recordStart, end);
        counters.count(Decision.DROP, recordLength);
        previous = recordStart;
        cursor = end;
        recordEnd = end;
        run.add(Decision.DROP, null);
        deliver();
    }

    private void checkFirstPageHeader(long page) {
        byte[] bytes = window.buffer(page);
        int offset = window.offset(page);
        pages.check(bytes, offset, page);
        if ((WalPages.info(bytes, offset) & XLogLayout.XLP_FIRST_IS_CONTRECORD) != 0) {
            throw corrupt(page, "a page begins with the rest of a record that never began");
        }
    }

    private void checkLength(long at, int length) {
        if (length < XLogLayout.RECORD_HEADER_LENGTH || length > XLogLayout.MAX_RECORD_LENGTH) {
            throw corrupt(
                    at,
                    "xl_tot_len "
                            + Integer.toUnsignedString(length)
                            + ", expected "
                            + XLogLayout.RECORD_HEADER_LENGTH
                            + " to "
                            + XLogLayout.MAX_RECORD_LENGTH);
        }
    }

    /** Collects more of the crossing record; false if more bytes are needed. */
    private boolean stitch() throws InterruptedException {
        while (stitched < recordLength) {
            int inPage = XLogLayout.offsetInPage(stitchedTo);
            if (inPage == 0) {
                int header = pages.headerLength(stitchedTo);
                if (received - stitchedTo < header) {
                    return false;
                }
                if (isAborted(stitchedTo)) {
                    abandonFragment();
                    return true;
                }
                stitchedTo += header;
                continue;
            }
            int count =
                    (int)
                            Math.min(
                                    received - stitchedTo,
                                    Math.min(
                                            XLogLayout.PAGE_SIZE - inPage,
                                            recordLength - stitched));
            if (count == 0) {
                return false;
            }
            take(count);
        }
        long end = XLogLayout.align(stitchedTo);
        if (received < end) {
            return false;
        }
        crossing = false;
        if (passing) {
            passed(end);
            return true;
        }
        complete(scratch, 0, recordLength, recordStart, end);
        deliver();
        return true;
    }

    /** Checks the header of a continuation page; true if the record was given up before it. */
    private boolean isAborted(long page) {
        byte[] bytes = window.buffer(page);
        int offset = window.offset(page);
        pages.check(bytes, offset, page);
        int info = WalPages.info(bytes, offset);
        if ((info & XLogLayout.XLP_FIRST_IS_OVERWRITE_CONTRECORD) != 0) {
            return true;
        }
        int remaining = WalPages.remainingLength(bytes, offset);
        if ((info & XLogLayout.XLP_FIRST_IS_CONTRECORD) == 0
                || remaining != recordLength - stitched) {
            throw corrupt(
                    page,
                    "the record at "
                            + Lsn.format(recordStart)
                            + " lacks "
                            + (recordLength - stitched)
                            + " bytes, the page continues one that lacks "
                            + Integer.toUnsignedString(remaining));
        }
        return false;
    }

    /**
     * The source crashed inside this record and began anew with the page at {@link #stitchedTo}.
     * The standby needs its header's position; its payload is blanked, nobody replays it.
     */
    private void abandonFragment() {
        if (!passing) {
            int kept = Math.min(stitched, XLogLayout.RECORD_HEADER_LENGTH);
            System.arraycopy(scratch, 0, head, 0, kept);
            window.rewrite(recordStart, head, kept, 0, stitched);
            rememberTail(recordStart, head, kept, true);
        }
        passing = false;
        crossing = false;
        cursor = stitchedTo;
    }

    /** What can be told before the checksum: a wild length must not collect gigabytes first. */
    private void checkHeader(byte[] bytes, int offset, long lsn) {
        long link = LittleEndian.getLong(bytes, offset + XLogLayout.PREVIOUS);
        if (previous != 0 ? link != previous : link >= lsn) {
            throw corrupt(
                    lsn, "xl_prev " + Lsn.format(link) + ", expected " + Lsn.format(previous));
        }
    }

    private void ensureScratch(int needed) {
        if (needed > scratch.length) {
            int grown = (int) Math.min(Math.max(needed, scratch.length * 2L), recordLength);
            scratch = Arrays.copyOf(scratch, grown);
        }
    }

    /** Verifies, decides and rewrites the record whose bytes are all at {@code offset}. */
    private void complete(byte[] bytes, int offset, int length, long lsn, long end) {
        checkHeader(bytes, offset, lsn);
        checksum.verify(bytes, offset, length, lsn);
        boolean isSwitch =
                bytes[offset + XLogLayout.RMID] == ResourceManager.XLOG
                        && (bytes[offset + XLogLayout.INFO] & XLogLayout.XLR_RMGR_INFO_MASK)
                                == XLogLayout.XLOG_SWITCH;
        long next = isSwitch ? pages.segmentStart(end - 1) + pages.segmentSize() : end;
        WalRecord record = run.next();
        record.wrap(bytes, offset, length, lsn, next);
        Decision decision = filter.decide(record);
        boolean inOnePage = end - lsn == XLogLayout.align(length);
        if (decision == Decision.DROP && inOnePage) {
            noop.rewrite(window.buffer(lsn), window.offset(lsn), length);
        } else {
            int headLength = rewriteHead(record, decision);
            if (headLength > 0) {
                window.rewrite(lsn, head, headLength, 0, length);
            }
            if (!inOnePage) {
                rememberTail(lsn, head, headLength, headLength > 0);
            }
        }
        counters.count(decision, length);
        previous = lsn;
        cursor = next;
        recordEnd = end;
        run.add(decision, filter.boundary());
    }

    private void rememberTail(long lsn, byte[] bytes, int length, boolean rewritten) {
        tailStart = lsn;
        System.arraycopy(bytes, 0, tailHead, 0, length);
        tailHeadLength = length;
        tailRewritten = rewritten;
    }

    /** Fills {@link #head} with what the rewritten record holds before its zeros; 0 if kept. */
    private int rewriteHead(WalRecord record, Decision decision) {
        return switch (decision) {
            case KEEP -> onOneTimeline(record);
            case DROP -> noop.head(record, head);
            case PATCH -> {
                int kept = record.mainDataOffset() + TablespaceRecord.PATH - record.offset();
                if (kept > head.length || kept > record.length()) {
                    throw record.corrupt("a tablespace record of an unknown shape");
                }
                byte[] patched = new byte[record.length()];
                System.arraycopy(record.buffer(), record.offset(), patched, 0, kept);
                yield seal(patched, kept);
            }
        };
    }

    private int seal(byte[] patched, int kept) {
        LittleEndian.putInt(patched, XLogLayout.CRC, checksum.compute(patched, 0, patched.length));
        System.arraycopy(patched, 0, head, 0, kept);
        return kept;
    }

    /** The shadow stays on its timeline whatever the source is promoted to. */
    private int onOneTimeline(WalRecord record) {
        if (record.resourceManager() != ResourceManager.XLOG) {
            return 0;
        }
        int operation = record.info() & XLogLayout.XLR_RMGR_INFO_MASK;
        boolean tells =
                operation == XLogLayout.XLOG_CHECKPOINT_SHUTDOWN
                        || operation == XLogLayout.XLOG_CHECKPOINT_ONLINE
                        || operation == XLogLayout.XLOG_END_OF_RECOVERY;
        int at = record.mainDataOffset() + CheckpointRecord.TIMELINE;
        if (!tells || !isLater(record.buffer(), at)) {
            return 0;
        }
        if (record.length() > head.length
                || record.mainDataLength() < CheckpointRecord.PREVIOUS_TIMELINE + Integer.BYTES) {
            throw record.corrupt("a change of the timeline of an unknown shape");
        }
        byte[] patched =
                Arrays.copyOfRange(
                        record.buffer(), record.offset(), record.offset() + record.length());
        int data = record.mainDataOffset() - record.offset();
        LittleEndian.putInt(patched, data + CheckpointRecord.TIMELINE, pages.timeline());
        LittleEndian.putInt(patched, data + CheckpointRecord.PREVIOUS_TIMELINE, pages.timeline());
        return seal(patched, patched.length);
    }

    private boolean isLater(byte[] bytes, int at) {
        return Integer.compareUnsigned(LittleEndian.getInt(bytes, at), pages.timeline()) > 0;
    }

    private static HaltException corrupt(long lsn, String found) {
        return new HaltException(
                WalCodes.CORRUPT_RECORD,
                "invalid WAL at "
                        + Lsn.format(lsn)
                        + ": "
                        + found
                        + ". The WAL is damaged on the source, on the way or in the archive;"
                        + " compare with pg_waldump on the source.");
    }

    // ---- sinks -----------------------------------------------------------------------------

    private void deliver() throws InterruptedException {
        publish();
        boolean unreadable = filter.isRelationMapInFlight();
        if (deferred.isEmpty() && !(unreadable && run.endsAtBoundary())) {
            run.handTo(records, decodeFrom);
            return;
        }
        run.moveTo(deferred);
        if (!unreadable) {
            deferred.handTo(records, decodeFrom, recordEnd);
        }
    }

    /** Up to the last complete record; where only filler follows, up to the last whole page. */
    private void publish() {
        long wholePages = received - XLogLayout.offsetInPage(received);
        long limit =
                passing
                        ? Math.max(cursor, wholePages)
                        : cursor <= received ? cursor : Math.max(recordEnd, wholePages);
        if (published < limit && filter.invalidations() != invalidations) {
            wire.invalidates(filter.invalidations() - invalidations);
            invalidations = filter.invalidations();
        }
        while (published < limit) {
            long segmentEnd = pages.segmentStart(published) + pages.segmentSize();
            int count = (int) (Math.min(limit, segmentEnd) - published);
            putOnOneTimeline(published, published + count);
            wire.publish(published, window.buffer(published), window.offset(published), count);
            published += count;
        }
    }

    /** The headers of the pages that begin here; none is published in parts. */
    private void putOnOneTimeline(long from, long end) {
        long first = from + (-from & (XLogLayout.PAGE_SIZE - 1));
        for (long page = first; page < end; page += XLogLayout.PAGE_SIZE) {
            byte[] bytes = window.buffer(page);
            int at = window.offset(page) + XLogLayout.PAGE_TIMELINE;
            if (isLater(bytes, at)) {
                LittleEndian.putInt(bytes, at, pages.timeline());
            }
        }
    }

    private void completeSegments() throws InterruptedException {
        while (!window.isEmpty()
                && Math.min(passing ? passingEnd : cursor, received) >= window.firstEnd()) {
            long segmentStart = window.start();
            segments.segmentComplete(
                    segmentStart, window.first(), pages.segmentSize(), snapshot(window.firstEnd()));
            window.dropFirst();
        }
    }

    private StreamSnapshot snapshot(long segmentStart) {
        ByteBuilder state = new ByteBuilder(256);
        filter.encodeState(state);
        long next = passing ? passingEnd : cursor;
        return new StreamSnapshot(
                pages,
                segmentStart,
                next,
                passing ? recordStart : previous,
                next > segmentStart && tailRewritten
                        ? StreamSnapshot.Tail.rewritten(tailStart, tailHead, tailHeadLength)
                        : StreamSnapshot.Tail.UNCHANGED,
                state.toByteArray());
    }
}
