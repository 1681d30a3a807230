package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/** Tables that are added and removed by command while the daemon runs, kills included. */
@Timeout(300)
final class AddRemoveTest {
    private static final int ROWS = 50_000;

    private static final String[] SCHEMA = {
        "CREATE TABLE base (id int PRIMARY KEY, v text)",
        "INSERT INTO base VALUES (1, 'one')",
        "CREATE TABLE late (id int PRIMARY KEY, v text)",
        "INSERT INTO late SELECT i, 'old ' || i FROM generate_series(1, " + ROWS + ") i",
        "CREATE TABLE parted (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (100) TO (1000)",
        "INSERT INTO parted SELECT i, 'p' FROM generate_series(1, 200) i",
        "CREATE TABLE empty_handed (id int PRIMARY KEY, v text)",
        "INSERT INTO empty_handed VALUES (1, 'before')",
    };

    private static Installation prepared() throws Exception {
        Installation installation = Installation.start(17);
        installation.execute(SCHEMA);
        installation.configure("tables", "include = [\"public.base\"]");
        return installation;
    }

    private static Installation started() throws Exception {
        Installation installation = prepared();
        installation.startDaemon();
        installation.awaitStreaming();
        return installation;
    }

    private static void done(Installation.CommandResult result) {
        assertThat(result.exitCode()).as(result.output()).isZero();
    }

    private static void verified(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
    }

    private static String ask(Installation installation, String query) {
        return installation.target().query(query).strip();
    }

    private static String rows(Installation installation, String table) {
        return ask(installation, "SELECT count() FROM public." + table + " FINAL");
    }

    private static List<String> names(JsonNode names) {
        List<String> list = new ArrayList<>();
        names.forEach(name -> list.add(name.asString("")));
        return list;
    }

    @Test
    void addedTablesArriveWholeAndRemovedOnesStopAcrossKills() throws Exception {
        try (Installation installation = started()) {
            verified(installation);
            assertThat(ask(installation, "EXISTS TABLE public.late")).isEqualTo("0");

            done(installation.command("add", "public.late", "public.parted"));
            installation.killDaemon(); // the decision was durable, the loads were not done
            installation.execute("UPDATE late SET v = 'new' WHERE id % 10 = 0");
            installation.startDaemon();
            installation.execute(
                    "DELETE FROM late WHERE id % 10 = 1", "INSERT INTO parted VALUES (300, 'p')");
            verified(installation);
            assertThat(rows(installation, "late")).isEqualTo("" + ROWS * 9 / 10);
            assertThat(rows(installation, "parted")).isEqualTo("201");
            assertThat(names(installation.status().path("added")))
                    .containsExactly("public.late", "public.parted");

            done(installation.command("remove", "public.late"));
            installation.execute("DELETE FROM late WHERE id % 10 = 2");
            verified(installation);
            assertThat(rows(installation, "late")).isEqualTo("" + ROWS * 9 / 10);
            installation.killDaemon();
            installation.startDaemon();
            installation.execute("INSERT INTO late VALUES (0, 'while it was removed')");
            verified(installation);
            assertThat(rows(installation, "late")).isEqualTo("" + ROWS * 9 / 10);
            assertThat(names(installation.status().path("removed"))).containsExactly("public.late");

            done(installation.command("add", "public.late"));
            verified(installation);
            assertThat(rows(installation, "late")).isEqualTo("" + (ROWS * 8 / 10 + 1));

            done(installation.command("remove", "--drop", "public.parted"));
            done(installation.command("add", "public.parted")); // no WAL in between
            done(installation.command("remove", "--drop", "public.parted"));
            installation.await(
                    "the table is gone",
                    () -> ask(installation, "EXISTS TABLE public.parted").equals("0"));
            verified(installation);
        }
    }

    @Test
    void rowsOfATransactionFromBeforeTheBaseBackupArriveWithTheTable() throws Exception {
        try (Installation installation = prepared();
                Connection session = installation.session();
                Statement statement = session.createStatement()) {
            session.setAutoCommit(false);
            statement.execute("INSERT INTO late VALUES (-1, 'not in any WAL that was read')");
            installation.startDaemon();
            installation.awaitStreaming();
            done(installation.command("add", "public.late"));
            installation.await(
                    "the load waits for the transaction",
                    () ->
                            installation
                                    .status()
                                    .path("loads")
                                    .path(0)
                                    .path("step")
                                    .asString("")
                                    .contains("transactions from before"));
            statement.execute("UPDATE late SET v = 'seen' WHERE id = 1");
            session.commit();
            verified(installation);
            assertThat(rows(installation, "late")).isEqualTo("" + (ROWS + 1));
        }
    }

    @Test
    void whatCannotBeAddedOrRemovedIsRefusedAndNothingChanges() throws Exception {
        try (Installation installation = started()) {
            var followed = installation.command("add", "public.late", "public.base");
            assertThat(followed.exitCode()).isEqualTo(2);
            assertThat(followed.output()).contains("WS-1909", "public.base is followed already");
            assertThat(installation.command("add", "public.parted_low").output())
                    .contains("is a partition", "walshadow add public.parted");
            assertThat(installation.command("add", "public.nothing").output())
                    .contains("have no table 'public.nothing'");
            assertThat(installation.command("remove", "public.late").output())
                    .contains("public.late is not followed");
            verified(installation);
            assertThat(ask(installation, "EXISTS TABLE public.late")).isEqualTo("0");
            assertThat(names(installation.status().path("added"))).isEmpty();
        }
    }

    @Test
    void withoutAnInitialLoadOnlyLaterChangesArriveAndALeftOutTableIsLoadedWhenItComesBack()
            throws Exception {
        try (Installation installation = started()) {
            installation.killDaemon();
            installation.configure("tables", "include = [\"public.empty_handed\"]");
            installation.configure("tables", "initial_load = \"none\"");
            installation.startDaemon();
            installation.execute(
                    "INSERT INTO empty_handed VALUES (2, 'after')",
                    "INSERT INTO base VALUES (2, 'while it was left out')");
            done(installation.command("wait"));
            assertThat(ask(installation, "SELECT id, v FROM public.empty_handed FINAL"))
                    .isEqualTo("2\tafter");
            assertThat(rows(installation, "base")).isEqualTo("1");

            installation.killDaemon();
            installation.configure("tables", "initial_load = \"copy\"");
            installation.configure("tables", "include = [\"public.base\"]");
            installation.startDaemon();
            verified(installation);
            assertThat(rows(installation, "base")).isEqualTo("2");
        }
    }
}
