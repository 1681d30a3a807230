package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.testkit.Installation;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Commands in the stream, by {@code pg_logical_emit_message}. */
@Timeout(600)
final class SignalsTest {
    private static final String ALL =
            "signals = [\"flush\", \"ignore\", \"pause\", \"resume\", \"watermark\"]";

    private static Installation start(String signals) {
        Installation installation =
                Installation.start(
                        Integer.getInteger(
                                "walshadow.major",
                                15 + LocalDate.now(ZoneOffset.UTC).getDayOfYear() % 4));
        installation.configure("source", signals);
        return installation;
    }

    private static String emit(boolean transactional, String message) {
        return "SELECT pg_logical_emit_message("
                + transactional
                + ", 'walshadow', '"
                + message
                + "')";
    }

    private static boolean isPaused(Installation installation) {
        return installation.status().path("paused").asBoolean(false);
    }

    private static String ask(Installation installation, String sql) {
        return installation.target().query(sql).strip();
    }

    private static String table(Installation installation, String name) throws Exception {
        return installation.command("verify", "--table", name).output();
    }

    @Test
    void theyActWhereTheyAreCommittedAndNotWhereTheyAreRolledBack() throws Exception {
        try (Installation installation = start(ALL)) {
            installation.execute("CREATE TABLE t (id int PRIMARY KEY)", "CREATE DATABASE other");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "BEGIN; " + emit(true, "pause rolled back") + "; ROLLBACK",
                    "BEGIN; SAVEPOINT s; "
                            + emit(true, "pause savepoint")
                            + "; ROLLBACK TO s; INSERT INTO t VALUES (1); COMMIT",
                    "BEGIN; SAVEPOINT s; "
                            + emit(true, "ignore")
                            + "; ROLLBACK TO s; INSERT INTO t VALUES (2); COMMIT",
                    "SELECT pg_logical_emit_message(false, 'walshadow2', 'pause')");
            installation.executeIn("other", emit(false, "pause"));
            installation.execute(
                    "BEGIN; INSERT INTO t VALUES (3); " + emit(true, "flush") + "; COMMIT");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(installation.logged("flush by a signal at ")).isTrue();
            assertThat(installation.logged("pause by a signal")).isFalse();

            installation.execute(
                    "BEGIN; SAVEPOINT s; "
                            + emit(true, "pause for a look")
                            + "; RELEASE s; INSERT INTO t VALUES (4); COMMIT");
            installation.await("it is paused", () -> isPaused(installation));
            assertThat(installation.status().path("paused_reason").asString(""))
                    .isEqualTo("for a look");
            installation.execute("INSERT INTO t VALUES (5)");
            installation.killDaemon();
            installation.startDaemon();
            assertThat(isPaused(installation)).isTrue();
            assertThat(ask(installation, "SELECT count() FROM public.t FINAL WHERE id > 4"))
                    .isEqualTo("0");
            // whatever becomes of its transaction
            installation.execute("BEGIN; " + emit(false, "resume") + "; ROLLBACK");
            installation.execute("INSERT INTO t VALUES (6)");
            installation.await("it goes on", () -> !isPaused(installation));
            assertThat(installation.verify().reason()).isEmpty();

            // what has acted does not act again
            installation.killDaemon();
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("INSERT INTO t VALUES (7)");
            assertThat(installation.verify().reason()).isEmpty();
            assertThat(isPaused(installation)).isFalse();
        }
    }

    @Test
    void anIgnoredTransactionSendsNoRowsAndItsShapesFollow() throws Exception {
        try (Installation installation = start(ALL)) {
            installation.configure("memory", "transactions = \"1MB\"");
            installation.execute(
                    "CREATE TABLE t (id int PRIMARY KEY, v text)",
                    "INSERT INTO t SELECT g, 'before' FROM generate_series(1, 10) g",
                    "CREATE TABLE rewritten (id int PRIMARY KEY, n int)",
                    "INSERT INTO rewritten SELECT g, g FROM generate_series(1, 10) g",
                    "CREATE TABLE emptied (id int PRIMARY KEY)",
                    "INSERT INTO emptied VALUES (1)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "BEGIN; INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(11,"
                            + " 50000) g; UPDATE t SET v = 'after' WHERE id <= 5; "
                            + emit(true, "ignore")
                            + "; DELETE FROM t WHERE id = 10; ALTER TABLE t ADD COLUMN w int"
                            + " DEFAULT 7; INSERT INTO rewritten VALUES (11, 11); ALTER TABLE"
                            + " rewritten ALTER n TYPE bigint; INSERT INTO rewritten VALUES (12,"
                            + " 12); TRUNCATE emptied; CREATE TABLE made (id int PRIMARY KEY);"
                            + " INSERT INTO made VALUES (1); COMMIT",
                    "INSERT INTO t VALUES (100000, 'later', 8)",
                    "INSERT INTO made VALUES (2)",
                    "INSERT INTO emptied VALUES (2)");
            assertThat(installation.command("wait").exitCode()).isZero();
            assertThat(
                            ask(
                                    installation,
                                    "SELECT count(), countIf(v = 'before'), countIf(w = 7),"
                                            + " countIf(w = 8) FROM public.t FINAL"))
                    .isEqualTo("11\t10\t10\t1");
            assertThat(ask(installation, "SELECT id FROM public.made FINAL")).isEqualTo("2");
            assertThat(ask(installation, "SELECT id FROM public.emptied FINAL ORDER BY id"))
                    .isEqualTo("1\n2");
            assertThat(ask(installation, "SELECT count() FROM public.rewritten FINAL"))
                    .isEqualTo("12");
            assertThat(table(installation, "public.rewritten")).contains("12");
            assertThat(installation.command("verify", "--table", "public.rewritten").exitCode())
                    .isZero();

            installation.resync("public.t");
            assertThat(installation.command("verify", "--table", "public.t").exitCode()).isZero();
            laterChanges(installation);
        }
    }

    /** Rows that ClickHouse has otherwise, or not at all, are changed. */
    private static void laterChanges(Installation installation) throws Exception {
        installation.execute(
                "CREATE TABLE wide (id int PRIMARY KEY, big text, n int)",
                "ALTER TABLE wide ALTER big SET STORAGE EXTERNAL",
                "INSERT INTO wide VALUES (1, repeat('a', 20000), 1)",
                "BEGIN; INSERT INTO wide VALUES (2, repeat('b', 20000), 1); UPDATE wide SET big ="
                        + " repeat('c', 30000) WHERE id = 1; "
                        + emit(true, "ignore")
                        + "; PREPARE TRANSACTION 'ignored'",
                "INSERT INTO wide VALUES (3, 'short', 1)",
                "COMMIT PREPARED 'ignored'");
        assertThat(installation.command("wait").exitCode()).isZero();
        String rows = "SELECT id, left(big, 1), n FROM public.wide FINAL ORDER BY id";
        assertThat(ask(installation, rows)).isEqualTo("1\ta\t1\n3\ts\t1");
        installation.execute("UPDATE wide SET n = 2");
        assertThat(installation.command("wait").exitCode()).isZero();
        assertThat(ask(installation, "SELECT id, n FROM public.wide FINAL ORDER BY id"))
                .isEqualTo("1\t2\n2\t2\n3\t2");
        assertThat(ask(installation, rows)).contains("2\tb\t2");
        assertThat(installation.command("status").exitCode()).isZero();
    }

    @Test
    void aWatermarkIsThereWhenAllBeforeItIsAndAKillDoesNotLoseIt() throws Exception {
        try (Installation installation = start(ALL)) {
            installation.execute("CREATE TABLE t (id int PRIMARY KEY)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    "INSERT INTO t SELECT generate_series(1, 1000)",
                    "BEGIN; INSERT INTO t VALUES (1001); "
                            + emit(true, "watermark first of all")
                            + "; COMMIT");
            awaitMarker(installation, "first of all");
            assertThat(ask(installation, "SELECT count() FROM public.t FINAL")).isEqualTo("1001");
            assertThat(
                            ask(
                                    installation,
                                    "SELECT now64() - commit_ts BETWEEN 0 AND 600 FROM"
                                            + " walshadow.markers FINAL"))
                    .isEqualTo("1");

            assertThat(installation.command("ctl pause").exitCode()).isZero();
            installation.execute(
                    "INSERT INTO t VALUES (2000)",
                    emit(false, "watermark by itself"),
                    emit(true, "watermark of a transaction without rows"));
            installation.await(
                    "the stream has passed them",
                    () -> installation.status().path("lag_bytes").asLong(0) > 0);
            installation.killDaemon();
            installation.startDaemon();
            assertThat(installation.command("ctl resume").exitCode()).isZero();
            awaitMarker(installation, "by itself");
            awaitMarker(installation, "of a transaction without rows");
            assertThat(ask(installation, "SELECT count() FROM public.t FINAL")).isEqualTo("1002");
            assertThat(ask(installation, "SELECT count() FROM walshadow.markers FINAL"))
                    .isEqualTo("3");
            installation.stopDaemon();
            assertThat(installation.command("uninstall", "--yes").exitCode()).isZero();
            assertThat(ask(installation, "SELECT name FROM system.databases"))
                    .doesNotContain("walshadow");
        }
    }

    private static void awaitMarker(Installation installation, String name) {
        installation.await(
                "the marker " + name,
                () ->
                        ask(
                                                installation,
                                                "SELECT count() FROM system.tables WHERE database ="
                                                        + " 'walshadow' AND name = 'markers'")
                                        .equals("1")
                                && ask(
                                                installation,
                                                "SELECT count() FROM walshadow.markers FINAL"
                                                        + " WHERE name = '"
                                                        + name
                                                        + "'")
                                        .equals("1"));
    }

    @Test
    void whatIsMalformedOrNotEnabledIsNamedAndHasNoEffect() throws Exception {
        try (Installation installation =
                start("signals = [\"flush\", \"ignore\", \"watermark\"]")) {
            installation.execute("CREATE TABLE t (id int PRIMARY KEY)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute(
                    emit(true, "flsh"),
                    emit(true, ""),
                    emit(false, "ignore"),
                    emit(true, "watermark "),
                    emit(true, "flush now"),
                    emit(true, "pause please"),
                    emit(true, "watermark " + "x".repeat(1_000)),
                    "SELECT pg_logical_emit_message(true, 'walshadow', '\\x77ff'::bytea)",
                    "SELECT pg_logical_emit_message(true, 'walshadow', repeat('x', 40000000))",
                    "INSERT INTO t VALUES (1)");
            assertThat(installation.verify().reason()).isEmpty();
            for (String reason :
                    new String[] {
                        "\"flsh\" is no command: flush, ignore,",
                        "\"\" is no command",
                        "ignore belongs to a transaction",
                        "a watermark needs a name",
                        "nothing follows flush",
                        "pause is not enabled: add it to [source] signals",
                        "it has more than 1000 bytes",
                        "it is not UTF-8"
                    }) {
                assertThat(installation.logged(reason)).as(reason).isTrue();
            }
            assertThat(installation.logged("WS-1951 the signal at 0/")).isTrue();
            assertThat(isPaused(installation)).isFalse();
        }
    }
}
