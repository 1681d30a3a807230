package dev.walshadow.bootstrap.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.bootstrap.reload.TableLoad.Outcome;
import dev.walshadow.catalog.RelationDescriptor;
import dev.walshadow.clickhouse.ClickHouseType;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.embedded.EmbeddedPostgres;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.encode.ValueLimit;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.Conversion;
import dev.walshadow.pipeline.mapping.TableMapping;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What changes on the source without the table's lock: labels, and commits that wait. */
@Timeout(120)
final class TableLoadChangesTest {
    private static final TableLoad.Options SMALL_CHUNKS =
            new TableLoad.Options(100, 5, 20, 10_000, ValueLimit.NONE);

    @TempDir static Path folder;

    private static EmbeddedPostgres server;
    private static Connection session;

    @BeforeAll
    static void start() throws Exception {
        server =
                EmbeddedPostgres.at(folder)
                        .version(18)
                        .setting("fsync", "off")
                        .setting("autovacuum", "off")
                        .start();
        session = open();
    }

    @AfterAll
    static void stop() throws Exception {
        session.close();
        server.close();
    }

    private static Connection open() throws SQLException {
        return DriverManager.getConnection(server.jdbcUrl("postgres"));
    }

    /** The key and column 2 as that. */
    private static TableMapping mapping(
            String table, ClickHouseType type, Conversion conversion, int dimensions, String source)
            throws SQLException {
        LoadedTable.run(session, "CREATE TABLE " + table + "_key (id int PRIMARY KEY)");
        TableMapping key = LoadedTable.mapping(LoadedTable.shape(session, table + "_key"));
        int typeOid =
                Integer.parseInt(
                        Objects.requireNonNull(
                                LoadedTable.ask(session, "SELECT '" + source + "'::regtype::oid")));
        List<ColumnMapping> columns = new ArrayList<>(key.columns());
        columns.add(new ColumnMapping(2, "v", "v", type, conversion, dimensions, typeOid, -1));
        return key.withColumns(columns);
    }

    /** Runs a statement when the first rows arrive. */
    private static Outcome loadAndChange(
            RelationDescriptor shape, TableMapping mapping, String... statements) throws Exception {
        LoadedTable table = new LoadedTable(shape, mapping, SourceEncoding.UTF8);
        return new TableLoad(TableLoadChangesTest::open, SMALL_CHUNKS)
                .run(
                        shape,
                        mapping,
                        LoadedTable.ANY_SNAPSHOT,
                        rows -> {
                            if (table.chunks() == 0) {
                                change(statements);
                            }
                            return table.submit(rows);
                        },
                        TableLoad.Progress.NONE);
    }

    private static void change(String... statements) {
        try {
            LoadedTable.run(session, statements);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aLoadDuringWhichLabelsChangeIsVoid() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TYPE colour AS ENUM ('red', 'green')",
                "CREATE TABLE coloured (id int PRIMARY KEY, v colour)",
                "INSERT INTO coloured SELECT i, 'red' FROM generate_series(1, 200000) i");
        RelationDescriptor shape = LoadedTable.shape(session, "coloured");
        TableMapping mapping =
                mapping("coloured", Scalar.UINT32.nullable(), Conversion.UINT32, 0, "colour");
        assertThat(loadAndChange(shape, mapping)).isInstanceOf(Outcome.Loaded.class);
        Outcome swapped =
                loadAndChange(
                        shape,
                        mapping,
                        "BEGIN; ALTER TYPE colour RENAME VALUE 'red' TO 'x';"
                                + " ALTER TYPE colour RENAME VALUE 'green' TO 'red';"
                                + " ALTER TYPE colour RENAME VALUE 'x' TO 'green'; COMMIT");
        assertThat(swapped).isInstanceOf(Outcome.ShapeDiffers.class);
        assertThat(((Outcome.ShapeDiffers) swapped).difference()).contains("label");
        Outcome added =
                loadAndChange(shape, mapping, "ALTER TYPE colour ADD VALUE 'blue' BEFORE 'red'");
        assertThat(added).isInstanceOf(Outcome.ShapeDiffers.class);
    }

