package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.daemon.DaemonCodes;
import dev.walshadow.daemon.state.SourceSettings;
import dev.walshadow.pipeline.TableTexts;
import dev.walshadow.pipeline.TableTexts.Change;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.postgres.RelationLocator;
import dev.walshadow.transaction.CommitSink;
import dev.walshadow.transaction.CommittedChanges;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Obeys the tables {@code config_settings (key, value)} and {@code config_tables (name, replicate)}
 * of a schema of the source: each commit that changes them is read out of the WAL, and acts when
 * the stream is there. A kill in between has the commit come again. A row without a meaning is told
 * with its place, and has no effect. On the pump.
 */
final class ConfigurationTables implements CommitSink {
    private static final Logger LOG = LoggerFactory.getLogger(ConfigurationTables.class);
    static final String SETTINGS = "config_settings";
    static final String TABLES = "config_tables";

    private final CommitSink next;
    private final DescriptorLog log;
    private final int database;
    private final Path file;
    private final long systemIdentifier;
    private final Consumer<SourceSettings> settingsChanged;
    private final TablesChanged tablesChanged;
    private SourceSettings now;

    /**
     * @param next gets every commit
     * @param now what the tables say
     * @param settingsChanged told what they say when it is durable
     * @param tablesChanged told when {@code config_tables} have changed
     */
    ConfigurationTables(
            CommitSink next,
            DescriptorLog log,
            int database,
            Place place,
            SourceSettings now,
            Consumer<SourceSettings> settingsChanged,
            TablesChanged tablesChanged) {
        this.next = next;
        this.log = log;
        this.database = database;
        this.file = place.file();
        this.systemIdentifier = place.systemIdentifier();
        this.now = now;
        this.settingsChanged = settingsChanged;
        this.tablesChanged = tablesChanged;
    }

    /** Which names have changed at a commit's position. */
    interface TablesChanged {
        void changed(Set<String> names, long position, SourceSettings after)
                throws InterruptedException;
    }

    /** Where it is kept. */
    record Place(Path file, long systemIdentifier) {}

    @Override
    public void commit(CommittedChanges changes) throws InterruptedException {
        long position = changes.commitPosition();
        List<Change> found =
                position <= now.position() || changes.databaseOid() != database
                        ? List.of()
                        : read(changes, position);
        next.commit(changes);
        if (!found.isEmpty()) {
            apply(found, position);
        }
    }

    private List<Change> read(CommittedChanges changes, long position) {
        Map<Integer, @Nullable RelationDescriptor> known = new HashMap<>();
        return TableTexts.of(
                changes,
                (tablespace, number) ->
                        known.computeIfAbsent(
                                number,
                                _ ->
                                        wanted(
                                                log.find(
                                                        new RelationLocator(
                                                                tablespace, database, number),
                                                        position))),
                oid -> wanted(log.find(database, oid, position)));
    }

    private @Nullable RelationDescriptor wanted(@Nullable RelationDescriptor relation) {
        return relation != null && isOne(relation, now.schema()) ? relation : null;
    }

    /** Whether it is one of the two of this schema. */
    static boolean isOne(RelationDescriptor relation, String schema) {
        return relation.kind() == 'r'
                && relation.name().schema().equals(schema)
                && (relation.name().name().equals(SETTINGS)
                        || relation.name().name().equals(TABLES));
    }

    private void apply(List<Change> changes, long position) throws InterruptedException {
        Map<String, String> settings = new TreeMap<>(now.settings());
        Map<String, Boolean> tables = new TreeMap<>(now.tables());
        for (Change change : changes) {
            if (change.table().name().name().equals(SETTINGS)) {
                settings(change, settings, position);
            } else {
                tables(change, tables, position);
            }
        }
        SourceSettings before = now;
        SourceSettings after = new SourceSettings(before.schema(), position, settings, tables);
        Set<String> names = changed(before.tables(), tables);
        if (!names.isEmpty()) {
            tablesChanged.changed(names, position, after);
        }
        try {
            after.write(file, systemIdentifier);
        } catch (IOException e) {
            throw new ConfigurationException(
                    DaemonCodes.STATE_UNUSABLE,
                    file + " cannot be written (" + e + "); make room or mend its rights",
                    e);
        }
        now = after;
        settingsChanged.accept(after);
    }

    private static Set<String> changed(Map<String, Boolean> before, Map<String, Boolean> after) {
        Set<String> names = new LinkedHashSet<>(before.keySet());
        names.addAll(after.keySet());
        names.removeIf(name -> Objects.equals(before.get(name), after.get(name)));
        return names;
    }

    private void settings(Change change, Map<String, String> settings, long position) {
        switch (change) {
            case Change.Emptied _ -> settings.clear();
            case Change.Gone gone -> settings.remove(gone.key().getOrDefault("key", ""));
            case Change.Row row -> {
                String key = row.values().get("key");
                String value = row.values().get("value");
                if (key == null || value == null) {
                    refused(SETTINGS, key, position, "key and value must be there, as text");
                } else {
                    settings.put(key, value);
                }
            }
            case Change.Unreadable row -> refused(SETTINGS, null, position, row.reason());
        }
    }

    private void tables(Change change, Map<String, Boolean> tables, long position) {
        switch (change) {
            case Change.Emptied _ -> tables.clear();
            case Change.Gone gone -> tables.remove(gone.key().getOrDefault("name", ""));
            case Change.Row row -> {
                String name = row.values().get("name");
                String followed = row.values().get("replicate");
                if (name == null || followed == null) {
                    refused(TABLES, name, position, "name and replicate must be there");
                } else {
                    tables.put(name, followed.equals("t") || followed.equals("true"));
                }
            }
            case Change.Unreadable row -> refused(TABLES, null, position, row.reason());
        }
    }

    private void refused(String table, @Nullable String key, long position, String reason) {
        LOG.warn(
                "{} {}.{}{} at {} has no effect: {}",
                DaemonCodes.SOURCE_CONFIGURATION,
                now.schema(),
                table,
                key == null ? "" : ", row " + key,
                Lsn.format(position),
                reason);
    }
}
