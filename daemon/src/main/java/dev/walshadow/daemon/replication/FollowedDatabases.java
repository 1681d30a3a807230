package dev.walshadow.daemon.replication;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.catalog.DatabaseDescriptor;
import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.daemon.preflight.DatabaseSelection;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.shadow.DatabaseInfo;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The cluster's databases as of the newest capture, and which of them are followed. Written by the
 * WAL pump, or before it runs; read by any thread.
 */
final class FollowedDatabases implements SourceValues.Databases {
    private static final Logger LOG = LoggerFactory.getLogger(FollowedDatabases.class);

    /** invalid_catalog_name. */
    private static final String NO_SUCH_DATABASE = "3D000";

    private final DatabaseSelection selection;
    private final SourceDatabase source;

    /** The only one, where one is followed; else 0. */
    private final int one;

    private final Map<Integer, SourceEncoding> encodings = new ConcurrentHashMap<>();
    private volatile Map<Integer, DatabaseDescriptor> known = Map.of();

    // the pump's
    private int lastAsked;
    private boolean lastAnswer;

    /**
     * @param now the source's databases
     */
    FollowedDatabases(DatabaseSelection selection, SourceDatabase source, List<DatabaseInfo> now) {
        this.selection = selection;
        this.source = source;
        this.one =
                selection.several()
                        ? 0
                        : now.stream()
                                .filter(each -> selection.matches(each.name()))
                                .mapToInt(DatabaseInfo::oid)
                                .findFirst()
                                .orElse(0);
        update(now.stream().map(this::described).toList());
        source.useNames(this::names);
    }

    /** Whether names have their database. */
    boolean several() {
        return selection.several();
    }

    /** As a capture records it. */
    DatabaseDescriptor described(DatabaseInfo found) {
        boolean wanted = found.allowsConnections() && wants(found.oid(), found.name());
        boolean readable = !wanted || isReadable(found);
        return new DatabaseDescriptor(
                found.oid(),
                found.name(),
                found.encoding(),
                found.defaultTablespaceOid(),
                wanted && readable);
    }

    private boolean isReadable(DatabaseInfo found) {
        try {
            encodings.computeIfAbsent(found.oid(), _ -> SourceEncoding.named(found.encoding()));
            return true;
        } catch (ConfigurationException e) {
            LOG.error("the database {} is not followed: {}", found.name(), e.getMessage());
            return false;
        }
    }

    private boolean wants(int oid, String name) {
        return selection.several() ? selection.matches(name) : oid == one;
    }

    /** Whether the configuration selects it; as {@link #follows} but for a new configuration. */
    boolean wants(DatabaseDescriptor database) {
        return wants(database.oid(), database.name());
    }

    /** Whether its relations are in the log. */
    boolean follows(int oid) {
        DatabaseDescriptor database = known.get(oid);
        return database != null && database.followed();
    }

    /**
     * Whether its rows are kept until their commit: of every database that may be followed by then.
     * Those of one that appeared during the initial load are, since nobody knows its name yet. Used
     * by the pump, for every heap record.
     */
    boolean keeps(int oid) {
        if (oid != lastAsked) {
            DatabaseDescriptor database = known.get(oid);
            lastAnswer = one != 0 ? oid == one : database == null || wants(database);
            lastAsked = oid;
        }
        return lastAnswer;
    }

    /** The newest state. */
    void update(Collection<DatabaseDescriptor> now) {
        Map<Integer, DatabaseDescriptor> next = new HashMap<>();
        now.forEach(each -> next.put(each.oid(), each));
        now.stream().filter(DatabaseDescriptor::followed).forEach(this::learn);
        known = Map.copyOf(next);
        lastAsked = 0;
    }

    private void learn(DatabaseDescriptor database) {
        encodings.computeIfAbsent(database.oid(), _ -> SourceEncoding.named(database.encoding()));
    }

    /**
     * As the log has it, where there is an earlier run.
     *
     * @param position rows from here on come again, of databases that are gone by now too
     */
    void resume(DescriptorLog log, long position) {
        log.databases(position).stream().filter(DatabaseDescriptor::followed).forEach(this::learn);
        update(log.databases(log.lastLsn()));
    }

    /** True if the configuration follows others than the log has. */
    boolean differFromConfiguration() {
        return known.values().stream().anyMatch(each -> each.followed() != wants(each));
    }

    Collection<DatabaseDescriptor> known() {
        return known.values();
    }

    List<DatabaseDescriptor> followed() {
        return known.values().stream().filter(DatabaseDescriptor::followed).toList();
    }

    /** Those to connect to when any will do, the followed ones first. */
    List<String> names() {
        return known.values().stream()
                .sorted((a, b) -> Boolean.compare(b.followed(), a.followed()))
                .map(DatabaseDescriptor::name)
                .filter(name -> !name.equals("template0"))
                .toList();
    }

    @Override
    public boolean isGone(int oid) {
        return name(oid) == null;
    }

    /** Null: it is gone. */
    @Nullable String name(int oid) {
        DatabaseDescriptor database = known.get(oid);
        return database == null ? null : database.name();
    }

    /** Of a followed one, also after its end. */
    SourceEncoding encoding(int oid) {
        return encodings.getOrDefault(oid, SourceEncoding.UTF8);
    }

    /**
     * A session of the source on this database. Two can have exchanged their names: then the answer
     * is a failure until the stream has told.
     */
    @Override
    public Connection open(int oid) throws SQLException {
        String name = name(oid);
        if (name == null) {
            throw new SQLException(
                    "the database " + Integer.toUnsignedString(oid) + " is gone", NO_SUCH_DATABASE);
        }
        Connection session = source.open(name);
        boolean right = false;
        try {
            right = oidOf(session) == oid;
        } finally {
            if (!right) {
                session.close();
            }
        }
        if (!right) {
            throw new SQLException(
                    "the database " + name + " has another name by now", NO_SUCH_DATABASE);
        }
        return session;
    }

    private static int oidOf(Connection session) throws SQLException {
        try (Statement statement = session.createStatement();
                ResultSet row =
                        statement.executeQuery(
                                "SELECT oid::int8 FROM pg_catalog.pg_database"
                                        + " WHERE datname = pg_catalog.current_database()")) {
            return row.next() ? (int) row.getLong(1) : 0;
        }
    }
}
