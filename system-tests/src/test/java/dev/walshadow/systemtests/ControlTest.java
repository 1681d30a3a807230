package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.embedded.EmbeddedClickHouse;
import dev.walshadow.postgres.Lsn;
import dev.walshadow.testkit.Installation;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** A daemon that is steered while it runs. */
@Timeout(600)
final class ControlTest {
    private static final String SECRET = "0123456789abcdef0123";

    private static String done(Installation.CommandResult result) {
        assertThat(result.exitCode()).as(result.output()).isZero();
        return result.output();
    }

    private static long position(Installation installation) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_current_wal_insert_lsn()")) {
            row.next();
            return Lsn.parse(row.getString(1));
        }
    }

    private static String rows(Installation installation) {
        return installation.target().query("SELECT count() FROM public.t FINAL").strip();
    }

    private static HttpResponse<String> post(
            Installation installation, String path, String token, String body) throws Exception {
        String url = installation.status().path("http").asString("");
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create(url + "api/v1/" + path))
                            .header("Authorization", "Bearer " + token)
                            .POST(HttpRequest.BodyPublishers.ofString(body))
                            .build(),
                    BodyHandlers.ofString());
        }
    }

    @Test
    void aPauseLastsOverAKillUntilItIsResumedAndLosesNothing() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(
                    "CREATE TABLE t (id int PRIMARY KEY, v text)",
                    "INSERT INTO t SELECT i, 'old' FROM generate_series(1, 100) i");
            Path token = installation.folder("secrets").resolve("token");
            Files.writeString(token, SECRET + "\n");
            installation.configure("http", "listen = \"127.0.0.1:0\"");
            installation.configure("http", "token_file = \"" + token + "\"");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();

            assertThat(done(installation.command("ctl pause", "--reason", "an upgrade")))
                    .startsWith("paused since ");
            long started = installation.target().insertCounts().started();
            changeWhilePaused(installation);
            installation.killDaemon();
            installation.startDaemon();
            assertPaused(installation);
            assertThat(installation.target().insertCounts().started()).isEqualTo(started);
            assertThat(rows(installation)).isEqualTo("100");

            assertThat(post(installation, "resume", SECRET + "x", "").statusCode()).isEqualTo(401);
            assertThat(installation.status().path("paused").asBoolean(false)).isTrue();
            assertThat(post(installation, "resume", SECRET, "").statusCode()).isEqualTo(200);
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(rows(installation)).isEqualTo("299");
            assertThat(installation.state().resolve("paused.toml")).doesNotExist();
            assertThat(done(installation.command("ctl tables"))).containsPattern("public.t +live");
            assertThat(post(installation, "log", SECRET, "{\"level\":\"debug\"}").body())
                    .contains("debug");
            assertThat(installation.command("ctl log", "loud").output()).contains("no level");
        }
    }

    @Test
    void aReloadAppliesWhatItCanAndRefusesWhatIsWrong() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("INSERT INTO t SELECT i, 'old' FROM generate_series(1, 100) i");
            assertThat(installation.verify().reason()).isEmpty();

            installation.configure("batch", "rows = 5");
            installation.configure("log", "level = \"debug\"");
            installation.configure("memory", "value = \"1MB\"");
            installation.configure(text -> text.replace("http://127.0.0.1", "http://localhost"));
            long url = line(installation, "url = \"http");
            String reloaded = done(installation.command("ctl reload"));
            assertThat(reloaded)
                    .contains("batch.rows is applied")
                    .contains("log.level is applied")
                    .contains("clickhouse.url is applied")
                    .contains("memory.value needs a restart");
            assertThat(installation.status().path("target").asString(""))
                    .startsWith("http://localhost");
            long before = installation.status().path("batches").asLong(0);
            installation.execute("INSERT INTO t SELECT i, 'n' FROM generate_series(101, 200) i");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(installation.status().path("batches").asLong(0) - before)
                    .isGreaterThanOrEqualTo(20);

            installation.configure("batch", "rows = 0");
            Installation.CommandResult refused = installation.command("ctl reload");
            assertThat(refused.exitCode()).isEqualTo(2);
            assertThat(refused.output())
                    .contains("[batch] rows: \"0\" is not a whole number from 1")
                    .contains("walshadow.toml:" + line(installation, "rows = 0"));
            installation.configure("batch", "rows = 50");
            anotherClickHouse(installation, url);
            installation.signalDaemon("HUP");
            installation.await(
                    "the signal has been answered",
                    () -> installation.logged("reloaded: batch.rows is 50"));
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    /** The postmaster is stopped: connections are taken by the kernel, and nobody answers. */
    @Test
    void aWaitEndsInTimeThoughTheSourceDoesNotAnswer() throws Exception {
        try (Installation installation = Installation.start(15)) {
            installation.execute("CREATE TABLE t (id int PRIMARY KEY)");
            installation.startDaemon();
            installation.awaitStreaming();
            String pid = Long.toString(installation.source().pid());
            assertThat(new ProcessBuilder("kill", "-STOP", pid).start().waitFor()).isZero();
            try {
                long started = System.nanoTime();
                JsonNode answer =
                        ControlClient.send(
                                StateDirectory.controlSocket(installation.state()),
                                ControlClient.request("wait").put("timeout_millis", 2_000));
                Duration took = Duration.ofNanos(System.nanoTime() - started);
                assertThat(answer.path("durable").asBoolean(true)).isFalse();
                assertThat(answer.path("message").asString(""))
                        .startsWith("the source's position cannot be asked for");
                assertThat(took).isBetween(Duration.ofMillis(1_900), Duration.ofSeconds(8));
                assertThat(installation.command("wait", "--timeout", "1s").exitCode()).isEqualTo(1);
            } finally {
                assertThat(new ProcessBuilder("kill", "-CONT", pid).start().waitFor()).isZero();
            }
            assertThat(installation.command("wait").exitCode()).isZero();
        }
    }

    /** An empty one does not have what was written. */
    private static void anotherClickHouse(Installation installation, long line) throws Exception {
        String right = Files.readAllLines(installation.configurationFile()).get((int) line - 1);
        try (EmbeddedClickHouse other =
                EmbeddedClickHouse.start(installation.folder("other").resolve("clickhouse"))) {
            String wrong = "url = \"" + other.url() + "\"";
            installation.configure(text -> text.replace(right, wrong));
            Installation.CommandResult refused = installation.command("ctl reload");
            assertThat(refused.exitCode()).isEqualTo(2);
            assertThat(refused.output())
                    .contains("is not the ClickHouse that has the rows")
                    .contains("found none");
            installation.configure(text -> text.replace(wrong, right));
        }
        assertThat(installation.status().path("target").asString(""))
                .startsWith("http://localhost");
    }

    private static long line(Installation installation, String start) throws Exception {
        return Files.readAllLines(installation.configurationFile()).stream()
                        .takeWhile(text -> !text.startsWith(start))
                        .count()
                + 1;
    }

    /** The stream goes on, with DDL too; ClickHouse is not asked for anything. */
    private static void changeWhilePaused(Installation installation) throws Exception {
        installation.execute(
                "INSERT INTO t SELECT i, 'new' FROM generate_series(101, 300) i",
                "ALTER TABLE t ADD COLUMN more int DEFAULT 7",
                "DELETE FROM t WHERE id = 1");
        long written = position(installation);
        installation.await(
                "the changes are taken in",
                () ->
                        Lsn.parse(installation.status().path("handed_on").asString("0/0"))
                                >= written);
        assertPaused(installation);
        assertThat(installation.command("resync", "public.t").output())
                .contains("the replication is paused since")
                .contains("an upgrade");
        Installation.CommandResult waited = installation.command("wait", "--timeout", "1s");
        assertThat(waited.exitCode()).isEqualTo(1);
        assertThat(waited.output()).contains("walshadow ctl resume");
    }

    private static void assertPaused(Installation installation) throws Exception {
        assertThat(installation.status().path("paused").asBoolean(false)).isTrue();
        assertThat(done(installation.command("ctl status")))
                .contains("paused_since")
                .contains("an upgrade");
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet slot =
                        statement.executeQuery(
                                "SELECT wal_status FROM pg_replication_slots"
                                        + " WHERE slot_name = 'walshadow'")) {
            assertThat(slot.next()).isTrue();
            assertThat(slot.getString(1)).isEqualTo("reserved");
        }
    }
}
