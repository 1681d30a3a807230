package dev.walshadow.source.store;

import dev.walshadow.postgres.Lsn;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The WAL archive of wal-g: {@code wal_005/<segment file name>.<compression>} and {@code
 * wal_005/<timeline>.history.<compression>}. After wal-g's {@code utility.WalPath} and {@code
 * internal/databases/postgres/wal_fetch_handler.go}.
 */
public final class WalgArchive implements SegmentSource {
    private static final String FOLDER = "wal_005/";

    /** A history has a line of some 60 bytes per promotion. */
    private static final int HISTORY_BYTES = 1 << 20;

    private final ObjectStore store;
    private final int segmentSize;

    /** An archive is compressed in one way as a rule: tried first. */
    private volatile Compression latest = Compression.LZ4;

    public WalgArchive(ObjectStore store, int segmentSize) {
        this.store = store;
        this.segmentSize = segmentSize;
    }

    @Override
    public @Nullable ReadObject segment(int timeline, long lsn) {
        return find(FOLDER + Lsn.segmentFileName(timeline, lsn, segmentSize));
    }

    @Override
    public Optional<TimelineHistory> history(int timeline) {
        ReadObject found = find(FOLDER + String.format(Locale.ROOT, "%08X.history", timeline));
        if (found == null) {
            return Optional.empty();
        }
        try (found) {
            byte[] text = new byte[HISTORY_BYTES];
            int length = 0;
            int count;
            while (length < text.length
                    && (count = found.read(text, length, text.length - length)) >= 0) {
                length += count;
            }
            try {
                return Optional.of(
                        TimelineHistory.parse(
                                timeline, new String(text, 0, length, StandardCharsets.UTF_8)));
            } catch (IllegalArgumentException e) {
                throw found.damaged("it is no timeline history: " + e.getMessage());
            }
        }
    }

    private @Nullable ReadObject find(String name) {
        for (Compression compression : inOrder()) {
            ReadObject found = ReadObject.find(store, name + compression.suffix(), compression);
            if (found != null) {
                latest = compression;
                return found;
            }
        }
        return null;
    }

    private List<Compression> inOrder() {
        Compression first = latest;
        List<Compression> order = new ArrayList<>(List.of(Compression.values()));
        order.remove(first);
        order.addFirst(first);
        return order;
    }

    @Override
    public String address() {
        return store.address();
    }
}
