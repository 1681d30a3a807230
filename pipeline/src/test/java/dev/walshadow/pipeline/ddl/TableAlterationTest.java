package dev.walshadow.pipeline.ddl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.clickhouse.ClickHouseClient;
import dev.walshadow.clickhouse.ClickHouseOptions;
import dev.walshadow.clickhouse.Ddl;
import dev.walshadow.pipeline.TestEngine;
import dev.walshadow.pipeline.encode.SourceEncoding;
import dev.walshadow.pipeline.mapping.ColumnMapping;
import dev.walshadow.pipeline.mapping.MappingRules;
import dev.walshadow.pipeline.mapping.TableMapping;
import dev.walshadow.postgres.value.TypeOid;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Alterations of filled tables on the real engine. */
final class TableAlterationTest {
    @RegisterExtension static final TestEngine ENGINE = new TestEngine();

    private static ClickHouseClient client;
    private static int tables;

    @BeforeAll
    static void start() {
        client = new ClickHouseClient(ClickHouseOptions.at(ENGINE.server().url()));
        client.execute(Ddl.createDatabase("scratch"));
    }

    @AfterAll
    static void stop() {
        client.close();
    }

    /** A table in ClickHouse that follows a shape. */
    private static final class Followed {
        final String database = "d" + ++tables;
        Shapes shape;
        TableMapping mapping;

        Followed(Shapes shape) {
            this.shape = shape;
            this.mapping = shape.mapping();
            client.execute(Ddl.createDatabase(database));
            // a file per column, so that renaming and dropping touch files
            client.execute(
                    mapping.toDdl(database, "t")
                            .replace("SETTINGS ", "SETTINGS min_bytes_for_wide_part = 0, "));
        }

        /** One row; values are SQL, by source column. */
        void insert(long version, boolean deleted, String... values) {
            List<String> names = new ArrayList<>();
            for (int i = 0; i < values.length; i++) {
                names.add(Ddl.identifier(mapping.columns().get(i).name()));
            }
            client.execute(
                    "INSERT INTO %s (%s, %s, %s) VALUES (%s, %d, %d)"
                            .formatted(
                                    Ddl.qualified(database, "t"),
                                    String.join(", ", names),
                                    Ddl.identifier(mapping.meta().version()),
                                    Ddl.identifier(mapping.meta().isDeleted()),
                                    String.join(", ", values),
                                    version,
                                    deleted ? 1 : 0));
        }

        ShapeChange decide(Shapes after) {
            return ShapeChange.decide(
                    mapping, shape.shape(), after.shape(), MappingRules.defaults(), true);
        }

        /** Carries a change out and takes its mapping. */
        ShapeChange change(Shapes after) {
            ShapeChange change = decide(after);
            alter(change, after);
            shape = after;
            mapping = change.mapping();
            return change;
        }

        void alter(ShapeChange change, Shapes after) {
            switch (change) {
                case ShapeChange.Unchanged _ -> {}
                case ShapeChange.InPlace(TableMapping to, var _) ->
                        TableAlteration.inPlace(
                                client,
                                database,
                                "t",
                                mapping,
                                to,
                                after.shape(),
                                SourceEncoding.UTF8);
                case ShapeChange.Beside(TableMapping to, var _) ->
                        TableAlteration.beside(
                                client,
                                database,
                                "t",
                                "scratch",
                                database,
                                mapping,
                                to,
                                after.shape());
                case ShapeChange.Rekeyed(TableMapping to, var _) ->
                        TableAlteration.rekeyed(
                                client,
                                database,
                                "t",
                                "scratch",
                                database,
                                mapping,
                                to,
                                after.shape(),
                                new TableAlteration.Comments("", () -> {}));
                case ShapeChange.Load _, ShapeChange.HeldBack _ -> throw new AssertionError(change);
            }
        }

        /** Every stored row, all versions, in the order of versions. */
        List<List<@Nullable String>> rows() {
            return query(mapping, "");
        }

