package dev.walshadow.pipeline;

import dev.walshadow.base.HaltException;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.MetadataDatabase.LedgerRow;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the tables of a first attach on one shard, in place of those of one that was not finished.
 */
final class TargetCreation {
    private static final Logger LOG = LoggerFactory.getLogger(TargetCreation.class);
    private static final int CREATES_AT_ONCE = 8;

    private final ClickHouseClient client;
    private final TargetNames names;

    TargetCreation(ClickHouseClient client, TargetNames names) {
        this.client = client;
        this.names = names;
    }

    /**
     * Drops what an attach made that was not finished; names of then may be others' by now. Returns
     * the rows of relations that are not selected any more.
     *
     * @param unfinished the ledger's tables are all of such an attach
     * @param existing tables that stay
     */
    List<LedgerRow> dropUnfinished(
            Map<Long, LedgerRow> ledger,
            Collection<RelationDescriptor> selected,
            boolean unfinished,
            Set<TargetName> existing) {
        Set<Long> keys = new HashSet<>();
        selected.forEach(shape -> keys.add(Quarantine.key(shape.databaseOid(), shape.oid())));
        List<LedgerRow> gone = new ArrayList<>();
        ledger.forEach((key, row) -> {
            boolean isSelected = keys.contains(key);
            if (row.hasTarget()
                    && (isSelected || unfinished)
                    && !existing.contains(
                            new TargetName(row.targetDatabase(), row.targetTable()))) {
                client.execute(Ddl.dropTable(row.targetDatabase(), row.targetTable()));
            }
            if (!isSelected && unfinished) {
                gone.add(row.dropped());
            }
        });
        return gone;
    }

    /**
     * @param existing those of the tables that are there, and are only marked as ours
     */
    void createAll(List<TargetTable> tables, List<TargetTable> existing) {
        long started = System.nanoTime();
        tables.stream()
                .map(table -> table.mapped().database())
                .distinct()
                .forEach(database -> client.execute(Ddl.createDatabase(database)));
        try (ExecutorService pool =
                Executors.newFixedThreadPool(CREATES_AT_ONCE, Thread.ofVirtual().factory())) {
            List<Future<?>> creations = new ArrayList<>();
            for (TargetTable table : tables) {
                creations.add(pool.submit(() -> create(table)));
            }
            for (Future<?> creation : creations) {
                creation.get();
            }
            existing.forEach(this::mark);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException known
                    ? known
                    : new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HaltException(PipelineCodes.STOPPED, "interrupted while creating tables", e);
        }
        LOG.info(
                "{} tables created in ClickHouse in {} s",
                tables.size(),
                String.format(Locale.ROOT, "%.1f", (System.nanoTime() - started) / 1e9));
    }

    private void mark(TargetTable table) {
        client.execute(names.marking(table, TargetName.of(table.mapped())));
    }

    private void create(TargetTable table) {
        TargetName name = TargetName.of(table.mapped());
        client.execute(table.mapped().toDdl(name.database(), name.table(), names.comment(table)));
    }
}
