package dev.walshadow.pipeline;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.pipeline.encode.OldValues;
import dev.walshadow.pipeline.encode.RowEncoder;
import dev.walshadow.pipeline.encode.RowMeta;
import dev.walshadow.pipeline.encode.ValueSources;
import dev.walshadow.postgres.heap.TupleView;
import java.math.BigInteger;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Deferred changes that are worked off together, and what a scan of them finds out: which values
 * they lack, and which row versions a later change of the window supersedes. Worker thread only.
 *
 * <p>Of a key ClickHouse keeps the newest version only, so a superseded one may be left out, if
 * nothing needs it: it has all its values, those out of line are held here for the versions after
 * it, and it did not change its key. Where every version stays, none is left out.
 */
final class DeferredWindow {
    private static final int MOST_BYTES = 8 << 20;
    private static final int MOST_RECORDS = 16_384;

    /** Bytes of values that are looked up; a single larger value is let through. */
    private static final long MOST_LOOKED_UP = 16 << 20;

    /** Bytes of new values that are held; older ones count as recent values do. */
    private static final long MOST_NEW = 48 << 20;

    private final TableWriter writer;
    private final RowEncoder encoder;
    private final DeferredChange change;
    private final WindowValues values;
    private final boolean knows;
    private final boolean mirrors;

    /** Of a key the newest version is enough. */
    private final boolean supersedes;

    private ByteBuilder bytes = new ByteBuilder(1024);
    private int at;
    private int number;
    private long sequence;
    private long lookedUpBytes;

    /** The keys whose newest versions are looked up, with their literals in SQL. */
    private final LinkedHashMap<String, String> wanted = new LinkedHashMap<>();

    private final UnresolvedRows unresolved = new UnresolvedRows();
    private final BitSet missing = new BitSet();
    private boolean spoiled;

    /** By key the number of its last change in the window. */
    private final Map<String, Integer> lastChanges = new HashMap<>();

    private final BitSet dispensable = new BitSet();

    DeferredWindow(TableWriter writer, DeferredChange change) {
        this.writer = writer;
        this.encoder = writer.encoder();
        this.change = change;
        this.values = new WindowValues(writer.worker().services().recentValues(), writer.table());
        this.knows = writer.keepsValues();
        this.mirrors = writer.worker().services().mirror() != null;
        this.supersedes = !encoder.mapping().append();
    }

    /**
     * Takes changes up to the next TRUNCATE and notes what they lack.
     *
     * @param next positions the change at hand on the next one, if there is one
     */
    void fill(BooleanSupplier next, Runnable remove) {
        begin();
        Scan scan = new Scan(0);
        for (int count = 0; count < MOST_RECORDS && next.getAsBoolean(); count++) {
            if (isFull() || change.isTruncate()) {
                break;
            }
            if (!scan.takes(count == 0)) {
                rescan();
                break;
            }
            bytes.putBytes(change.frame.buffer(), change.frame.offset(), change.frame.length());
            remove.run();
        }
    }

    /** Begins with the change at hand alone, which is not kept here. */
    void begin() {
        clear();
        sequence = change.frame.sequence();
    }

    private boolean isFull() {
        return bytes.length() >= MOST_BYTES
                || lookedUpBytes >= MOST_LOOKED_UP
                || values.newBytes() >= MOST_NEW;
    }

    void clear() {
        if (bytes.capacity() > 2 * MOST_BYTES) {
            bytes = new ByteBuilder(1024);
        }
        bytes.clear();
        at = 0;
        number = 0;
        lookedUpBytes = 0;
        values.clear();
        change.mirrored.clear();
        forgetScan();
    }

    private void forgetScan() {
        wanted.clear();
        unresolved.clear();
        missing.clear();
        spoiled = false;
        lastChanges.clear();
        dispensable.clear();
    }

    /** Scans what is left anew. */
    void rescan() {
        forgetScan();
        Scan scan = new Scan(number);
        for (int from = at; from < bytes.length(); from += change.frame.length()) {
            change.frame.wrap(bytes.array(), from);
            change.decode(scan);
        }
    }

    /** Its values take more memory than may be held for several windows at a time. */
    boolean isWide() {
        return lookedUpBytes > MOST_LOOKED_UP || values.bytes() > MOST_LOOKED_UP;
    }