        List<List<@Nullable String>> finalRows() {
            return query(mapping, " FINAL");
        }

        private List<List<@Nullable String>> query(TableMapping by, String modifier) {
            List<String> names = by.columns().stream().map(ColumnMapping::name).toList();
            List<String> quoted = names.stream().map(Ddl::identifier).toList();
            return client
                    .query(
                            "SELECT "
                                    + String.join(", ", quoted)
                                    + " FROM "
                                    + Ddl.qualified(database, "t")
                                    + modifier
                                    + " ORDER BY "
                                    + Ddl.identifier(by.meta().version()))
                    .stream()
                    .map(row -> Arrays.<@Nullable String>asList(row))
                    .toList();
        }

        List<String> columns() {
            return client
                    .query(
                            "SELECT name FROM system.columns WHERE database = "
                                    + Ddl.literal(database)
                                    + " AND table = 't' ORDER BY position")
                    .stream()
                    .map(row -> String.valueOf(row[0]))
                    .toList();
        }

        List<String> wantedColumns() {
            List<String> wanted = new ArrayList<>(mapping.blockNames());
            wanted.add(mapping.meta().commitLsn());
            wanted.add(mapping.meta().lsn());
            return wanted;
        }
    }

    private static Followed filled() {
        Followed table =
                new Followed(
                        Shapes.table("s")
                                .add("a", TypeOid.TEXT)
                                .add("b", TypeOid.TEXT)
                                .add("n", TypeOid.NUMERIC, Shapes.numeric(9, 2), null));
        table.insert(1, false, "1", "'a1'", "'b1'", "1.25");
        table.insert(2, false, "2", "'a2'", "NULL", "NULL");
        table.insert(3, false, "3", "'a3'", "'b3'", "3.5");
        table.insert(4, true, "3", "NULL", "NULL", "NULL");
        table.insert(5, false, "1", "'a5'", "'b5'", "-5");
        return table;
    }

    /** The column's values by version. */
    private static List<@Nullable String> values(Followed table, String column) {
        int index =
                table.mapping.columns().stream().map(ColumnMapping::name).toList().indexOf(column);
        List<@Nullable String> values = new ArrayList<>();
        table.rows().forEach(row -> values.add(row.get(index)));
        return values;
    }

    @Test
    void columnsComeAndGoInSourceOrder() {
        Followed table = filled();
        List<@Nullable String> b = values(table, "b");
        table.change(table.shape.add("x", TypeOid.INT8).drop("a"));
        assertThat(table.columns()).isEqualTo(table.wantedColumns());
        assertThat(values(table, "b")).isEqualTo(b);
        assertThat(values(table, "x")).containsOnlyNulls();
    }

    @Test
    void aNameThatIsUsedAgainHoldsTheNewColumn() {
        Followed table = filled();
        List<@Nullable String> a = values(table, "a");
        ShapeChange change =
                table.change(
                        table.shape.drop("b").rename("a", "b").add("a", TypeOid.TEXT, -1, "é'\\"));
        assertThat(change).isInstanceOf(ShapeChange.InPlace.class);
        assertThat(values(table, "b")).isEqualTo(a);
        assertThat(values(table, "a")).containsOnly("é'\\");
        // the same names and types once more, with other columns behind them
        table.change(table.shape.drop("b").add("b", TypeOid.TEXT, -1, "new"));
        assertThat(values(table, "b")).containsOnly("new");
        assertThat(table.columns()).isEqualTo(table.wantedColumns());
    }

    @Test
    void repeatingAnAlterationChangesNothing() {
        Followed table = filled();
        Shapes after =
                table.shape
                        .drop("b")
                        .rename("a", "b")
                        .rename("n", "m")
                        .retype("m", TypeOid.NUMERIC, Shapes.numeric(40, 2))
                        .add("a", TypeOid.TEXT, -1, "x");
        ShapeChange change = table.decide(after);
        table.alter(change, after);
        List<List<@Nullable String>> once = table.query(change.mapping(), "");
        table.alter(change, after);
        assertThat(table.query(change.mapping(), "")).isEqualTo(once);
        assertThat(once.getFirst()).containsExactly("1", "a1", "1.25", "x");
        assertThat(once.getLast()).containsExactly("1", "a5", "-5", "x");
    }

