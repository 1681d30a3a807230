package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tables whose columns and keys change while they are left out, which nobody waits for, and which
 * are followed afterwards: each in one of the ways that bring a table in, while it is written to,
 * with kills in between.
 */
@Timeout(300)
final class LeftOutTablesTest {
    private static final int MAJOR = Integer.getInteger("walshadow.postgres", 18);
    private static final List<String> TABLES =
            List.of("commanded", "configured", "declared", "renamed", "attached", "removed");

    private static void create(Installation installation) throws SQLException {
        installation.execute(
                "CREATE SCHEMA ws",
                "CREATE TABLE ws.config_settings (key text PRIMARY KEY, value text)",
                "CREATE TABLE ws.config_tables (name text PRIMARY KEY, replicate boolean)",
                "CREATE TABLE beside (id int PRIMARY KEY)",
                "CREATE TABLE whole (id int NOT NULL, n int NOT NULL, v text) PARTITION BY RANGE"
                        + " (id)",
                "CREATE TABLE branch (LIKE whole) PARTITION BY RANGE (id)",
                "CREATE TABLE attached PARTITION OF branch FOR VALUES FROM (0) TO (1000000)",
                "ALTER TABLE attached ADD PRIMARY KEY (id)",
                "CREATE TABLE outside (LIKE whole) PARTITION BY RANGE (id)",
                "CREATE TABLE leaf PARTITION OF outside FOR VALUES FROM (0) TO (9)",
                "INSERT INTO outside VALUES (1, 1), (2, 2)");
        for (String table : TABLES) {
            installation.execute(
                    "CREATE TABLE IF NOT EXISTS "
                            + table
                            + " (id int PRIMARY KEY, n int NOT NULL, v text)",
                    "CREATE UNIQUE INDEX " + table + "_old ON " + table + " (n, id)",
                    "INSERT INTO " + table + " SELECT i, -i, 'v' FROM generate_series(1, 900) i");
        }
    }

    /** After both of these a table has another primary key. */
    private static void change(Installation installation, String table) throws SQLException {
        installation.execute(
                "CREATE UNIQUE INDEX CONCURRENTLY " + table + "_n ON " + table + " (n)",
                "REINDEX INDEX CONCURRENTLY " + table + "_old",
                "ALTER TABLE " + table + " DROP CONSTRAINT " + table + "_pkey");
    }

    private static void changeOn(Installation installation, String table) throws SQLException {
        installation.execute(
                "ALTER TABLE " + table + " ADD PRIMARY KEY (n)",
                "DROP INDEX " + table + "_n",
                "DROP INDEX CONCURRENTLY " + table + "_old",
                "ALTER TABLE " + table + " ALTER COLUMN v SET NOT NULL");
    }

    @Test
    void arriveWithTheShapeThatTheyHaveByThen() throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        try (Installation installation = Installation.start(MAJOR);
                ExecutorService sessions = Executors.newVirtualThreadPerTaskExecutor()) {
            create(installation);
            installation.configure("source", "config_schema = \"ws\"");
            leaveOut(installation, TABLES);
            installation.startDaemon();
            installation.awaitStreaming();
            long holds = holds(installation);
            Future<Boolean> writing = sessions.submit(writing(installation, over));
            try {
                for (String table : TABLES) {
                    change(installation, table);
                }
                installation.awaitDurable();
                assertThat(holds(installation)).as("holds").isEqualTo(holds);
                installation.killDaemon();
                installation.startDaemon();
                bringIn(installation);
            } finally {
                over.set(true);
            }
            writing.get();
            verified(installation);
            for (String table : TABLES) {
                if (!table.equals("attached") && !table.equals("renamed")) {
                    assertThat(key(installation, table)).as(table).isEqualTo("(n)");
                }
            }
            assertThat(key(installation, "now_selected")).isEqualTo("(n)");
        }
    }

    private static void bringIn(Installation installation) throws Exception {
        changeOn(installation, "commanded");
        done(installation.command("ctl add", "public.commanded"));
        changeOn(installation, "declared");
        installation.execute("INSERT INTO ws.config_tables VALUES ('public.declared', true)");
        installation.killDaemon(); // decisions may be durable, the loads are not done
        installation.startDaemon();
        verified(installation);
        changeOn(installation, "attached");
        changeOn(installation, "renamed");
        installation.execute(
                "ALTER TABLE outside RENAME TO inside",
                "INSERT INTO inside VALUES (3, 3)",
                "ALTER TABLE whole ATTACH PARTITION branch FOR VALUES FROM (0) TO (1000000)",
                "ALTER TABLE renamed RENAME TO now_selected");
        verified(installation);
        changeOn(installation, "configured");
        installation.awaitDurable();
        installation.killDaemon();
        leaveOut(installation, List.of("removed"));
        installation.startDaemon();
        done(installation.command("wait"));
        assertThat(key(installation, "configured")).isEqualTo("(n)");
        done(installation.command("ctl add", "public.removed"));
        done(installation.command("ctl remove", "public.removed"));
        changeOn(installation, "removed");
        installation.execute(
                "ALTER TABLE removed REPLICA IDENTITY FULL",
                "ALTER TABLE removed ADD COLUMN late int",
                "UPDATE removed SET late = id WHERE id % 3 = 0",
                "ALTER TABLE removed REPLICA IDENTITY DEFAULT");
        installation.awaitDurable();
        done(installation.command("ctl add", "public.removed"));
    }

    private static void leaveOut(Installation installation, List<String> tables) {
        String names = "\"ws.*\", \"public.branch\", \"public.outside\"";
        for (String table : tables) {
            names += ", \"public." + table + "\"";
        }
        installation.configure("tables", "exclude = [" + names + "]");
    }

    /** Rows come, change and go in every table, until it is over. */
    private static Callable<Boolean> writing(Installation installation, AtomicBoolean over) {
        return () -> {
            try (Connection session = installation.session();
                    Statement statement = session.createStatement()) {
                List<String> tables = new ArrayList<>(TABLES);
                for (int i = 1_000; !over.get(); i++) {
                    try {
                        write(statement, tables.get(i % tables.size()), i);
                    } catch (SQLException e) {
                        assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo("42P01");
                        tables.replaceAll(name -> name.equals("renamed") ? "now_selected" : name);
                    }
                }
            }
            return true;
        };
    }

    private static void write(Statement statement, String table, int i) throws SQLException {
        statement.execute("INSERT INTO %s VALUES (%d, %d, 'new')".formatted(table, i, -i));
        statement.execute("UPDATE %s SET v = 'u%d' WHERE n = -%d".formatted(table, i, i % 900));
        statement.execute(
                "UPDATE %s SET n = n - 1000000 WHERE n = -%d".formatted(table, i % 700 + 100));
        statement.execute("DELETE FROM %s WHERE n = -%d".formatted(table, i - 500));
        statement.execute("SELECT pg_sleep(0.002)");
    }

    private static String key(Installation installation, String table) {
        return installation
                .target()
                .query(
                        "SELECT sorting_key FROM system.tables WHERE database = 'public' AND name"
                                + " = '"
                                + table
                                + "'")
                .strip();
    }

    private static long holds(Installation installation) {
        return installation.status().path("shadow").path("holds").asLong(0);
    }

    private static void done(Installation.CommandResult result) {
        assertThat(result.exitCode()).as(result.output()).isZero();
    }

    private static void verified(Installation installation) throws Exception {
        Verification.Outcome outcome = installation.verify();
        assertThat(outcome.reason()).as("%s", outcome.results()).isEmpty();
    }
}
