package dev.walshadow.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.walshadow.embedded.EmbeddedClickHouse;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Statements for a cluster, which ClickHouse itself must be able to parse. */
final class ClusterDdlTest {
    private static final String ODD = "a `b` ON CLUSTER \\ c.d";

    @TempDir private Path directory;

    private static String createTable() {
        return Ddl.createTable(
                new Ddl.TableDefinition(
                        "d",
                        ODD,
                        List.of(
                                new Ddl.ColumnDefinition("id", "Int64"),
                                new Ddl.ColumnDefinition(
                                        "v", "String DEFAULT '\nENGINE = MergeTree'"),
                                new Ddl.ColumnDefinition("_version", "UInt128")),
                        "ReplacingMergeTree(`_version`)",
                        List.of("id"),
                        new TreeMap<>(),
                        "a comment"));
    }

    @Test
    void everyStatementIsParsedAndNamesTheCluster() {
        String name = Ddl.qualified("d", ODD);
        List<String> statements =
                List.of(
                        Ddl.createDatabase(ODD),
                        createTable(),
                        Ddl.addColumn("d", ODD, new Ddl.ColumnDefinition("x", "Int8")),
                        Ddl.renameColumn("d", ODD, "x", "y"),
                        Ddl.dropColumn("d", ODD, "y"),
                        Ddl.truncateTable("d", ODD),
                        Ddl.exchangeTables("d", ODD, "other"),
                        "RENAME TABLE " + name + " TO " + Ddl.qualified("d", "e"),
                        "ALTER TABLE " + name + " DELETE WHERE 0",
                        Ddl.dropTable("d", ODD));
        try (EmbeddedClickHouse server = EmbeddedClickHouse.start(directory);
                ClickHouseClient client =
                        new ClickHouseClient(ClickHouseOptions.at(server.url()))) {
            for (String statement : statements) {
                String spread = ClusterDdl.spread(statement, "c`1");
                assertThat(spread).contains(" ON CLUSTER `c\\`1`");
                String ast = client.query("EXPLAIN AST " + spread).toString();
                assertThat(ast).as(spread).isNotEmpty();
            }
        }
    }

    @Test
    void onlyTheTablesEngineIsReplicated() {
        assertThat(ClusterDdl.spread(createTable(), "c"))
                .contains("\nENGINE = MergeTree'")
                .contains("\n)\nENGINE = ReplicatedReplacingMergeTree(`_version`)");
    }

    @Test
    void whatChangesNoTableStaysAsItIs() {
        String query = "SELECT 'DROP TABLE `x`', name FROM system.tables";
        assertThat(ClusterDdl.spread(query, "c")).isEqualTo(query);
        String insert = "INSERT INTO `d`.`t` (`a`) SELECT `a` FROM `d`.`u` FINAL";
        assertThat(ClusterDdl.spread(insert, "c")).isEqualTo(insert);
    }

    @Test
    void anUnknownFormIsNoStatementOfOneHost() {
        assertThatThrownBy(() -> ClusterDdl.spread("DROP TABLE t", "c"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("DROP TABLE t");
    }

    @Test
    void hostsOfOneUrl() {
        ClickHouseOptions options = ClickHouseOptions.at("https://me:x%40@a:8443, b:8443/p");
        assertThat(options.endpoints()).containsExactly("https://a:8443/p", "https://b:8443/p");
        assertThat(options.user()).isEqualTo("me");
        assertThat(options.password()).isEqualTo("x@");
    }
}