    @Test
    void aRunThatWasKilledBetweenTwoStatementsIsFinished() {
        Followed table = filled();
        Shapes after =
                table.shape
                        .rename("n", "m")
                        .retype("m", TypeOid.NUMERIC, Shapes.numeric(40, 2))
                        .rename("a", "c")
                        .rename("b", "a");
        ShapeChange change = table.decide(after);
        ColumnSteps steps = ColumnSteps.between(table.mapping, change.mapping());
        assertThat(steps.statements()).hasSize(3);
        String first =
                AlterText.of(
                        Ddl.qualified(table.database, "t"),
                        steps.statements().getFirst(),
                        after.shape(),
                        AlterText.mark(
                                change.mapping(),
                                ShapeMarker.of(change.mapping()).text(1, 3) + " after 0"));
        client.execute(first);
        table.change(after);
        assertThat(table.rows().getFirst()).containsExactly("1", "a1", "b1", "1.25");
        assertThat(table.columns()).isEqualTo(table.wantedColumns());
    }

    @Test
    void whatAnEarlierVersionDividedOtherwiseIsNotGoneOnWith() {
        Followed table = filled();
        Shapes after = table.shape.rename("a", "c").rename("b", "a");
        ShapeChange change = table.decide(after);
        client.execute(
                "ALTER TABLE "
                        + Ddl.qualified(table.database, "t")
                        + " "
                        + AlterText.mark(
                                change.mapping(),
                                ShapeMarker.of(change.mapping()).text(1, 3) + " after 0"));
        client.execute(
                "ALTER TABLE " + Ddl.qualified(table.database, "t") + " RENAME COLUMN a TO c");
        assertThatThrownBy(() -> table.alter(change, after))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("by another version of walshadow");
    }

    @Test
    void anAlterationWhosePartsWereNeverChangedIsNotTakenForDone() throws Exception {
        Followed done = filled();
        Followed lost = filled();
        Shapes after = lost.shape.drop("b").rename("a", "c").add("x", TypeOid.TEXT);
        ShapeChange change = lost.decide(after);
        done.alter(change, after);
        // ClickHouse is killed when it has written the columns, and has not begun with the parts
        ENGINE.server().kill();
        try {
            takeColumns(done, lost);
        } finally {
            ENGINE.server().start();
        }
        forgetConnections();
        done.alter(change, after);
        assertThat(done.query(change.mapping(), " FINAL"))
                .isEqualTo(
                        List.of(
                                Arrays.<@Nullable String>asList("2", "a2", null, null),
                                Arrays.<@Nullable String>asList("1", "a5", "-5", null)));
        assertThatThrownBy(() -> lost.alter(change, after))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("its parts were not changed");
    }

    /** The client keeps connections, and those to the server of before fail once. */
    private static void forgetConnections() {
        for (int tries = 0; tries < 20; tries++) {
            try {
                client.ping();
                return;
            } catch (RetryException e) {
                // the connection is gone from the pool now
            }
        }
    }

    /** Gives a table the definition of another that has been altered. */
    private static void takeColumns(Followed from, Followed to) throws IOException {
        Path target = definition(to);
        String own = Files.readString(target);
        String uuid = own.substring(own.indexOf('\''), own.indexOf('\'', own.indexOf('\'') + 1));
        String altered = Files.readString(definition(from));
        String theirs =
                altered.substring(
                        altered.indexOf('\''), altered.indexOf('\'', altered.indexOf('\'') + 1));
        Files.writeString(target, altered.replace(theirs, uuid));
    }

    private static Path definition(Followed table) throws IOException {
        Path databases = ENGINE.server().directory().resolve("data").resolve("metadata");
        return databases.resolve(table.database).toRealPath().resolve("t.sql");
    }

