package dev.walshadow.pipeline;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.ddl.TableAlteration;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.pipeline.mapping.TableShape;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What becomes, on one shard, of the versions in a table that keeps all of them when another table
 * takes its place: they are carried into that one where it has the same shape, else the table stays
 * under a name of its own. Which one it will have is told by its comment, before anything else is
 * done to it, so that a kill at any point loses nothing.
 */
final class KeptHistory {
    private static final Logger LOG = LoggerFactory.getLogger(KeptHistory.class);
    private static final String SUFFIX = "_history";

    private final ClickHouseClient client;
    private final TargetNames names;

    KeptHistory(ClickHouseClient client, TargetNames names) {
        this.client = client;
        this.names = names;
    }

    /** Whether what is there keeps every version. */
    boolean isHistory(TargetName place) {
        return TableMapping.keepsVersions(TableShape.read(client, place.database(), place.table()));
    }

    /**
     * Before a table that is complete takes this one's place.
     *
     * @param from the mapping of what is there, as far as that is known
     * @param complete what has the rows from {@code limit} on
     */
    void hand(
            TargetTable table,
            TargetName place,
            @Nullable TableMapping from,
            TargetName complete,
            Sweep.Version limit) {
        TableShape there = TableShape.read(client, place.database(), place.table());
        if (there == null || !TableMapping.keepsVersions(there)) {
            return;
        }
        TableMapping to = table.mapped();
        boolean carried =
                to.append()
                        && TableAlteration.carry(
                                client,
                                there,
                                complete.quoted(),
                                from,
                                to,
                                table.shape(),
                                limit.text());
        if (carried) {
            client.execute(Sweep.statement(to, 0, complete, limit), Sweep.SETTINGS);
        } else {
            mark(table, place, place);
        }
    }

    /** Says by its comment that what is there is kept, beside {@code home}. */
    void mark(TargetTable table, TargetName place, TargetName home) {
        String comment = ShardDdl.commentOf(client, place);
        if (comment != null && names.historyName(comment) == null) {
            TargetName free = free(home);
            LOG.warn(
                    "{} the versions of rows of {} up to here stay in {}: its table begins anew in"
                            + " another shape",
                    PipelineCodes.HISTORY_KEPT,
                    table.label(),
                    free);
            client.execute(
                    "ALTER TABLE "
                            + place.quoted()
                            + " MODIFY COMMENT "
                            + Ddl.literal(names.historyComment(table, free.quoted())));
        }
    }

    private TargetName free(TargetName home) {
        for (int i = 1; ; i++) {
            TargetName free =
                    new TargetName(
                            home.database(), home.table() + SUFFIX + (i == 1 ? "" : "_" + i));
            if (ShardDdl.commentOf(client, free) == null) {
                return free;
            }
        }
    }

    /**
     * Moves what is marked to its name.
     *
     * @return false if there is no such table
     */
    boolean release(TargetName place) {
        String comment = ShardDdl.commentOf(client, place);
        String kept = comment == null ? null : names.historyName(comment);
        if (kept == null) {
            return false;
        }
        if (!kept.equals(place.quoted())) {
            client.execute("RENAME TABLE " + place.quoted() + " TO " + kept);
        }
        return true;
    }
}
