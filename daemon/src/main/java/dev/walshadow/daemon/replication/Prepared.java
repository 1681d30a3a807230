package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.daemon.state.Manifest;
import dev.walshadow.pipeline.TargetTables;
import dev.walshadow.shadow.DatabaseInfo;
import dev.walshadow.shadow.ScratchCluster;
import dev.walshadow.source.replication.SystemIdentity;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What preflight found out.
 *
 * @param sourceName host, port and database, without secrets
 * @param manifest of an earlier, completed attach; null: this is the first
 * @param major of the source, 15 to 18
 * @param databases which are followed; lives on with the stream
 * @param databaseRows the source's databases at the start
 * @param relations every relation of the followed databases
 * @param scratch prints values of types that no codec knows; starts when it is first asked
 * @param pause whether ClickHouse is to be left alone; lives on with the stream
 * @param superusers roles to read the shadow with, best first
 */
record Prepared(
        String sourceName,
        SystemIdentity identity,
        int segmentSize,
        int major,
        String serverVersion,
        @Nullable Manifest manifest,
        FollowedDatabases databases,
        List<DatabaseInfo> databaseRows,
        List<RelationDescriptor> relations,
        List<String> superusers,
        TableSelection selection,
        ClickHouseClient client,
        TargetTables tables,
        ScratchCluster scratch,
        Pause pause) {

    boolean firstAttach() {
        return manifest == null;
    }

    Optional<Manifest> earlier() {
        return Optional.ofNullable(manifest);
    }

    List<RelationDescriptor> selected() {
        return selection.of(relations);
    }
}