    private static void comment(Followed table, String text) {
        client.execute("ALTER TABLE " + table.database + ".t MODIFY COMMENT " + Ddl.literal(text));
    }

    private static @Nullable String comment(Followed table) {
        return client.queryValue(
                "SELECT comment FROM system.tables WHERE name = 't' AND database = "
                        + Ddl.literal(table.database));
    }

    @Test
    void exchangedNamesAreCopiedOnceHoweverOftenItIsKilled() {
        Followed table = filled();
        List<List<@Nullable String>> before = table.rows();
        Shapes after = table.shape.rename("a", "x").rename("b", "a").rename("x", "b");
        ShapeChange change = table.decide(after);
        assertThat(change).isInstanceOf(ShapeChange.Beside.class);
        comment(table, "whose it is");
        // killed in the middle of the copy
        client.execute(change.mapping().toDdl("scratch", table.database));
        client.execute(
                "INSERT INTO scratch."
                        + table.database
                        + " (id, a) SELECT id, b FROM "
                        + table.database
                        + ".t LIMIT 2");
        table.alter(change, after);
        assertThat(comment(table)).isEqualTo("whose it is");
        comment(table, "changed");
        // killed after the exchange: what is left to do is to drop the scratch table
        client.execute("CREATE TABLE scratch." + table.database + " AS " + table.database + ".t");
        table.alter(change, after);
        table.mapping = change.mapping();
        assertThat(table.columns()).isEqualTo(table.wantedColumns());
        assertThat(table.rows()).isEqualTo(before);
        assertThat(client.queryValue("EXISTS TABLE scratch." + table.database)).isEqualTo("0");
    }

    @Test
    void ourColumnsMakeWay() {
        Followed table = filled();
        table.change(table.shape.add("_xid", TypeOid.INT4, -1, "-3").add("_lsn", TypeOid.TEXT));
        assertThat(table.columns()).isEqualTo(table.wantedColumns());
        assertThat(values(table, "_xid")).containsOnly("-3");
        List<List<@Nullable String>> before = table.rows();
        ShapeChange change = table.change(table.shape.add("_version", TypeOid.TEXT));
        assertThat(change).isInstanceOf(ShapeChange.Beside.class);
        assertThat(table.columns()).isEqualTo(table.wantedColumns());
        assertThat(table.rows()).hasSize(before.size());
        assertThat(table.finalRows()).hasSize(2);
    }

    @Test
    void anyNameIsQuoted() {
        Followed table = filled();
        List<@Nullable String> a = values(table, "a");
        String odd = "`\\\"';ü😀\n" + "x".repeat(45);
        table.change(table.shape.rename("a", odd).add("select.from", TypeOid.TEXT, -1, "`"));
        assertThat(values(table, odd)).isEqualTo(a);
        table.change(table.shape.rename(odd, "--").rename("b", odd).drop("n"));
        assertThat(values(table, "--")).isEqualTo(a);
        table.change(table.shape.rename(odd, "y").rename("--", odd).rename("y", "--"));
        assertThat(values(table, odd)).isEqualTo(a);
    }

    @Test
    void aTableThatSomebodyElseAlteredIsSetAside() {
        Followed table = filled();
        Shapes after = table.shape.add("x", TypeOid.INT4);
        ShapeChange change = table.decide(after);
        table.alter(change, after);
        client.execute("ALTER TABLE " + table.database + ".t MODIFY COLUMN x Nullable(String)");
        assertThatThrownBy(() -> table.alter(change, after))
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1770")
                .hasMessageContaining("expected column x of type Nullable(Int32)");
        client.execute("DROP TABLE " + table.database + ".t SYNC");
        assertThatThrownBy(() -> table.alter(change, after)).hasMessageContaining("is gone");
    }

