package dev.walshadow.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.pipeline.mapping.TablePattern;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A kill between the steps in which a table is exchanged loses no version, and repeats nothing. */
final class KeptHistoryTest {
    private static final Sweep.Version LIMIT = new Sweep.Version(100, 0, 0, 0);

    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    /** A table with versions of the keys 1 and 2, and a complete one with one of the key 2. */
    private static final class Exchange implements AutoCloseable {
        final String name;
        final ItemsTable items;
        final PipelineHarness h;
        final TargetTable table;
        final TargetName place;
        final TargetName staging;
        final ShardDdl ddl;

        Exchange(String name) throws Exception {
            this.name = name;
            items = new ItemsTable(name, "items", 16500, 16503);
            h = ENGINE.harness(name, items);
            h.append = List.of(TablePattern.of("items"));
            h.tables = h.open();
            h.started();
            table = h.tables.all().iterator().next();
            place = TargetName.of(table.mapped());
            staging = h.tables.names().scratch("loading", table);
            ClickHouseClient client = h.client;
            ddl = new ShardDdl(client, h.tables);
            client.execute(
                    "INSERT INTO %s.items (id, name, _version, _is_deleted) VALUES (1, 'a', 1, 0), (1, 'b', 3, 0), (2, 'c', 5, 0)"
                            .formatted(name));
            ddl.createStaging(table, staging);
            client.execute(
                    "INSERT INTO %s (id, name, _version, _is_deleted) SELECT 2, 'd', bitShiftLeft(toUInt128(100), 64) + 1, 0"
                            .formatted(staging.quoted()));
        }

        void anotherShape() {
            h.client.execute(
                    "ALTER TABLE %s.items MODIFY COLUMN _version COMMENT 'of another shape'"
                            .formatted(name));
        }

        /** What an attempt that was cut off has done. */
        void interrupted() {
            new KeptHistory(h.client, h.tables.names()).hand(table, place, null, staging, LIMIT);
        }

        void exchange() {
            ddl.exchange(table, staging, place, null, LIMIT);
        }

        String versions(String of) {
            return ENGINE.query(
                            "SELECT id, name, _is_deleted FROM %s.%s FINAL ORDER BY id, _version"
                                    .formatted(name, of))
                    .replace('\t', ' ')
                    .replace('\n', ',');
        }

        String tables() {
            return ENGINE.query(
                            "SELECT name FROM system.tables WHERE database IN ('%s', '%s') AND (database = '%s' OR name LIKE 'loading%%') ORDER BY name"
                                    .formatted(name, h.metadata, name))
                    .replace('\n', ',');
        }

        @Override
        public void close() {
            h.close();
        }
    }

    @Test
    void versionsOfTheSameShapeAreCarriedHoweverOftenItIsTried() throws Exception {
        try (Exchange e = new Exchange("carried")) {
            e.interrupted();
            for (int i = 0; i < 2; i++) {
                e.exchange();
                assertThat(e.versions("items")).isEqualTo("1 a 0,1 b 0,1 \\N 1,2 c 0,2 d 0,");
            }
            e.ddl.discard(e.staging);
            assertThat(e.tables()).isEqualTo("items,");
        }
    }

    @Test
    void aTableOfAnotherShapeIsKeptWhenTheNextStartFindsItWhereScratchTablesAre() throws Exception {
        try (Exchange e = new Exchange("found")) {
            e.anotherShape();
            e.interrupted(); // marked, and killed
            e.exchange(); // and killed again
            assertThat(e.tables())
                    .isEqualTo("items,loading_%d_16500,".formatted(ItemsTable.DATABASE));
            e.h.pipeline.close();
            e.h.resume(PipelineHarness.B);
            assertThat(e.tables()).isEqualTo("items,items_history,");
            assertThat(e.versions("items_history")).isEqualTo("1 a 0,1 b 0,2 c 0,");
            assertThat(e.versions("items")).isEqualTo("2 d 0,");
            e.h.start(PipelineHarness.B);
        }
    }

    @Test
    void aTableOfAnotherShapeIsKeptUnderANameThatIsFree() throws Exception {
        try (Exchange e = new Exchange("free")) {
            e.anotherShape();
            e.h.client.execute(
                    "CREATE TABLE free.items_history (n Int32) ENGINE = MergeTree ORDER BY n");
            e.exchange();
            e.ddl.discard(e.staging);
            assertThat(e.tables()).isEqualTo("items,items_history,items_history_2,");
            assertThat(e.versions("items_history_2")).isEqualTo("1 a 0,1 b 0,2 c 0,");
            e.ddl.dropCopies(e.table, e.place);
            assertThat(e.tables()).isEqualTo("items,items_history,items_history_2,");
        }
    }
}
