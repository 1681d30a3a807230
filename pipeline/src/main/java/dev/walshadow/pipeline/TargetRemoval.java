package dev.walshadow.pipeline;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What walshadow made in ClickHouse for one source, to be taken away again: tables with replicated
 * rows, and its own database. A table is ours by its comment, whatever the ledger says.
 */
public final class TargetRemoval {
    private final List<ClickHouseClient> shards;
    private final String metadataDatabase;
    private final boolean metadata;

    /** Outside of walshadow's own database. */
    private final Set<TargetName> tables = new LinkedHashSet<>();

    private final Set<TargetName> views = new LinkedHashSet<>();
    private final Set<TargetName> distributed = new LinkedHashSet<>();

    /** Inside of it: what a load or an exchange was about to make. */
    private final Set<TargetName> scratch = new LinkedHashSet<>();

    private TargetRemoval(ClickHouseClient client, String metadataDatabase, boolean metadata) {
        this.shards = client.shards();
        this.metadataDatabase = metadataDatabase;
        this.metadata = metadata;
    }

    /**
     * Looks at what there is; changes nothing.
     *
     * @throws ConfigurationException if walshadow's database there belongs to another source
     */
    public static TargetRemoval look(
            ClickHouseClient client,
            String metadataDatabase,
            long systemIdentifier,
            String sourceName) {
        boolean exists =
                new MetadataDatabase(client, metadataDatabase, systemIdentifier, sourceName)
                        .existsInPart();
        TargetRemoval removal = new TargetRemoval(client, metadataDatabase, exists);
        String sql =
                "SELECT database, name, comment FROM system.tables WHERE startsWith(comment, "
                        + Ddl.literal(TargetNames.mark(systemIdentifier, metadataDatabase))
                        + ") ORDER BY database, name";
        for (ClickHouseClient shard : removal.shards) {
            for (@Nullable String[] row : shard.query(sql)) {
                TargetName name =
                        new TargetName(
                                Objects.requireNonNull(row[0]), Objects.requireNonNull(row[1]));
                removal.kind(name, Objects.requireNonNull(row[2])).add(name);
            }
        }
        return removal;
    }

    private Set<TargetName> kind(TargetName name, String comment) {
        if (TargetNames.isViewMark(comment)) {
            return views;
        }
        if (TargetNames.isDistributedMark(comment)) {
            return distributed;
        }
        return name.database().equals(metadataDatabase) ? scratch : tables;
    }

    /** Views of current rows, with their databases. */
    public List<String> views() {
        return views.stream().map(TargetName::toString).toList();
    }

    /** Distributed tables, which have no rows of their own, with their databases. */
    public List<String> distributed() {
        return distributed.stream().map(TargetName::toString).toList();
    }

    /** The Distributed tables too. */
    public void dropViews() {
        Companion kind = new Companion.CurrentRows(ViewNames.NONE, null);
        views.forEach(view -> shards.forEach(shard -> shard.execute(kind.drop(view))));
        distributed.forEach(this::drop);
    }

    /** Tables with replicated rows, with their databases. */
    public List<String> tables() {
        return tables.stream().map(TargetName::toString).toList();
    }

    /** Whether walshadow's own database is there. */
    public boolean hasMetadata() {
        return metadata;
    }

    public void dropTables() {
        tables.forEach(this::drop);
    }

    /**
     * Drops walshadow's own tables, and their database unless somebody else has tables there too.
     * The table that tells whose they are goes last, on the first shard: what is interrupted can be
     * run again.
     */
    public void dropMetadata() {
        scratch.forEach(this::drop);
        for (ClickHouseClient shard : shards.reversed()) {
            for (String name : MetadataDatabase.TABLES) {
                shard.execute(Ddl.dropTable(metadataDatabase, name));
            }
            String left =
                    shard.queryValue(
                            "SELECT count() FROM system.tables WHERE database = "
                                    + Ddl.literal(metadataDatabase));
            if ("0".equals(left)) {
                shard.execute("DROP DATABASE IF EXISTS " + Ddl.identifier(metadataDatabase));
            }
        }
    }

    private void drop(TargetName name) {
        shards.forEach(shard -> shard.execute(Ddl.dropTable(name.database(), name.table())));
    }
}