    /** ClickHouse takes it, and leaves parts that nobody can read. */
    @Test
    void noStatementHasANameTwice() {
        Followed table = filled();
        List<Shapes> steps =
                List.of(
                        table.shape.rename("b", "_xid").add("f", TypeOid.TEXT, -1, "x"),
                        table.shape
                                .rename("b", "_lsn")
                                .drop("a")
                                .add("f", TypeOid.TEXT, -1, "x")
                                .rename("f", "a"),
                        table.shape.rename("a", "c").rename("b", "a").add("b", TypeOid.TEXT),
                        table.shape.drop("b").rename("a", "b").rename("n", "a"));
        for (Shapes after : steps) {
            TableMapping to = table.decide(after).mapping();
            ColumnSteps between = ColumnSteps.between(table.mapping, to);
            List<ColumnStep> together = new ArrayList<>();
            for (List<ColumnStep> statement : between.statements()) {
                assertThat(statement.stream().flatMap(step -> step.names().stream()))
                        .doesNotHaveDuplicates();
                together.addAll(statement);
            }
            assertThat(together).isEqualTo(between.all());
        }
    }

    /** What a column is expected to hold, followed by attnum. */
    @Test
    void randomSequencesOfChangesKeepEveryValue() {
        long seed = Long.getLong("walshadow.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int run = 0; run < (Boolean.getBoolean("walshadow.soak") ? 50 : 4); run++) {
            Followed table = filled();
            for (int i = 0; i < 6; i++) {
                Map<Integer, List<@Nullable String>> before = byNumber(table);
                Shapes after = randomChange(table.shape, random);
                ShapeChange change = table.decide(after);
                if (random.nextInt(3) == 0) {
                    table.alter(change, after);
                }
                int old = table.mapping.columns().getLast().attributeNumber();
                table.change(after);
                assertThat(table.columns())
                        .as("seed %d: %s", seed, change)
                        .isEqualTo(table.wantedColumns());
                byNumber(table)
                        .forEach((number, values) -> {
                            if (before.containsKey(number)) {
                                assertThat(values)
                                        .as("seed %d: %s", seed, change)
                                        .isEqualTo(before.get(number));
                            } else {
                                assertThat(number).isGreaterThan(old);
                                assertThat(values)
                                        .as("seed %d: %s", seed, change)
                                        .containsOnly("v" + number);
                            }
                        });
            }
        }
    }

    private static Map<Integer, List<@Nullable String>> byNumber(Followed table) {
        Map<Integer, List<@Nullable String>> values = new TreeMap<>();
        table.mapping
                .columns()
                .forEach(column ->
                        values.put(column.attributeNumber(), values(table, column.name())));
        return values;
    }

    /** One to four steps among few names, so that they meet. */
    private static Shapes randomChange(Shapes shape, Random random) {
        Shapes after = shape;
        List<String> pool = List.of("a", "b", "c", "e", "f", "_xid", "_lsn");
        for (int i = 0, n = 1 + random.nextInt(4); i < n; i++) {
            List<String> names =
                    after.attributes().stream()
                            .filter(a -> !a.dropped() && !a.name().equals("n") && a.number() > 1)
                            .map(a -> a.name())
                            .toList();
            List<String> free = pool.stream().filter(name -> !names.contains(name)).toList();
            String one = names.isEmpty() ? "" : names.get(random.nextInt(names.size()));
            String other = free.isEmpty() ? "" : free.get(random.nextInt(free.size()));
            after =
                    switch (random.nextInt(4)) {
                        case 0 -> one.isEmpty() ? after : after.drop(one);
                        case 1 ->
                                other.isEmpty()
                                        ? after
                                        : after.add(
                                                other,
                                                TypeOid.TEXT,
                                                -1,
                                                "v" + (after.attributes().size() + 1));
                        case 2 ->
                                one.isEmpty() || other.isEmpty() ? after : after.rename(one, other);
                        default ->
                                names.size() < 2
                                        ? after
                                        : after.rename(names.get(0), "swap")
                                                .rename(names.get(1), names.get(0))
                                                .rename("swap", names.get(1));
                    };
        }
        return after;
    }
}
