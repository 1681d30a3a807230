package dev.walshadow.daemon.replication;

import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.catalog.RelationShapes;
import dev.walshadow.daemon.preflight.TableSelection;
import dev.walshadow.pipeline.Pipeline;
import dev.walshadow.pipeline.PipelineCodes;
import dev.walshadow.pipeline.TableState;
import dev.walshadow.pipeline.TableStatus;
import dev.walshadow.postgres.Lsn;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what a catalog change means for the replicated tables: a changed shape sets the table
 * aside, by name and with the difference; a new table is taken in. Called by the pump at a hold.
 */
final class ReplicatedTables implements CatalogCapture.Changes {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicatedTables.class);

    private static final String REMEDY =
            "attach anew with an empty [state] dir and empty target tables";

    private final Pipeline pipeline;
    private final TableSelection selection;

    ReplicatedTables(Pipeline pipeline, TableSelection selection) {
        this.pipeline = pipeline;
        this.selection = selection;
    }

    @Override
    public void appeared(RelationDescriptor relation, long position) throws InterruptedException {
        if (selection.matches(relation)) {
            LOG.info("{} was created at {}", relation.label(), Lsn.format(position));
            pipeline.addTable(relation, position);
        }
    }

    @Override
    public void changed(RelationDescriptor before, RelationDescriptor after, long position) {
        String difference = RelationShapes.shapeDiffers(before, after);
        if (difference != null && selection.matches(before)) {
            setAside(
                    before,
                    "its shape changed at "
                            + Lsn.format(position)
                            + ": "
                            + difference
                            + "; "
                            + REMEDY,
                    position);
        }
    }

    @Override
    public void dropped(RelationDescriptor before, long position) {
        if (selection.matches(before)) {
            setAside(
                    before,
                    "the table was dropped on the source at "
                            + Lsn.format(position)
                            + "; its rows stay in ClickHouse as they were",
                    position);
        }
    }

    /**
     * For what changed while the initial load ran. Commits of that time were decoded with the
     * shapes and the storage from before it, so rows in newer storage, and of newer tables, are not
     * here: such a table is stopped by name.
     */
    CatalogCapture.Changes duringInitialLoad() {
        return new CatalogCapture.Changes() {
            @Override
            public void appeared(RelationDescriptor relation, long position) {
                if (selection.matches(relation)) {
                    pipeline.holdBack(
                            relation, "it was created while the initial load ran; " + REMEDY);
                }
            }

            @Override
            public void changed(
                    RelationDescriptor before, RelationDescriptor after, long position) {
                String difference = RelationShapes.shapeDiffers(before, after);
                if (difference == null && !Objects.equals(before.locator(), after.locator())) {
                    difference = "its storage changed (TRUNCATE, VACUUM FULL, CLUSTER)";
                }
                if (difference != null && selection.matches(before)) {
                    setAside(
                            before,
                            "while the initial load ran: " + difference + "; " + REMEDY,
                            position);
                }
            }

            @Override
            public void dropped(RelationDescriptor before, long position) {
                ReplicatedTables.this.dropped(before, position);
            }
        };
    }

    private void setAside(RelationDescriptor relation, String reason, long position) {
        LOG.warn("{} {}: {}", PipelineCodes.SHAPE_CHANGED, relation.label(), reason);
        pipeline.quarantine(
                relation.databaseOid(),
                relation.oid(),
                PipelineCodes.SHAPE_CHANGED,
                reason,
                position);
    }

    /** Every table that is held back or quarantined, with its reason. */
    static List<String> setAside(Pipeline pipeline) {
        List<String> lines = new ArrayList<>();
        for (TableStatus table : pipeline.tables()) {
            if (table.state() == TableState.HELD || table.state() == TableState.QUARANTINED) {
                lines.add(table.name() + " is not replicated: " + table.reason());
            }
        }
        return lines;
    }
}
