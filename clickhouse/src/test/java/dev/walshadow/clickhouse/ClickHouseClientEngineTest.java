package dev.walshadow.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.QuarantineException;
import dev.walshadow.base.RetryException;
import dev.walshadow.clickhouse.ClickHouseType.Scalar;
import dev.walshadow.embedded.EmbeddedClickHouse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The client against the real engine. */
final class ClickHouseClientEngineTest {
    @TempDir static Path directory;

    private static EmbeddedClickHouse server;
    private static ClickHouseClient client;

    @BeforeAll
    static void start() {
        server = EmbeddedClickHouse.start(directory.resolve("clickhouse"));
        client = new ClickHouseClient(ClickHouseOptions.at(server.url()));
        client.execute(Ddl.createDatabase("d"));
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    private static void createVersioned(String table) {
        TreeMap<String, String> settings = new TreeMap<>();
        settings.put("non_replicated_deduplication_window", "100");
        client.execute(
                Ddl.createTable(
                        new Ddl.TableDefinition(
                                "d",
                                table,
                                List.of(
                                        new Ddl.ColumnDefinition("id", "Int64"),
                                        new Ddl.ColumnDefinition("v", "Nullable(String)"),
                                        new Ddl.ColumnDefinition("_version", "UInt128"),
                                        new Ddl.ColumnDefinition("_is_deleted", "UInt8")),
                                "ReplacingMergeTree(_version, _is_deleted)",
                                List.of("id"),
                                settings,
                                "")));
    }

    private static NativeBlock row(long id, String value, long high, long low, boolean deleted) {
        NativeBlock block =
                new NativeBlock(
                        List.of("id", "v", "_version", "_is_deleted"),
                        List.of(
                                Scalar.INT64,
                                Scalar.STRING.nullable(),
                                Scalar.UINT128,
                                Scalar.UINT8));
        ((FixedColumn) block.column(0)).appendLong(id);
        NullableColumn v = (NullableColumn) block.column(1);
        v.present();
        ((StringColumn) v.inner())
                .append(value.getBytes(java.nio.charset.StandardCharsets.UTF_8), 0, value.length());
        ((FixedColumn) block.column(2)).appendInt128(low, high);
        ((FixedColumn) block.column(3)).appendByte(deleted ? 1 : 0);
        return block;
    }

    @Test
    void finalShowsTheHighestVersionWhateverTheOrderOfArrival() {
        createVersioned("versions");
        client.insert("d", "versions", row(1, "new", 2, 9, false), "a");
        client.insert("d", "versions", row(1, "old", 1, -7, false), "b");
        client.insert("d", "versions", row(2, "gone", 3, 8, true), "c");
        client.insert("d", "versions", row(2, "here", 2, 99, false), "d");
        client.insert("d", "versions", row(3, "gone", 1, 16, true), "e");
        client.insert("d", "versions", row(3, "again", 1, 17, false), "f");
        assertThat(client.query("SELECT id, v FROM d.versions FINAL ORDER BY id"))
                .containsExactly(new String[] {"1", "new"}, new String[] {"3", "again"});
    }

    @Test
    void aRepeatedTokenInsertsNothing() {
        createVersioned("tokens");
        client.insert("d", "tokens", row(1, "a", 1, 1, false), "token 1");
        client.insert("d", "tokens", row(1, "a", 1, 1, false), "token 1");
        client.insert("d", "tokens", row(1, "b", 2, 1, false), "token 2");
        assertThat(client.queryValue("SELECT count() FROM d.tokens")).isEqualTo("2");
    }

    @Test
    void aRepetitionAfterALostAnswerInsertsOnce() {
        createVersioned("lost");
        NativeBlock block = row(1, "a", 1, 1, false);
        server.dropInsertsAfterCommit(1);
        assertThatThrownBy(() -> client.insert("d", "lost", block, "lost 1"))
                .isInstanceOf(RetryException.class)
                .hasMessageContaining("WS-1201")
                .hasMessageContaining(server.url())
                .hasMessageContaining("`d`.`lost`");
        client.insert("d", "lost", block, "lost 1");
        assertThat(client.queryValue("SELECT count() FROM d.lost")).isEqualTo("1");
    }

    @Test
    void anInsertIsSentOnceOnly() {
        createVersioned("once");
        long before = server.insertCounts().started();
        server.dropInsertsBeforeCommit(1);
        assertThatThrownBy(() -> client.insert("d", "once", row(1, "a", 1, 1, false), "once"))
                .isInstanceOf(RetryException.class);
        assertThat(server.insertCounts().started()).isEqualTo(before + 1);
        assertThat(client.queryValue("SELECT count() FROM d.once")).isEqualTo("0");
    }

    @Test
    void overloadAsksForARepetition() {
        createVersioned("busy");
        for (int code : List.of(159, 160, 209, 210, 241, 252)) {
            // an answer 503 or 429 is repeated once by the HTTP client below client-v2
            server.refuseInserts(2, code);
            Throwable thrown =
                    catchThrowable(() -> client.insert("d", "busy", row(1, "a", 1, 1, false), "x"));
            assertThat(thrown).as("code " + code).isInstanceOf(RetryException.class);
            assertThat(ServerError.codeOf(thrown)).isEqualTo(code);
            server.refuseInserts(0, code);
        }
    }

    @Test
    void anUnreachableServerAsksForARepetition() {
        try (ClickHouseClient nobody =
                new ClickHouseClient(
                        ClickHouseOptions.at("http://127.0.0.1:1")
                                .withTimeouts(Duration.ofSeconds(1), Duration.ofSeconds(1)))) {
            assertThatThrownBy(nobody::ping)
                    .isInstanceOf(RetryException.class)
                    .hasMessageContaining("WS-1201")
                    .hasMessageContaining("http://127.0.0.1:1");
        }
    }

    @Test
    void wrongPasswordAndMissingRightsAreConfiguration() {
        try {
            server.requireLogin("app", "secret");
            try (ClickHouseClient wrong =
                    new ClickHouseClient(
                            ClickHouseOptions.at(server.url()).withCredentials("app", "guess"))) {
                Throwable thrown = catchThrowable(wrong::ping);
                assertThat(thrown)
                        .isInstanceOf(ConfigurationException.class)
                        .hasMessageContaining("WS-1203")
                        .hasMessageContaining("user app")
                        .hasMessageNotContaining("guess");
                assertThat(ServerError.codeOf(thrown)).isEqualTo(516);
            }
            try (ClickHouseClient right =
                    new ClickHouseClient(
                            ClickHouseOptions.at(server.url()).withCredentials("app", "secret"))) {
                right.ping();
            }
        } finally {
            server.requireLogin(null, null);
        }
        try {
            server.deny("(?is).*CREATE DATABASE.*");
            Throwable thrown = catchThrowable(() -> client.execute("CREATE DATABASE forbidden"));
            assertThat(thrown).isInstanceOf(ConfigurationException.class);
            assertThat(ServerError.codeOf(thrown)).isEqualTo(497);
        } finally {
            server.deny("");
        }
    }

    @Test
    void aServerWithoutFileDescriptorsIsWaitedForAndTold() {
        try {
            server.failStatements("CREATE DATABASE without_files", 76);
            Throwable thrown =
                    catchThrowable(() -> client.execute("CREATE DATABASE without_files"));
            assertThat(thrown)
                    .isInstanceOf(RetryException.class)
                    .hasMessageContaining("WS-1202")
                    .hasMessageContaining("raise its limit of open files");
            assertThat(ServerError.codeOf(thrown)).isEqualTo(76);
        } finally {
            server.failStatements("", 0);
        }
    }

    @Test
    void aRefusalNamesCodeAndText() {
        createVersioned("shape");
        client.execute("ALTER TABLE d.shape DROP COLUMN v");
        Throwable noColumn =
                catchThrowable(() -> client.insert("d", "shape", row(1, "a", 1, 1, false), "x"));
        assertThat(noColumn)
                .isInstanceOf(QuarantineException.class)
                .hasMessageContaining("WS-1204")
                .hasMessageContaining("`d`.`shape`");
        assertThat(ServerError.codeOf(noColumn)).isIn(16, 117);
        Throwable noTable =
                catchThrowable(() -> client.insert("d", "absent", row(1, "a", 1, 1, false), "x"));
        assertThat(noTable).isInstanceOf(QuarantineException.class);
        assertThat(ServerError.codeOf(noTable)).isEqualTo(60);
        Throwable syntax = catchThrowable(() -> client.query("SELEC 1"));
        assertThat(syntax).isInstanceOf(QuarantineException.class);
        assertThat(ServerError.codeOf(syntax)).isEqualTo(62);
        Throwable conversion =
                catchThrowable(() -> client.query("SELECT toInt8('x') FROM numbers(3)"));
        assertThat(conversion).isInstanceOf(QuarantineException.class);
        assertThat(ServerError.codeOf(conversion)).isEqualTo(6);
    }

    @Test
    void anErrorInTheMiddleOfAStreamIsNoShortResult() {
        Throwable thrown =
                catchThrowable(() ->
                        client.stream(
                                "SELECT throwIf(number = 3000000, 'late'), number FROM"
                                        + " numbers(4000000)",
                                row -> {}));
        assertThat(thrown).isNotNull();
    }

    @Test
    void anUnusableUrlIsConfiguration() {
        assertThatThrownBy(() -> new ClickHouseClient(ClickHouseOptions.at("nonsense")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("WS-1205")
                .hasMessageContaining("nonsense");
    }

    @Test
    void anyNameIsQuotedExactly() {
        String database = "Größe `x` \\ 1";
        String table = "t\"a'b\\`\n表";
        String column = "c`'\\\t%s";
        client.execute(Ddl.createDatabase(database));
        client.execute(
                Ddl.createTable(
                        new Ddl.TableDefinition(
                                database,
                                table,
                                List.of(new Ddl.ColumnDefinition(column, "Int64")),
                                "MergeTree",
                                List.of(column),
                                new TreeMap<>(),
                                "")));
        NativeBlock block = new NativeBlock(List.of(column), List.of(Scalar.INT64));
        ((FixedColumn) block.column(0)).appendLong(7);
        client.insert(database, table, block, "names");
        assertThat(
                        client.queryValue(
                                "SELECT "
                                        + Ddl.identifier(column)
                                        + " FROM "
                                        + Ddl.qualified(database, table)))
                .isEqualTo("7");
        assertThat(
                        client.query(
                                "SELECT database, table, name FROM system.columns WHERE database = "
                                        + Ddl.literal(database)))
                .containsExactly(new String[] {database, table, column});
    }

    @Test
    void textsComeBackUnescaped() {
        assertThat(
                        client.query(
                                "SELECT 'a\\tb\\n\\\\N\\0\\'', NULL, '', '\\\\N', 'ü' UNION ALL"
                                        + " SELECT 'x', 'y', 'z', 'v', 'w' ORDER BY 1"))
                .containsExactly(
                        new String[] {"a\tb\n\\N\0'", null, "", "\\N", "ü"},
                        new String[] {"x", "y", "z", "v", "w"});
    }

    @Test
    void detectsWhatTheServerCanDo() {
        ServerFeatures features = ServerFeatures.detect(client);
        assertThat(features.time64()).isTrue();
        assertThat(features.version()).startsWith("26.");
        client.execute(
                "CREATE TABLE d.times (t Time64(6)) ENGINE = MergeTree ORDER BY t",
                features.ddlSettings());
    }

    @Test
    void aStreamHoldsNothing() {
        long[] seen = new long[2];
        client.stream(
                "SELECT number, repeat('x', 50) FROM numbers(300000)",
                row -> {
                    seen[0]++;
                    seen[1] += row.length(1);
                });
        assertThat(seen).containsExactly(300_000, 15_000_000);
    }

    @Test
    void classifiesByCodesThatTheEngineNamesAlike() {
        Map<Integer, String> all = new TreeMap<>(ServerErrors.BUSY);
        all.putAll(ServerErrors.ACCESS);
        all.forEach((code, name) ->
                assertThat(client.queryValue("SELECT errorCodeToName(" + code + ")"))
                        .as("code " + code)
                        .isEqualTo(name));
    }
}
