package dev.walshadow.catalog;

import dev.walshadow.postgres.RelationLocator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a descriptor log recorded, in its order, for people to read. Reads the file as it is at one
 * moment and changes nothing, so it works beside the daemon that writes it.
 *
 * @param systemIdentifier of the source cluster, unsigned
 */
public record DescriptorHistory(long systemIdentifier, List<Change> changes) {
    /**
     * One relation at one position.
     *
     * @param before null if the log did not know it before
     * @param after null if it was dropped
     * @param unread its shape changed into one that was not read; {@code after} is the one before
     */
    public record Change(
            long lsn,
            int databaseOid,
            @Nullable RelationDescriptor before,
            @Nullable RelationDescriptor after,
            boolean unread,
            String what) {
        /** The name that it had, or has since. */
        public RelationDescriptor relation() {
            return after != null ? after : Objects.requireNonNull(before);
        }
    }

    private static final String UNREAD =
            "changed while it is left out: columns and keys are read when they are needed";

    private record Key(int databaseOid, int relationOid) {}

    public DescriptorHistory {
        changes = List.copyOf(changes);
    }

    /**
     * Reads the log in {@code directory}.
     *
     * @throws dev.walshadow.base.ConfigurationException if a newer version wrote it
     * @throws dev.walshadow.base.HaltException if it is damaged, or cannot be read
     */
    public static DescriptorHistory read(Path directory) {
        Reading reading = new Reading();
        long owner =
                DescriptorLogFile.readOnly(directory.resolve(DescriptorLog.FILE_NAME), reading);
        return new DescriptorHistory(owner, reading.changes);
    }

    /** Every relation's last change, in no order; dropped ones are not among them. */
    public List<Change> newest() {
        Map<Key, Change> newest = new HashMap<>();
        for (Change change : changes) {
            newest.put(new Key(change.databaseOid(), change.relation().oid()), change);
        }
        return newest.values().stream().filter(change -> change.after() != null).toList();
    }

    private static final class Reading implements DescriptorLogFile.FrameSink {
        private final DescriptorPool pool = new DescriptorPool();
        private final Map<Key, RelationDescriptor> known = new HashMap<>();
        private final List<Change> changes = new ArrayList<>();
        private final Set<Key> unread = new HashSet<>();
        private long first;

        @Override
        public void frame(byte[] bytes, int offset, int length) {
            DescriptorLog.Frame frame = DescriptorLog.Frame.read(bytes, offset, length, pool);
            long lsn = frame.lsn();
            first = first == 0 && !frame.present().isEmpty() ? lsn : first;
            for (DescriptorLog.Dropped dropped : frame.dropped()) {
                drop(lsn, dropped);
            }
            for (RelationDescriptor relation : frame.present()) {
                Key key = new Key(relation.databaseOid(), relation.oid());
                RelationDescriptor before = known.put(key, relation);
                String what =
                        before == null
                                ? lsn == first ? "known from here on" : "created"
                                : (unread.remove(key) ? "read again: " : "")
                                        + difference(before, relation);
                changes.add(new Change(lsn, relation.databaseOid(), before, relation, false, what));
            }
            frame.unread().forEach(debtor -> changeUnread(lsn, debtor));
        }

        private void changeUnread(long lsn, OwedShapes.Debtor debtor) {
            Key key = new Key(debtor.databaseOid(), debtor.relationOid());
            RelationDescriptor relation = known.get(key);
            if (relation != null) {
                unread.add(key);
                changes.add(new Change(lsn, key.databaseOid(), relation, relation, true, UNREAD));
            }
        }

        private void drop(long lsn, DescriptorLog.Dropped dropped) {
            Key key = new Key(dropped.databaseOid(), dropped.relationOid());
            RelationDescriptor before = known.remove(key);
            unread.remove(key);
            if (before != null) {
                changes.add(new Change(lsn, key.databaseOid(), before, null, false, "dropped"));
            }
        }

        private static String difference(RelationDescriptor before, RelationDescriptor after) {
            String shape = RelationShapes.shapeDiffers(before, after);
            List<String> parts = new ArrayList<>();
            if (shape != null) {
                parts.add(shape);
            }
            if (!Objects.equals(before.locator(), after.locator())) {
                parts.add("its storage went to " + place(after.locator()));
            }
            if (parts.isEmpty()) {
                parts.add("nothing that matters for its rows (NOT NULL, storage options, TOAST)");
            }
            return String.join("; ", parts);
        }

        private static String place(@Nullable RelationLocator locator) {
            return locator == null ? "none" : locator.toString();
        }
    }
}