    @Test
    void arraysOfOtherTypesBecomeArraysOfText() throws Exception {
        LoadedTable.run(
                session,
                "CREATE TYPE size AS ENUM ('s', 'm \"x\"', '')",
                "CREATE TABLE sizes (id int PRIMARY KEY, v size[])",
                "INSERT INTO sizes VALUES (1, '{s,NULL,\"m \\\"x\\\"\"}'), (2, NULL), (3, '{}'),"
                        + " (4, '{\"\"}')",
                "CREATE TABLE sizes_text (id int PRIMARY KEY, v text[])",
                "INSERT INTO sizes_text SELECT id, v::text::text[] FROM sizes");
        RelationDescriptor shape = LoadedTable.shape(session, "sizes");
        ClickHouseType array = new ClickHouseType.Array(Scalar.STRING.nullable());
        TableMapping mapping = mapping("sizes", array, Conversion.TEXT, 1, "size");
        LoadedTable table = new LoadedTable(shape, mapping, SourceEncoding.UTF8);
        LoadedTable expected = LoadedTable.of(session, "sizes_text");
        table.load(TableLoadChangesTest::open);
        expected.load(TableLoadChangesTest::open);
        assertThat(table.rows()).isEqualTo(4);
        assertThat(table.valueBytes("v")).isEqualTo(expected.valueBytes("v"));

        LoadedTable.run(
                session,
                "CREATE FUNCTION loud(size) RETURNS text LANGUAGE sql RETURN 'LOUD'",
                "CREATE CAST (size AS text) WITH FUNCTION loud(size)");
        LoadedTable again = new LoadedTable(shape, mapping, SourceEncoding.UTF8);
        assertThatThrownBy(() -> again.load(TableLoadChangesTest::open))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1818")
                .hasMessageContaining("size");
    }

    @Test
    void waitsForACommitThatWaitsForAStandby() throws Exception {
        LoadedTable.run(session, "CREATE TABLE awaited (id int PRIMARY KEY)");
        LoadedTable table = LoadedTable.of(session, "awaited");
        LoadedTable.run(
                session,
                "SET synchronous_commit = local",
                "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
                "SELECT pg_reload_conf()");
        FutureTask<Boolean> commit =
                new FutureTask<>(() -> {
                    try (Connection other = open()) {
                        LoadedTable.run(other, "INSERT INTO awaited VALUES (1)");
                    }
                    return true;
                });
        // the postmaster tells its backends in its own time
        while (!"nobody".equals(LoadedTable.ask(session, "SHOW synchronous_standby_names"))) {
            Thread.onSpinWait();
        }
        Thread.ofPlatform().start(commit);
        while ("0"
                .equals(
                        LoadedTable.ask(
                                session,
                                "SELECT count(*) FROM pg_stat_activity"
                                        + " WHERE wait_event = 'SyncRep'"))) {
            Thread.onSpinWait();
        }
        List<String> reasons = new ArrayList<>();
        TableLoad.Progress progress =
                new TableLoad.Progress() {
                    @Override
                    public void began(long estimatedRows) {}

                    @Override
                    public void advanced(long rows, long bytes) {}

                    @Override
                    public void waits(String reason) {
                        if (reasons.isEmpty()) {
                            change(
                                    "ALTER SYSTEM RESET synchronous_standby_names",
                                    "SELECT pg_reload_conf()");
                        }
                        reasons.add(reason);
                    }
                };
        Outcome outcome =
                table.load(new TableLoad(TableLoadChangesTest::open, SMALL_CHUNKS), progress);
        assertThat(commit.get()).isTrue();
        assertThat(reasons).isNotEmpty();
        assertThat(reasons.getFirst()).contains("synchronous standby");
        assertThat(((Outcome.Loaded) outcome).rows()).isEqualTo(1);
    }
}
