package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.daemon.verify.VerifyProgress;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/**
 * Values beyond {@code [memory] value}: what the table's policy says becomes of them, whether they
 * come with the initial load, with the stream or with a load of the table; those within the limit
 * arrive exact.
 */
@Timeout(1200)
final class LargeValuesTest {
    private static final int LIMIT = 1 << 20;
    private static final int CHARACTERS = LIMIT / 4;
    private static final List<String> TABLES = List.of("strict", "nulled", "cut");

    // text of so many bytes that does not compress
    private static final String RANDOM =
            "left((SELECT string_agg(md5(g::text), '') FROM generate_series(1, %1$d / 32 + 1) g),"
                    + " %1$d - 4) || 'last'";

    @Test
    void whatIsTooLargeFollowsTheTablesPolicy() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.configure("memory", "value = \"1MB\"");
            installation.configure(
                    """
                    [tables."public.nulled"]
                    oversized = "null"

                    [tables."public.cut"]
                    oversized = "truncate"

                    [tables."public.whole"]
                    oversized = "null"
                    """);
            for (String table : TABLES) {
                installation.execute(
                        "CREATE TABLE "
                                + table
                                + " (id int PRIMARY KEY, t text, b bytea, j jsonb, n int)");
                insert(installation, table, 1, LIMIT);
            }
            installation.execute(
                    "CREATE TABLE whole (n int, t text)",
                    "ALTER TABLE whole REPLICA IDENTITY FULL");
            insert(installation, "nulled", 10, 3 * LIMIT);
            insert(installation, "cut", 10, 3 * LIMIT);
            installation.startDaemon();
            installation.awaitStreaming();
            requireShapes(installation);

            for (String table : TABLES) {
                insert(installation, table, 2, LIMIT);
            }
            insert(installation, "nulled", 11, 3 * LIMIT);
            insert(installation, "cut", 11, 3 * LIMIT);
            fullIdentity(installation);
            requireShapes(installation);
            // leaves the values where they are
            installation.execute("UPDATE nulled SET n = n + 1", "UPDATE cut SET n = n + 1");
            requireShapes(installation);
            installation.resync("public.nulled");
            installation.resync("public.cut");
            requireShapes(installation);
            theStrictTableIsSetAside(installation);
        }
    }

    private static void insert(Installation installation, String table, int id, int bytes)
            throws Exception {
        // two rows with a text each, one with each other type
        installation.execute(
                "INSERT INTO %s VALUES (%d, %s, NULL, NULL, 0)"
                        .formatted(
                                table, id, "repeat('ab', %d / 2 - 2) || 'last'".formatted(bytes)),
                "INSERT INTO %s VALUES (%d, %s, NULL, NULL, 0)"
                        .formatted(table, id + 100, RANDOM.formatted(bytes)),
                "INSERT INTO %s VALUES (%d, NULL, (%s)::bytea, NULL, 0)"
                        .formatted(table, id + 200, RANDOM.formatted(bytes)),
                "INSERT INTO %s VALUES (%d, NULL, NULL, to_jsonb(%s), 0)"
                        .formatted(table, id + 300, RANDOM.formatted(bytes - 64)),
                "INSERT INTO %s VALUES (%d, repeat(U&'\\00E4', %d / 2), NULL, NULL, 0)"
                        .formatted(table, id + 400, bytes));
    }

    private static void requireShapes(Installation installation) throws Exception {
        Installation.CommandResult waited = installation.command("wait");
        assertThat(waited.output()).doesNotContain("WS-");
        for (String table : TABLES) {
            String wrong =
                    installation
                            .target()
                            .query(
                                    "SELECT id, length(t), length(b), length(j) FROM public."
                                            + table
                                            + " FINAL WHERE NOT ifNull("
                                            + expected(table)
                                            + ", 0) ORDER BY id")
                            .strip();
            assertThat(wrong).as("rows of %s", table).isEmpty();
            assertThat(
                            installation
                                    .target()
                                    .query("SELECT count() FROM public." + table + " FINAL"))
                    .as("rows of %s", table)
                    .isEqualToIgnoringWhitespace(count(installation, table));
        }
        assertThat(installation.status().path("ok").asBoolean(false)).isTrue();
    }

    private static String count(Installation installation, String table) throws SQLException {
        try (Connection session = installation.session();
                Statement statement = session.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM " + table)) {
            row.next();
            return row.getString(1);
        }
    }

    // what holds for every row: small ones whole, others as the policy says
    private static String expected(String table) {
        String whole =
                "multiIf(id < 100, length(t) = %1$d AND endsWith(t, 'last'),"
                        + " id < 200, length(t) = %1$d AND endsWith(t, 'last'),"
                        + " id < 300, length(b) = %1$d, id < 400, length(j) = %1$d - 62,"
                        + " lengthUTF8(t) = %1$d / 2)";
        String beyond =
                table.equals("cut")
                        ? "multiIf(id < 200, length(t) = %2$d, id < 300, length(b) = %1$d,"
                                + " id < 400, j IS NULL, lengthUTF8(t) = %2$d AND t ="
                                + " repeat('\u00e4', %2$d))"
                        : "t IS NULL AND b IS NULL AND j IS NULL";
        return ("if(id %% 100 < 10, " + whole + ", " + beyond + ")").formatted(LIMIT, CHARACTERS);
    }

    // an old row is logged whole, whatever its size; the table is keyed by place
    private static void fullIdentity(Installation installation) throws Exception {
        installation.execute(
                "INSERT INTO whole SELECT i, "
                        + RANDOM.formatted(LIMIT)
                        + " FROM"
                        + " generate_series(1, 4) i",
                "UPDATE whole SET n = n + 10 WHERE n > 1",
                "UPDATE whole SET t = 'short' WHERE n = 13",
                "DELETE FROM whole WHERE n = 14");
        Verification.Outcome outcome =
                Verification.of(installation.configuration(), Installation.PATIENCE)
                        .run("public.whole", VerifyProgress.NONE);
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
    }

    private static void theStrictTableIsSetAside(Installation installation) throws Exception {
        insert(installation, "strict", 12, 3 * LIMIT);
        installation.command("wait");
        assertThat(reason(installation)).contains("WS-1755").contains("[memory] value");
        // it cannot be loaded either, and says so
        installation.command("resync", "public.strict");
        installation.await("the load has failed", () -> reason(installation).contains("column t"));
        installation.execute("DELETE FROM strict WHERE id % 100 = 12");
        installation.resync("public.strict");
        Verification.Outcome outcome =
                Verification.of(installation.configuration(), Installation.PATIENCE)
                        .run("public.strict", VerifyProgress.NONE);
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
    }

    private static String reason(Installation installation) {
        for (JsonNode table : installation.status().path("tables")) {
            if (table.path("name").asString("").equals("public.strict")) {
                return table.path("reason").asString("");
            }
        }
        return "";
    }
}
