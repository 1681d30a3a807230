package dev.walshadow.pipeline.encode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.base.ByteBuilder;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.clickhouse.ServerFeatures;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.TestEngine;
import dev.walshadow.pipeline.mapping.Derivation;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.heap.TupleView;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A source and ClickHouse, and rows of the one encoded and sent to the other. */
final class EncoderRig implements BeforeAllCallback, AfterAllCallback {
    private final TestEngine engine = new TestEngine();

    @SuppressWarnings("NullAway.Init")
    private EmbeddedPostgres postgres;

    @SuppressWarnings("NullAway.Init")
    private Connection connection;

    @SuppressWarnings("NullAway.Init")
    private ClickHouseClient client;

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        engine.beforeAll(context);
        postgres =
                EmbeddedPostgres.at(engine.directory().resolve("postgres"))
                        .version(18)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .setting("lc_monetary", "C")
                        .start();
        connection = SourceTable.connect(postgres, "postgres");
        SourceTable.execute(connection, "create extension pageinspect", "set timezone to utc");
        client = new ClickHouseClient(ClickHouseOptions.at(engine.server().url()));
        client.execute(Ddl.createDatabase("public"));
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        client.close();
        connection.close();
        postgres.close();
        engine.afterAll(context);
    }

    ClickHouseClient client() {
        return client;
    }

    /** To another database. */
    Connection connect(String database) throws SQLException {
        return SourceTable.connect(postgres, database);
    }

    Connection connection() {
        return connection;
    }

    SourceTable table(String name, String... statements) throws Exception {
        SourceTable.execute(connection, statements);
        return new SourceTable(connection, name);
    }

    TableMapping mapping(RelationDescriptor shape) {
        Derivation derivation = TableMapping.derive(shape, MappingRules.defaults());
        assertThat(derivation).isInstanceOf(Derivation.Mapped.class);
        return ((Derivation.Mapped) derivation).mapping();
    }

    RowEncoder encoder(RelationDescriptor shape) {
        return RowEncoder.compile(shape, mapping(shape), SourceEncoding.UTF8);
    }

    void create(TableMapping mapping) {
        client.execute(mapping.toDdl(), ServerFeatures.detect(client).ddlSettings());
    }

    void send(TableBlock block, String token) {
        client.insert(
                block.mapping().database(), block.mapping().table(), block.nativeBlock(), token);
    }

    /** Encodes all rows of the table and sends them. */
    RowEncoder load(SourceTable table) throws Exception {
        RowEncoder encoder = encoder(table.shape());
        create(encoder.mapping());
        TableBlock block = encoder.newBlock();
        RowMeta meta = new RowMeta().transaction(1000, 0, 5);
        table.tuples(
                true, tuple -> encoder.appendRow(block, tuple, meta.record(64, 0), table.chunks()));
        send(block, "load");
        return encoder;
    }

    List<String> select(String sql) {
        List<String> rows = new ArrayList<>();
        for (@Nullable String[] row : client.query(sql)) {
            rows.add(String.join("|", java.util.Arrays.stream(row).map(String::valueOf).toList()));
        }
        return rows;
    }

    String literal(RowEncoder encoder, TupleView tuple, RowMeta meta) {
        ByteBuilder key = new ByteBuilder(64);
        encoder.appendKey(tuple, meta, SourceTable.noChunks(), key);
        ByteBuilder literal = new ByteBuilder(64);
        encoder.appendKeyLiteral(key.array(), 0, literal);
        return literal.toString();
    }
}
