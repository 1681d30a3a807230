package dev.walshadow.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.clickhouse.client.api.Client;
import com.clickhouse.client.api.ServerException;
import com.clickhouse.client.api.data_formats.ClickHouseBinaryFormatReader;
import com.clickhouse.client.api.insert.InsertResponse;
import com.clickhouse.client.api.insert.InsertSettings;
import com.clickhouse.client.api.query.QueryResponse;
import com.clickhouse.client.api.query.QuerySettings;
import com.clickhouse.data.ClickHouseFormat;
import dev.walshadow.base.ConfigurationException;
import dev.walshadow.base.RetryException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class EmbeddedClickHouseTest {
    @TempDir static Path folder;
    private static EmbeddedClickHouse server;
    private static HttpClient http;

    @BeforeAll
    static void start() {
        server = EmbeddedClickHouse.start(folder.resolve("shared"));
        http = HttpClient.newHttpClient();
    }

    @AfterAll
    static void stop() {
        server.close();
        http.close();
    }

    @Test
    void answersPlainQueriesAsClickHouseDoes() throws Exception {
        assertThat(get("/ping").body()).isEqualTo("Ok.\n");
        HttpResponse<String> plain = get("/?query=" + encoded("SELECT 1, 'a\tb'"));
        assertThat(plain.statusCode()).isEqualTo(200);
        assertThat(plain.body()).isEqualTo("1\ta\\tb\n");
        assertThat(plain.headers().firstValue("X-ClickHouse-Format")).hasValue("TabSeparated");
        assertThat(
                        post(
                                        "/?query="
                                                + encoded(
                                                        "SELECT {x:String} AS v FORMAT JSONEachRow")
                                                + "&param_x="
                                                + encoded("é"),
                                        "")
                                .body())
                .isEqualTo("{\"v\":\"é\"}\n");
        assertThat(
                        post(
                                        "/?max_threads=3&database=system",
                                        "SELECT getSetting('max_threads'), currentDatabase()")
                                .body())
                .isEqualTo("3\tsystem\n");
    }

    @Test
    void formatsSmallResultsInOneThreadUnlessARequestSaysOtherwise() throws Exception {
        String setting = "SELECT getSetting('output_format_parallel_formatting')";
        assertThat(post("/", setting).body()).isEqualTo("false\n");
        assertThat(post("/?output_format_parallel_formatting=1", setting).body())
                .isEqualTo("true\n");
    }

    @Test
    void mutationsOfManyTablesFindAPlaceToWait() throws Exception {
        assertThat(
                        post(
                                        "/",
                                        "SELECT toUInt32(value) FROM system.server_settings WHERE"
                                            + " name IN ('background_pool_size',"
                                            + " 'background_merges_mutations_concurrency_ratio')"
                                            + " ORDER BY name")
                                .body())
                .isEqualTo("80\n4\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT nope; 47; 404",
                "SELECT 1 2; 62; 400",
                "CREATE DATABASE d; 164; 500"
            })
    void answersErrorsWithTheirCode(String line) throws Exception {
        String[] parts = line.split("; ", -1);
        HttpResponse<String> response = get("/?query=" + encoded(parts[0]));
        assertThat(response.headers().firstValue("X-ClickHouse-Exception-Code")).hasValue(parts[1]);
        assertThat(response.statusCode()).isEqualTo(Integer.parseInt(parts[2]));
        assertThat(response.body()).startsWith("Code: " + parts[1] + ". DB::Exception: ");
    }

    @Test
    void refusesSeveralStatementsUnknownSettingsAndUnknownDatabases() throws Exception {
        assertThat(post("/", "SELECT 1; SELECT 2").body()).contains("Multi-statements");
        assertThat(
                        post("/?no_such=1", "SELECT 1")
                                .headers()
                                .firstValue("X-ClickHouse-Exception-Code"))
                .hasValue("115");
        assertThat(
                        post("/?database=no_such", "SELECT 1")
                                .headers()
                                .firstValue("X-ClickHouse-Exception-Code"))
                .hasValue("81");
    }

    @Test
    void insertsWithTheSettingsOfItsRequest() throws Exception {
        server.query("CREATE TABLE strict (id UInt64) ENGINE = Memory");
        String row = "{\"id\": 1, \"more\": 2}";
        String insert = "/?query=" + encoded("INSERT INTO strict FORMAT JSONEachRow");
        String strict = "&input_format_skip_unknown_fields=0";
        assertThat(code(post(insert + strict + "&max_threads=1", row))).hasValue("117");
        assertThat(code(post(insert + "&input_format_skip_unknown_fields=1", row))).isEmpty();
        assertThat(code(post(insert + "&no_such=1", row))).hasValue("115");
        assertThat(code(post(insert + "&insert_deduplication_token=it%27s%5C", row))).isEmpty();
        String own =
                "/?query="
                        + encoded("INSERT INTO strict SETTINGS max_threads = 1 FORMAT JSONEachRow");
        assertThat(code(post(own + strict, row))).hasValue("117");
        assertThat(code(post(own, row))).isEmpty();
        assertThat(code(get("/?query=" + encoded("INSERT INTO strict VALUES (1)"))))
                .hasValue("164");
        assertThat(server.query("SELECT count() FROM strict")).isEqualTo("3\n");
    }

    private static Optional<String> code(HttpResponse<String> answer) {
        return answer.headers().firstValue("X-ClickHouse-Exception-Code");
    }

    @Test
    void cutsTheConnectionWhenAQueryFailsAfterItsFirstRows() {
        assertThatThrownBy(() -> post("/", "SELECT throwIf(number = 300000) FROM numbers(400000)"))
                .isInstanceOf(IOException.class);
    }

    @Test
    void insertsDataWithBlankLinesAndValues() throws Exception {
        server.query("CREATE TABLE lines (id UInt32, s String) ENGINE = MergeTree ORDER BY id");
        post("/?query=" + encoded("INSERT INTO lines FORMAT TSV"), "1\ta\n").body();
        HttpResponse<String> inserted =
                post("/", "INSERT INTO lines (id, s) FORMAT CSV\n3,\"x\n\ny;\"\n4,z\n");
        assertThat(inserted.headers().firstValue("X-ClickHouse-Summary").orElseThrow())
                .contains("\"written_rows\":\"2\"");
        post("/", "INSERT INTO lines VALUES (5, 'a\n\nb'), (6, '(');");
        post("/", "INSERT INTO lines SELECT 7, 'seven'");
        assertThat(server.query("SELECT id, s FROM lines ORDER BY id"))
                .isEqualTo("1\ta\n3\tx\\n\\ny;\n4\tz\n5\ta\\n\\nb\n6\t(\n7\tseven\n");
        assertThat(
                        post("/?query=" + encoded("INSERT INTO lines FORMAT Native"), "garbage")
                                .statusCode())
                .isNotEqualTo(200);
    }

    @Test
    @SuppressWarnings("try") // client-v2 declares close() throws Exception
    void servesClientV2WithCompressionBothWays() throws Exception {
        server.query(
                "CREATE TABLE client (id UInt64, s String) ENGINE = ReplacingMergeTree ORDER BY id"
                        + " SETTINGS non_replicated_deduplication_window = 100");
        StringBuilder rows = new StringBuilder();
        for (int i = 0; i < 200_000; i++) {
            rows.append(i).append("\trow ").append(i).append('\n');
        }
        try (Client client = client("default", "")) {
            assertThat(client.ping()).isTrue();
            for (int attempt = 0; attempt < 2; attempt++) {
                InsertSettings settings = new InsertSettings().setDeduplicationToken("token");
                try (InsertResponse response =
                        client.insert(
                                        "client",
                                        new ByteArrayInputStream(
                                                rows.toString().getBytes(StandardCharsets.UTF_8)),
                                        ClickHouseFormat.TabSeparated,
                                        settings)
                                .get()) {
                    assertThat(response.getWrittenRows()).isEqualTo(200_000);
                }
            }
            long sum = 0;
            try (QueryResponse response =
                            client.query("SELECT id, s FROM client", new QuerySettings()).get();
                    ClickHouseBinaryFormatReader reader = client.newBinaryFormatReader(response)) {
                while (reader.next() != null) {
                    sum += reader.getLong("id");
                }
            }
            assertThat(sum).isEqualTo(199_999L * 200_000 / 2);
            assertThat(
                            client.query(
                                            "SELECT {a:String} AS a",
                                            Map.of("a", "x"),
                                            new QuerySettings())
                                    .get()
                                    .getResultRows())
                    .isNotNegative();
            assertThatThrownBy(() -> client.query("SELECT * FROM no_such").get())
                    .isInstanceOf(ServerException.class)
                    .hasMessageContaining("Unknown table");
        }
    }

    @Test
    void asksForALoginAndDeniesStatementsOnRequest() throws Exception {
        try {
            server.requireLogin("writer", "secret");
            assertThat(post("/", "SELECT 1").headers().firstValue("X-ClickHouse-Exception-Code"))
                    .hasValue("516");
            try (Client client = client("writer", "secret")) {
                assertThat(client.query("SELECT 1").get().getReadRows()).isNotNegative();
            }
            server.requireLogin(null, null);
            server.deny("^CREATE");
            assertThat(
                            post("/", "CREATE DATABASE x")
                                    .headers()
                                    .firstValue("X-ClickHouse-Exception-Code"))
                    .hasValue("497");
            assertThat(post("/", "SELECT 1").statusCode()).isEqualTo(200);
        } finally {
            server.requireLogin(null, null);
            server.deny("");
        }
    }

    @Test
    void refusesAWholeBodyAndServesTheNextRequestOfThatConnection() throws Exception {
        server.query("CREATE TABLE big (s String) ENGINE = MergeTree ORDER BY s");
        String rows = "x".repeat(1000).concat("\n").repeat(20_000);
        for (int i = 0; i < 3; i++) {
            server.refuseInserts(1, 241);
            HttpResponse<String> refused =
                    post("/?query=" + encoded("INSERT INTO big FORMAT TSV"), rows);
            assertThat(refused.headers().firstValue("X-ClickHouse-Exception-Code")).hasValue("241");
            assertThat(post("/", "SELECT count() FROM big").body()).isEqualTo("0\n");
        }
    }

    @Test
    void commitsNothingOfABodyThatBreaksOff() throws Exception {
        server.query("CREATE TABLE broken (id UInt32) ENGINE = MergeTree ORDER BY id");
        long started = server.insertCounts().started();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            String head =
                    "POST /?query="
                            + encoded("INSERT INTO broken FORMAT TSV")
                            + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n1\n2\n";
            socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
            while (server.insertCounts().started() == started) {
                Thread.onSpinWait();
            }
        }
        server.restart();
        http.close();
        http = HttpClient.newHttpClient();
        server.query("INSERT INTO broken VALUES (3)");
        assertThat(server.query("SELECT id FROM broken")).isEqualTo("3\n");
    }

    @Test
    void failsInsertsBeforeAndAfterTheirCommitOnRequest() throws Exception {
        server.query("CREATE TABLE faults (id UInt32) ENGINE = MergeTree ORDER BY id");
        String insert = "INSERT INTO faults FORMAT TSV\n";
        EmbeddedClickHouse.InsertCounts before = server.insertCounts();
        server.refuseInserts(1, 252);
        assertThat(post("/", insert + "1\n").headers().firstValue("X-ClickHouse-Exception-Code"))
                .hasValue("252");
        server.dropInsertsBeforeCommit(1);
        assertThatThrownBy(() -> post("/", insert + "2\n")).isInstanceOf(IOException.class);
        server.dropInsertsAfterCommit(1);
        assertThatThrownBy(() -> post("/", insert + "3\n")).isInstanceOf(IOException.class);
        assertThat(post("/", insert + "4\n").statusCode()).isEqualTo(200);
        assertThat(server.query("SELECT id FROM faults ORDER BY id")).isEqualTo("3\n4\n");
        EmbeddedClickHouse.InsertCounts after = server.insertCounts();
        assertThat(after.committed() - before.committed()).isEqualTo(2);
        assertThat(after.answered() - before.answered()).isEqualTo(1);
    }

    @Test
    void keepsAcknowledgedRowsThroughStopAndKillWithAnInsertUnderWay() throws Exception {
        try (EmbeddedClickHouse other = EmbeddedClickHouse.start(folder.resolve("other"))) {
            other.query("CREATE TABLE kept (id UInt32) ENGINE = MergeTree ORDER BY id");
            other.query("INSERT INTO kept VALUES (1)");
            other.delayInserts(Duration.ofMinutes(5));
            Thread inserting = Thread.ofVirtual().start(() -> insertIgnoringTheEnd(other, 2));
            awaitStarted(other, 2);
            other.kill();
            inserting.join();
            other.start();
            assertThat(other.query("SELECT id FROM kept")).isEqualTo("1\n");
            other.query("INSERT INTO kept VALUES (3)");
            other.restart();
            assertThat(other.query("SELECT id FROM kept ORDER BY id")).isEqualTo("1\n3\n");
            assertThatThrownBy(() -> EmbeddedClickHouse.start(folder.resolve("other")))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("only user");
        }
    }

    private static void insertIgnoringTheEnd(EmbeddedClickHouse other, int id) {
        try {
            other.query("INSERT INTO kept VALUES (" + id + ")");
        } catch (RetryException e) {
            // The kill.
        }
    }

    private static void awaitStarted(EmbeddedClickHouse other, long inserts) {
        while (other.insertCounts().started() < inserts) {
            Thread.onSpinWait();
        }
    }

    private static Client client(String user, String password) {
        return new Client.Builder()
                .addEndpoint(server.url())
                .setUsername(user)
                .setPassword(password)
                .compressClientRequest(true)
                .compressServerResponse(true)
                .build();
    }

    private static HttpResponse<String> get(String path) throws Exception {
        return http.send(
                HttpRequest.newBuilder(URI.create(server.url() + path)).build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static HttpResponse<String> post(String path, String body) throws Exception {
        return http.send(
                HttpRequest.newBuilder(URI.create(server.url() + path))
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
