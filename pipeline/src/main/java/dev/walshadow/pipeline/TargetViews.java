package dev.walshadow.pipeline;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.Companion.Column;
import dev.walshadow.pipeline.Companion.Content;
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
 * A {@link Companion} beside each table, called view here: of several shards on each. It follows
 * its table: whoever has changed a table calls {@link #follow}, which brings the view to the
 * table's name and columns. A view is known by its comment, which also tells its definition. What
 * ClickHouse refuses, and a name that something else has, costs the view and nothing else.
 *
 * <p>Thread safe; one view is changed at a time, under the lock, so that names can change hands.
 */
final class TargetViews {
    private static final Logger LOG = LoggerFactory.getLogger(TargetViews.class);

    /**
     * @param digest empty: not the same on all shards
     * @param content null: an earlier process has made it
     */
    private record View(TargetName name, String digest, @Nullable Content content) {}

    private final List<ClickHouseClient> shards;
    private final Companion kind;
    private final ViewNames pattern;
    private final Pattern commentPattern;

    /** What these read, so that it is made before them and dropped after them. */
    private final @Nullable TargetViews below;

    private final TargetNames names;
    private final LongFunction<@Nullable TargetTable> tables;
    private final Map<Long, View> views = new HashMap<>();
    private final ReentrantLock lock = new ReentrantLock();

    /**
     * @param below what these read; null: the tables
     * @param tables the generation that is current for a table's key
     */
    TargetViews(
            ClickHouseClient client,
            Companion kind,
            @Nullable TargetViews below,
            TargetNames names,
            LongFunction<@Nullable TargetTable> tables) {
        this.shards = client.shards();
        this.kind = kind;
        this.pattern = kind.names();
        this.commentPattern =
                Pattern.compile("(\\d+)\\.(\\d+), " + kind.word() + " ([0-9a-f]{8})$");
        this.below = below;
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
        if (below != null) {
            below.takeUp(followed, isKept);
        }
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
        Map<TargetName, List<String>> comments = new HashMap<>();
        String sql =
                "SELECT database, name, comment FROM system.tables WHERE engine = "
                        + Ddl.literal(kind.engine())
                        + " AND startsWith(comment, "
                        + Ddl.literal(names.mark())
                        + ")";
        for (ClickHouseClient shard : shards) {
            for (@Nullable String[] row : shard.query(sql)) {
                comments.computeIfAbsent(name(row), _ -> new ArrayList<>())
                        .add(String.valueOf(row[2]));
            }
        }
        comments.forEach((name, on) -> {
            Matcher comment = commentPattern.matcher(on.getFirst());
            if (comment.find()) {
                long key =
                        Quarantine.key(
                                Integer.parseUnsignedInt(comment.group(1)),
                                Integer.parseUnsignedInt(comment.group(2)));
                known.put(name, key);
                boolean whole = on.size() == shards.size() && Set.copyOf(on).size() == 1;
                if (!pattern.isNone()) {
                    views.put(key, new View(name, whole ? comment.group(3) : "", null));
                }
            }
        });
        return known;
    }

    private static TargetName name(@Nullable String[] row) {
        return new TargetName(String.valueOf(row[0]), String.valueOf(row[1]));
    }

    /** Comments of all that is in these databases, of what is not ours first. */
    private Map<TargetName, String> present(Set<String> databases) {
        Map<TargetName, String> present = new HashMap<>();
        if (!databases.isEmpty()) {
            String sql =
                    "SELECT database, name, comment FROM system.tables WHERE database IN ("
                            + databases.stream().map(Ddl::literal).collect(Collectors.joining(", "))
                            + ")";
            for (ClickHouseClient shard : shards) {
                for (@Nullable String[] row : shard.query(sql)) {
                    present.merge(
                            name(row),
                            String.valueOf(row[2]),
                            (one, other) -> isOneOfThese(one) ? other : one);
                }
            }
        }
        return present;
    }

    private boolean isOneOfThese(String comment) {
        return names.isCompanion(kind, comment);
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
        if (below != null) {
            below.follow(table);
        }
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
        if (!pattern.isNone()) {
            narrowThese(table, before);
        }
        if (below != null) {
            below.narrow(table, before);
        }
    }

    private void narrowThese(TargetTable table, TableMapping before) {
        Set<String> lost = new HashSet<>();
        for (ColumnMapping column : before.columns()) {
            boolean stays =
                    table.mapped().columns().stream()
                            .anyMatch(next ->
                                    next.attributeNumber() == column.attributeNumber()
                                            && Column.of(next).equals(Column.of(column)));
            if (!stays) {
                lost.add(column.name());
            }
        }
        List<Column> kept =
                kind.columns(before).stream()
                        .filter(column -> !lost.contains(column.name()))
                        .toList();
        lock.lock();
        try {
            View view = views.get(table.key());
            if (view != null && !kept.isEmpty() && !lost.isEmpty()) {
                make(
                        table,
                        view.name(),
                        TargetName.of(before),
                        new Content(kept, kind.detail(before, kept)));
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
        if (below != null) {
            below.remove(table);
        }
    }

    /**
     * A table comes to this name: tables go before views.
     *
     * @param comment of what is there
     */
    void makeRoom(TargetName name, String comment) {
        if (!isOneOfThese(comment)) {
            if (below != null) {
                below.makeRoom(name, comment);
            }
            return;
        }
        lock.lock();
        try {
            LOG.warn(
                    "{} the {} {} makes room for a table of that name",
                    PipelineCodes.VIEW_REFUSED,
                    kind.noun(),
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
        Content content = applied != null ? content(applied) : old == null ? null : old.content();
        if (content == null || content.columns().isEmpty()) {
            return; // until its rows are there
        }
        TargetName name = nameOf(table);
        TargetName place = TargetName.of(table.mapped());
        if (old != null && old.name().equals(name) && old.digest().equals(digest(place, content))) {
            views.put(table.key(), new View(name, old.digest(), content));
            return;
        }
        try {
            String taken = taken(table, name, present);
            if (taken != null) {
                refused(table, name + " is " + taken);
            } else {
                make(table, name, place, content);
            }
        } catch (QuarantineException e) {
            refused(table, String.valueOf(e.getMessage()));
            return;
        }
        if (old != null && !old.name().equals(name) && owner(old.name()) == null) {
            drop(old.name());
        }
    }

    private Content content(TableMapping mapping) {
        List<Column> columns = kind.columns(mapping);
        return new Content(columns, kind.detail(mapping, columns));
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
        Map<TargetName, String> there =
                present == null ? present(Set.of(name.database())) : present;
        String comment = there.get(name);
        return comment == null || isOneOfThese(comment)
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

    private void make(TargetTable table, TargetName name, TargetName place, Content content) {
        String digest = digest(place, content);
        String statement =
                kind.make(name, place, content, names.companionComment(table, kind, digest));
        for (ClickHouseClient shard : shards) {
            if (!name.database().equals(place.database())) {
                shard.execute(Ddl.createDatabase(name.database()));
            }
            shard.execute(statement);
        }
        views.values().removeIf(view -> view.name().equals(name));
        views.put(table.key(), new View(name, digest, content));
    }

    private String digest(TargetName place, Content content) {
        CRC32C crc = new CRC32C();
        String text = place + " " + content.columns();
        String more = kind.reads() + " " + content.detail();
        crc.update((more.isBlank() ? text : text + " " + more).getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "%08x", crc.getValue());
    }

    /** A view that does not fit any more must not stay. */
    private void refused(TargetTable table, String why) {
        LOG.warn(
                "{} there is no {} of {}: {}",
                PipelineCodes.VIEW_REFUSED,
                kind.description(),
                table.label(),
                why);
        View old = views.remove(table.key());
        if (old != null) {
            drop(old.name());
        }
    }

    private void drop(TargetName name) {
        try {
            shards.forEach(shard -> shard.execute(kind.drop(name)));
        } catch (QuarantineException e) {
            LOG.warn(
                    "{} the {} {} cannot be dropped: {}",
                    PipelineCodes.VIEW_REFUSED,
                    kind.noun(),
                    name,
                    Objects.requireNonNullElse(e.getMessage(), ""));
        }
    }
}