    /** The rows of the load that comes before may have later values than what is lacking here. */
    boolean isSpoiled() {
        return spoiled;
    }

    boolean isDone() {
        return at == bytes.length();
    }

    /** Where the next change lies; another one lies elsewhere. */
    int position() {
        return at;
    }

    /** The number of the next record's first change. */
    int number() {
        return number;
    }

    /** Positions the change on the next one. */
    void wrap() {
        change.frame.wrap(bytes.array(), at);
    }

    /** The version of the next change as a tombstone: what was before it is below. */
    BigInteger nextVersion() {
        wrap();
        change.isTruncate(); // looks at its record
        return Versions.of(change.frame.commitPosition(), change.recordLsn() & ~1L);
    }

    /** That one is encoded; the one after it has this number. */
    void passed(int nextNumber) {
        at += change.frame.length();
        number = nextNumber;
    }

    /** The least of the changes' sequences: what is left out counts as sent with the rest. */
    long sequence() {
        return sequence;
    }

    WindowValues values() {
        return values;
    }

    ValueSources sources(@Nullable OldValues old) {
        return new ValueSources(change.frame, knows ? values : null, old);
    }

    /** Whether what changes lack is to be looked for by its ids first; then to be scanned anew. */
    boolean asksMirror() {
        return change.mirrored.isWanting();
    }

    boolean needsLookup() {
        return !wanted.isEmpty();
    }

    boolean wants(String key) {
        return wanted.containsKey(key);
    }

    List<String> literals() {
        return List.copyOf(wanted.values());
    }

    /** The block columns that changes lack, ascending. */
    int[] missingColumns() {
        return missing.stream().toArray();
    }

    UnresolvedRows unresolved() {
        return unresolved;
    }

    /** Whether rows can be left out. */
    boolean leavesOut() {
        return !dispensable.isEmpty();
    }

    boolean leavesOut(String key, int changeNumber) {
        return dispensable.get(changeNumber)
                && lastChanges.getOrDefault(key, changeNumber) > changeNumber;
    }

    /** Notes which keys and columns have to be looked up. */
    private final class Scan implements HeapChanges.Handler {
        private int at;
        private boolean contradicted;

        Scan(int from) {
            this.at = from;
        }

        /** False if the change has to wait until the window is through. */
        boolean takes(boolean first) {
            try {
                change.decode(this);
                return first || !contradicted;
            } catch (QuarantineException e) {
                if (first) {
                    throw e;
                }
                return false; // what comes before it still goes
            }
        }

        @Override
        public boolean row(TupleView tuple, @Nullable TupleView oldKey, RowMeta meta) {
            values.beginChange();
            int result = encoder.probeRow(change.scratch(), tuple, meta, sources(null));
            contradicted |= values.isContradicted();
            String key = change.key(tuple);
            boolean moved = change.keyChanged(tuple, oldKey);
            String from = moved ? change.leftKey(oldKey) : key;
            if (result == RowEncoder.NEEDS_OLD_VALUE && !writer.fillsMissing()) {
                spoiled |=
                        writer.table().verdict(meta.xid(), meta.commitPosition())
                                == LoadFilter.Verdict.SEND_WHOLE;
                lookedUpBytes += encoder.missingBytes();
                boolean torn = encoder.tornValue() != null;
                for (int i = 0; i < encoder.missingCount(); i++) {
                    missing.set(encoder.missingColumn(i));
                    if (mirrors && !torn) {
                        change.mirrored.want(encoder.missingValueId(i));
                    }
                }
                want(from);
                want(key);
                unresolved.lacking(
                        key, from, meta.commitPosition(), meta.recordLsn() | 1, change.place());
            } else {
                unresolved.whole(key, from);
                dispensable.set(
                        at, supersedes && result == RowEncoder.OK && !moved && isKept(tuple));
            }
            lastChanges.put(key, at++);
            return true;
        }

        /** The versions after this one find its values here. */
        private boolean isKept(TupleView tuple) {
            return !tuple.hasExternal() || (knows && !values.isLost());
        }

        @Override
        public void tombstone(@Nullable TupleView tuple, RowMeta meta) {
            String key = change.key(tuple);
            unresolved.gone(key);
            lastChanges.put(key, at++);
        }

        private void want(String key) {
            if (!wanted.containsKey(key)) {
                wanted.put(key, change.literal(key));
            }
        }
    }
}
