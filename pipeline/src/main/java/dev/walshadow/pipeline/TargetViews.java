package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A view of the current rows beside each table: {@code FINAL}, without walshadow's own columns. It
 * follows its table: whoever has changed a table calls {@link #follow}, which brings the view to
 * the table's name and columns. A view is known by its comment, which also tells its definition.
 * What ClickHouse refuses, and a name that something else has, costs the view and nothing else.
 *
 * <p>Thread safe; one view is changed at a time, under the lock, so that names can change hands.
 */
final class TargetViews {
    private static final Logger LOG = LoggerFactory.getLogger(TargetViews.class);
    private static final Pattern COMMENT = Pattern.compile("(\\d+)\\.(\\d+), view ([0-9a-f]{8})$");

    /**
     * @param columns null: an earlier process has made it
     */
    private record View(TargetName name, String digest, @Nullable List<Column> columns) {}

    /** A view keeps the types that its table had when it was made. */
    private record Column(String name, String type) {
        static Column of(ColumnMapping column) {
            return new Column(column.name(), column.type().print());
        }
    }

    private final ClickHouseClient client;
    private final ViewNames pattern;
    private final TargetNames names;
    private final LongFunction<@Nullable TargetTable> tables;
    private final Map<Long, View> views = new HashMap<>();
    private final ReentrantLock lock = new ReentrantLock();

    /**
     * @param tables the generation that is current for a table's key
     */
    TargetViews(
            ClickHouseClient client,
            ViewNames pattern,
            TargetNames names,
            LongFunction<@Nullable TargetTable> tables) {
        this.client = client;
        this.pattern = pattern;
        this.names = names;
        this.tables = tables;
    }

    /**
     * At a start, when the tables are there: makes what is missing, and drops what nobody wants any
     * more.
     *
     * @param isKept whether the view of a table that is not followed stays
     */
    void takeUp(Collection<TargetTable> followed, LongPredicate isKept) {
        lock.lock();
        try {
            views.clear();
            Map<TargetName, Long> known = known();
            if (!pattern.isNone()) {
                Set<String> databases = new HashSet<>();
                List<TargetTable> wanting = new ArrayList<>();
                for (TargetTable table : followed) {
                    if (wantsView(table)) {
                        wanting.add(table);
                        databases.add(nameOf(table).database());
                    }
                }
                Map<TargetName, String> present = present(databases);
                wanting.forEach(table -> attempt(table, present));
            }
            known.forEach((name, key) -> {
                View view = views.get(key);
                boolean stays =
                        view != null
                                && view.name().equals(name)
                                && (isThere(key) || isKept.test(key));
                Long owner = owner(name);
                if (!stays && (owner == null || owner.equals(key))) {
                    views.values().removeIf(of -> of.name().equals(name));
                    drop(name);
                }
            });
        } finally {
            lock.unlock();
        }
    }

    /** The views that are ours, by their comments; each is noted for its table. */
    private Map<TargetName, Long> known() {
        Map<TargetName, Long> known = new HashMap<>();
        for (@Nullable String[] row :
                client.query(
                        "SELECT database, name, comment FROM system.tables WHERE engine = 'View'"
                                + " AND startsWith(comment, "
                                + Ddl.literal(names.mark())
                                + ")")) {
            Matcher comment = COMMENT.matcher(String.valueOf(row[2]));
            if (comment.find()) {
                TargetName name = new TargetName(String.valueOf(row[0]), String.valueOf(row[1]));
                long key =
                        Quarantine.key(
                                Integer.parseUnsignedInt(comment.group(1)),
                                Integer.parseUnsignedInt(comment.group(2)));
                known.put(name, key);
                if (!pattern.isNone()) {
                    views.put(key, new View(name, comment.group(3), null));
                }
            }
        }
        return known;
    }

    /** Comments of all that is in these databases. */
    private Map<TargetName, String> present(Set<String> databases) {
        return databases.isEmpty()
                ? Map.of()
                : client
                        .query(
                                "SELECT database, name, comment FROM system.tables WHERE database"
                                        + " IN ("
                                        + databases.stream()
                                                .map(Ddl::literal)
                                                .collect(Collectors.joining(", "))
                                        + ")")
                        .stream()
                        .collect(
                                Collectors.toMap(
                                        row ->
                                                new TargetName(
                                                        String.valueOf(row[0]),
                                                        String.valueOf(row[1])),
                                        row -> String.valueOf(row[2])));
    }

    /** It has a table of its own, or had one until its rows were set aside. */
    private boolean isThere(long key) {
        TargetTable table = tables.apply(key);
        return table != null && table.root() == null && table.state() != TableState.DROPPED;
    }

    /** A table with a place of its own, whose columns are known. */
    private static boolean wantsView(TargetTable table) {
        return table.root() == null && table.isFollowed() && table.pin().applied() != null;
    }

    /** Brings the table's view to what the table is now; throws what the client throws if away. */
    void follow(TargetTable table) {
        if (pattern.isNone()) {
            return;
        }
        lock.lock();
        try {
            if (table.root() != null) {
                remove(table);
            } else if (table.isFollowed() && table.mapping() != null) {
                attempt(table, null);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Columns that the table is about to lose, or to change, leave the view first. */
    void narrow(TargetTable table, TableMapping before) {
        if (pattern.isNone()) {
            return;
        }
        List<Column> kept = new ArrayList<>();
        for (ColumnMapping column : before.columns()) {
            boolean stays =
                    table.mapped().columns().stream()
                            .anyMatch(next ->
                                    next.attributeNumber() == column.attributeNumber()
                                            && Column.of(next).equals(Column.of(column)));
            if (stays) {
                kept.add(Column.of(column));
            }
        }
        lock.lock();
        try {
            View view = views.get(table.key());
            if (view != null && !kept.isEmpty() && kept.size() < before.columns().size()) {
                make(table, view.name(), TargetName.of(before), kept);
            }
        } catch (QuarantineException e) {
            refused(table, String.valueOf(e.getMessage()));
        } finally {
            lock.unlock();
        }
    }

    /** The table is dropped, and its view before it. */
    void remove(TargetTable table) {
        lock.lock();
        try {
            View view = views.remove(table.key());
            if (view != null) {
                drop(view.name());
            }
        } finally {
            lock.unlock();
        }
    }

    /** A table comes to this name: tables go before views. */
    void makeRoom(TargetName name) {
        lock.lock();
        try {
            LOG.warn(
                    "{} the view {} makes room for a table of that name",
                    PipelineCodes.VIEW_REFUSED,
                    name);
            drop(name);
            views.values().removeIf(view -> view.name().equals(name));
        } finally {
            lock.unlock();
        }
    }

    private TargetName nameOf(TargetTable table) {
        return pattern.of(TargetName.of(table.mapped()));
    }

    /**
     * @param present comments of what is there; null: it is asked for
     */
    private void attempt(TargetTable table, @Nullable Map<TargetName, String> present) {
        TableMapping applied = table.pin().applied();
        View old = views.get(table.key());
        List<Column> columns =
                applied != null
                        ? applied.columns().stream().map(Column::of).toList()
                        : old == null ? null : old.columns();
        if (columns == null || columns.isEmpty()) {
            return; // until its rows are there
        }
        TargetName name = nameOf(table);
        TargetName place = TargetName.of(table.mapped());
        if (old != null && old.name().equals(name) && old.digest().equals(digest(place, columns))) {
            views.put(table.key(), new View(name, old.digest(), columns));
            return;
        }
        try {
            String taken = taken(table, name, present);
            if (taken != null) {
                refused(table, name + " is " + taken);
            } else {
                make(table, name, place, columns);
            }
        } catch (QuarantineException e) {
            refused(table, String.valueOf(e.getMessage()));
            return;
        }
        if (old != null && !old.name().equals(name) && owner(old.name()) == null) {
            drop(old.name());
        }
    }

    /** What else has the name; null: nothing that stays. */
    private @Nullable String taken(
            TargetTable table, TargetName name, @Nullable Map<TargetName, String> present) {
        Long owner = owner(name);
        if (owner != null && owner != table.key()) {
            TargetTable other = tables.apply(owner);
            if (other != null
                    && other.isFollowed()
                    && other.mapping() != null
                    && nameOf(other).equals(name)) {
                return "the view of " + other.label();
            }
        }
        String comment =
                present != null
                        ? present.get(name)
                        : client.queryValue(
                                "SELECT comment FROM system.tables WHERE database = "
                                        + Ddl.literal(name.database())
                                        + " AND name = "
                                        + Ddl.literal(name.table()));
        return comment == null || names.isView(comment)
                ? null
                : "a table, or a view that is not walshadow's";
    }

    private @Nullable Long owner(TargetName name) {
        return views.entrySet().stream()
                .filter(view -> view.getValue().name().equals(name))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElse(null);
    }

    private void make(TargetTable table, TargetName name, TargetName place, List<Column> columns) {
        String digest = digest(place, columns);
        if (!name.database().equals(place.database())) {
            client.execute(Ddl.createDatabase(name.database()));
        }
        client.execute(
                "CREATE OR REPLACE VIEW "
                        + name.quoted()
                        + " AS "
                        + definition(place, columns)
                        + " COMMENT "
                        + Ddl.literal(names.viewComment(table, digest)));
        views.values().removeIf(view -> view.name().equals(name));
        views.put(table.key(), new View(name, digest, columns));
    }

    private static String definition(TargetName place, List<Column> columns) {
        return "SELECT "
                + columns.stream()
                        .map(column -> Ddl.identifier(column.name()))
                        .collect(Collectors.joining(", "))
                + " FROM "
                + place.quoted()
                + " FINAL";
    }

    private static String digest(TargetName place, List<Column> columns) {
        CRC32C crc = new CRC32C();
        crc.update((place + " " + columns).getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "%08x", crc.getValue());
    }

    /** A view that does not fit any more must not stay. */
    private void refused(TargetTable table, String why) {
        LOG.warn(
                "{} there is no view of the current rows of {}: {}",
                PipelineCodes.VIEW_REFUSED,
                table.label(),
                why);
        View old = views.remove(table.key());
        if (old != null) {
            drop(old.name());
        }
    }

    private void drop(TargetName name) {
        try {
            client.execute(dropping(name));
        } catch (QuarantineException e) {
            LOG.warn(
                    "{} the view {} cannot be dropped: {}",
                    PipelineCodes.VIEW_REFUSED,
                    name,
                    Objects.requireNonNullElse(e.getMessage(), ""));
        }
    }

    static String dropping(TargetName name) {
        return "DROP VIEW IF EXISTS " + name.quoted() + " SYNC";
    }
}
