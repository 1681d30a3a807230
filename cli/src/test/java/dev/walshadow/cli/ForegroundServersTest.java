package dev.walshadow.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.embedded.FreePort;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands {@code postgres} and {@code clickhouse} as a user runs them: processes. */
final class ForegroundServersTest {
    @TempDir Path folder;

    @Test
    void postgresSaysReadyStopsOnSigtermAndSurvivesKill() throws Exception {
        String port = Integer.toString(FreePort.next());
        String[] arguments = {
            "postgres", "--version", "16", "--dir", folder.toString(), "--port", port
        };
        String url = "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
        Process first = start(arguments);
        assertThat(first.inputReader().readLine())
                .isEqualTo("ready postgres://postgres@127.0.0.1:" + port + "/postgres");
        assertThat(ask(url, "create table t as select 1 as id; select count(*) from t"))
                .isEqualTo("1");
        first.destroyForcibly().waitFor();

        Process second = start(arguments);
        assertThat(second.inputReader().readLine()).startsWith("ready ");
        assertThat(ask(url, "select count(*) from t")).isEqualTo("1");
        second.destroy();
        assertThat(second.waitFor()).isZero();
    }

    @Test
    void clickhouseSaysReadyStopsOnSigtermAndSurvivesKill() throws Exception {
        String port = Integer.toString(FreePort.next());
        String[] arguments = {"clickhouse", "--dir", folder.toString(), "--port", port};
        String url = "http://127.0.0.1:" + port;
        Process first = start(arguments);
        assertThat(first.inputReader().readLine()).isEqualTo("ready " + url);
        post(url, "CREATE TABLE t (id Int32) ENGINE = MergeTree ORDER BY id");
        post(url, "INSERT INTO t VALUES (1)");
        first.destroyForcibly().waitFor();

        Process second = start(arguments);
        assertThat(second.inputReader().readLine()).startsWith("ready ");
        assertThat(post(url, "SELECT count() FROM t")).isEqualTo("1\n");
        second.destroy();
        assertThat(second.waitFor()).isZero();
    }

    @Test
    void wrongUseIsOneMessageAndExitCode2() throws Exception {
        Process process =
                start("postgres", "--version", "14", "--dir", folder.resolve("x").toString());
        try (BufferedReader error = process.errorReader()) {
            assertThat(error.readLine()).contains("15, 16, 17, 18").contains("found 14");
            assertThat(error.readLine()).isNull();
        }
        assertThat(process.waitFor()).isEqualTo(2);
    }

    private static Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx256m", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.add(Main.class.getName());
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).start();
    }

    private static String ask(String url, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            for (boolean rows = statement.execute(sql); !rows; rows = statement.getMoreResults()) {
                assertThat(statement.getUpdateCount()).isNotNegative();
            }
            ResultSet rows = statement.getResultSet();
            assertThat(rows.next()).isTrue();
            return rows.getString(1);
        }
    }

    private static String post(String url, String statement) throws Exception {
        try (HttpClient http = HttpClient.newHttpClient()) {
            HttpResponse<String> response =
                    http.send(
                            HttpRequest.newBuilder(URI.create(url))
                                    .POST(HttpRequest.BodyPublishers.ofString(statement))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
            return response.body();
        }
    }
}
