package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.control.ControlClient;
import dev.walshadow.daemon.state.StateDirectory;
import dev.walshadow.testkit.Installation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** Tables in the source that configure walshadow, each change at its commit. */
@Timeout(900)
final class SourceConfigurationTest {
    private static final String[] TABLES = {
        "CREATE SCHEMA ws",
        "CREATE TABLE ws.config_settings (key text PRIMARY KEY, value text, note text)",
        "CREATE TABLE ws.config_tables (name text PRIMARY KEY, replicate boolean NOT NULL)",
    };

    @Test
    void isObeyedFromTheStartAndAtEachCommit() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(TABLES);
            installation.execute(
                    "CREATE TABLE exact (id int PRIMARY KEY)",
                    "CREATE TABLE aside (id int PRIMARY KEY)",
                    "INSERT INTO aside VALUES (1)",
                    "INSERT INTO ws.config_settings VALUES ('batch.rows', '7'), ('batch.age',"
                            + " 'soon'), ('clickhouse.url', 'http://elsewhere:8123')",
                    "INSERT INTO ws.config_tables VALUES ('public.aside', false)");
            installation.configure("source", "config_schema = \"ws\"");
            installation.configure("tables", "exclude = [\"public.wanted\"]");
            installation.startDaemon();
            installation.awaitStreaming();
            awaitSetting(installation, "batch.rows", "7", "source ws.config_settings");
            assertThat(setting(installation, "batch.age").path("origin").asString(""))
                    .isEqualTo("default");
            assertThat(
                            installation
                                    .status()
                                    .path("source_configuration")
                                    .path("refused")
                                    .toString())
                    .contains("batch.age", "\\\"soon\\\" is not a duration")
                    .contains("clickhouse.url", "it cannot be set there");
            assertThat(exists(installation, "aside")).isFalse();

            installation.execute(
                    "INSERT INTO exact SELECT generate_series(1, 10)",
                    "INSERT INTO ws.config_tables VALUES ('public.exact', false),"
                            + " ('public.wanted', true), ('nonsense', true)",
                    "INSERT INTO exact SELECT generate_series(11, 20)",
                    "CREATE TABLE wanted (id int PRIMARY KEY)",
                    "INSERT INTO wanted SELECT generate_series(1, 5)");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(rows(installation, "exact")).isEqualTo("10");
            assertThat(rows(installation, "wanted")).isEqualTo("5");
            assertThat(installation.logged("the row nonsense of config_tables at ")).isTrue();
            installation.killDaemon();
            installation.execute(
                    "INSERT INTO exact VALUES (21)",
                    "DELETE FROM ws.config_tables WHERE name = 'public.exact'",
                    "UPDATE ws.config_tables SET name = 'public.other' WHERE name ="
                            + " 'public.aside'");
            installation.startDaemon();
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(rows(installation, "exact")).isEqualTo("21");
            assertThat(rows(installation, "aside")).isEqualTo("1");
        }
    }

    @Test
    void aBadValueIsRefusedAndTheOneBeforeStays() throws Exception {
        try (Installation installation = Installation.start(15)) {
            installation.execute(TABLES);
            installation.execute(
                    "CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1)");
            installation.configure("source", "config_schema = \"ws\"");
            installation.configure("batch", "rows = 1000");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "INSERT INTO ws.config_settings VALUES ('batch.rows', '50', repeat('x',"
                            + " 5000))");
            awaitSetting(installation, "batch.rows", "50", "source ws.config_settings");
            installation.execute(
                    "BEGIN",
                    "UPDATE ws.config_settings SET value = '60'",
                    "ROLLBACK",
                    "UPDATE ws.config_settings SET value = '0'",
                    "INSERT INTO ws.config_settings VALUES ('verify.rows', '77')");
            awaitSetting(installation, "verify.rows", "77", "source ws.config_settings");
            assertThat(setting(installation, "batch.rows").path("value").asString(""))
                    .isEqualTo("50");
            assertThat(installation.logged("WS-1953 ws.config_settings, row batch.rows at "))
                    .isTrue();
            Installation.CommandResult shown = installation.command("config show");
            assertThat(shown.output())
                    .containsPattern("verify.rows +77 +source ws.config_settings");
            installation.killDaemon();
            installation.startDaemon();
            awaitSetting(installation, "verify.rows", "77", "source ws.config_settings");
            assertThat(installation.command("ctl reload").exitCode()).isZero();
            awaitSetting(installation, "verify.rows", "77", "source ws.config_settings");
            installation.execute("TRUNCATE ws.config_settings");
            awaitSetting(installation, "verify.rows", "1000", "default");
            assertThat(setting(installation, "batch.rows").path("value").asString(""))
                    .isEqualTo("1000");
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    private static JsonNode setting(Installation installation, String key) {
        for (JsonNode each :
                ControlClient.send(
                                StateDirectory.controlSocket(installation.state()),
                                ControlClient.request("settings"))
                        .path("settings")) {
            if (each.path("key").asString("").equals(key)) {
                return each;
            }
        }
        throw new IllegalStateException("there is no setting " + key);
    }

    private static void awaitSetting(
            Installation installation, String key, String value, String origin) {
        installation.await(
                key + " is " + value,
                () -> {
                    JsonNode now = setting(installation, key);
                    return now.path("value").asString("").equals(value)
                            && now.path("origin").asString("").equals(origin);
                });
    }

    private static boolean exists(Installation installation, String table) {
        return installation.target().query("EXISTS TABLE public." + table).strip().equals("1");
    }

    private static String rows(Installation installation, String table) {
        return installation
                .target()
                .query("SELECT count() FROM public." + table + " FINAL")
                .strip();
    }
}
