package dev.walshadow.pipeline;

import dev.walshadow.catalog.DescriptorLog;
import dev.walshadow.catalog.Partitions;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TablePattern;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One source, its state directory and its pipeline, against a running engine. */
final class PipelineHarness implements AutoCloseable {
    static final long SYSTEM = 7_000_000_000_000_000_123L;
    static final long B = 0x100_0000;

    final Path state;
    final String metadata;
    final ClickHouseClient client;
    final DescriptorLog descriptors;
    final List<RelationDescriptor> shapes = new ArrayList<>();
    final List<String> events = java.util.Collections.synchronizedList(new ArrayList<>());
    final BlockingQueue<LoadTicket> loads = new LinkedBlockingQueue<>();
    UnaryOperator<PipelineOptions> tune = options -> options;
    List<TablePattern> append = List.of();
    @Nullable SourceLookup lookup;
    TargetTables tables;
    Quarantine quarantine;

    final TargetGate gate = new TargetGate();

    @SuppressWarnings("NullAway.Init")
    Pipeline pipeline;

    /**
     * @param name of the source schema, so of the target database
     */
    PipelineHarness(Path directory, String url, String name, ItemsTable... followed)
            throws Exception {
        this(directory, List.of(url), name, followed);
    }

    /**
     * @param urls of each shard
     */
    PipelineHarness(Path directory, List<String> urls, String name, ItemsTable... followed)
            throws Exception {
        state = Files.createDirectories(directory.resolve(name));
        metadata = "walshadow_" + name;
        client =
                ClickHouseClient.ofShards(
                        urls.stream()
                                .map(url ->
                                        ClickHouseOptions.at(url)
                                                .withTimeouts(
                                                        Duration.ofSeconds(2),
                                                        Duration.ofSeconds(60)))
                                .toList());
        descriptors = DescriptorLog.open(state.resolve("desclog"), SYSTEM);
        List<RelationDescriptor> described = new ArrayList<>();
        for (ItemsTable table : followed) {
            shapes.add(table.shape());
            described.add(table.toastShape());
        }
        described.addAll(shapes);
        descriptors.append(1, described, List.of(), ItemsTable.DATABASE);
        tables = open();
        quarantine = Quarantine.open(state, SYSTEM);
    }

    TargetTables open() {
        return open(TargetOptions.OnExisting.REFUSE);
    }

    TargetTables open(TargetOptions.OnExisting policy) {
        return TargetTables.open(
                client,
                new TargetOptions(
                                metadata,
                                SYSTEM,
                                "test",
                                MappingRules.defaults()
                                        .withNames("", metadata, Map.of())
                                        .withAppend(append),
                                _ -> SourceEncoding.UTF8,
                                TargetOptions.OnDrop.RETAIN,
                                false)
                        .withOnExisting(policy));
    }

    /** First attach; every table is live at once, as if it had been empty. */
    PipelineHarness started() throws Exception {
        return attached().live();
    }

    PipelineHarness attached() {
        tables.attach(shapes, Partitions.among(shapes), B);
        start(0);
        return this;
    }

    PipelineHarness live() throws Exception {
        for (RelationDescriptor shape : shapes) {
            pipeline.baselineComplete(shape.databaseOid(), shape.oid());
        }
        pipeline.settleLedger();
        return this;
    }

    void start(long durableLsn) {
        PipelineOptions options =
                tune.apply(PipelineOptions.defaults(SYSTEM, state)).withDurableLsn(durableLsn);
        pipeline =
                Pipeline.start(
                        options,
                        new Pipeline.Surroundings(
                                client,
                                descriptors,
                                tables,
                                quarantine,
                                new Recorder(),
                                lookup,
                                gate));
    }

    /** The tables as a later start has them. */
    void resume(long durable) {
        tables = open();
        tables.resume(
                descriptors,
                durable,
                (relation, position) ->
                        shapes.stream().anyMatch(shape -> shape.oid() == relation.oid()));
    }

    /** As after a kill of the process: nothing but what is durable remains. */
    long restart() {
        long durable = pipeline.watermark().durableLsn();
        pipeline.close();
        resume(Math.max(durable, B)); // before the first commit is durable: where the load began
        quarantine = Quarantine.open(state, SYSTEM);
        start(durable);
        return durable;
    }

    /** Position, revision and commit time of the watermark in ClickHouse; null: it has none yet. */
    @Nullable String @Nullable [] watermarkRow() {
        List<@Nullable String[]> rows =
                client.query(
                        "SELECT durable, revision, commit_ts FROM "
                                + metadata
                                + ".watermark FINAL");
        return rows.isEmpty() ? null : rows.getFirst();
    }

    /** Rows as FINAL shows them, by id: name|big|n. */
    Map<Long, String> rows(ItemsTable table) {
        Map<Long, String> rows = new TreeMap<>();
        for (@Nullable String[] row :
                client.query(
                        "SELECT id, name, big, n FROM "
                                + table.schema()
                                + "."
                                + table.name()
                                + " FINAL")) {
            rows.put(Long.valueOf(String.valueOf(row[0])), row[1] + "|" + row[2] + "|" + row[3]);
        }
        return rows;
    }

    TableStatus status(ItemsTable table) {
        return pipeline.tables().stream()
                .filter(status -> status.relationOid() == table.oid())
                .findFirst()
                .orElseThrow();
    }

    @Override
    public void close() {
        if (pipeline != null) {
            pipeline.close();
        }
        descriptors.close();
        client.close();
    }

    private final class Recorder implements PipelineEvents {
        private long last;

        @Override
        public void watermark(Watermark watermark) {
            if (watermark.durableLsn() <= last) {
                events.add("watermark went back to " + watermark);
            }
            last = watermark.durableLsn();
        }

        @Override
        public void quarantined(TableStatus table) {
            events.add("quarantined " + table.name());
        }

        @Override
        public void unknownTable(RelationDescriptor relation, long commitPosition) {
            events.add("unknown " + relation.label());
        }

        @Override
        public void loadWanted(LoadTicket load) {
            loads.add(load);
        }

        @Override
        public void targetReachable(boolean reachable, String reason) {
            events.add("reachable " + reachable);
        }

        @Override
        public void failed(Throwable cause) {
            events.add("failed " + cause);
        }
    }

    /** Up to where the rows of the next load that is wanted contain every commit. */
    long loadPosition() throws InterruptedException {
        LoadTicket load = loads.take();
        pipeline.loading().keepChanges(load);
        return load.position();
    }
}
