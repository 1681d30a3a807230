package dev.walshadow.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import dev.walshadow.daemon.verify.TableResult;
import dev.walshadow.daemon.verify.Verification;
import dev.walshadow.testkit.Installation;
import java.sql.Connection;
import java.sql.Statement;
import org.junit.jupiter.api.Test;

/** What verify is for: it names exactly the rows that somebody changed in ClickHouse. */
final class VerifyTest {
    /** Above every version of the stream. */
    private static final String NEWER = "toUInt128('170141183460469231731687303715884105728')";

    @Test
    void namesExactlyTheRowsThatWereChangedBehindItsBack() throws Exception {
        try (Installation installation = Installation.start(18)) {
            installation.execute(
                    "CREATE TABLE item (id int PRIMARY KEY, v text)",
                    "INSERT INTO item SELECT i, 'v' || i FROM generate_series(1, 2000) i",
                    "CREATE TABLE untouched (id int PRIMARY KEY)",
                    "INSERT INTO untouched SELECT generate_series(1, 100)");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("DELETE FROM item WHERE id = 44");
            Verification.Outcome before = installation.verify();
            assertThat(before.reason()).isEmpty();
            change(installation, "id = 11", "'altered' AS v, 0 AS _is_deleted");
            change(installation, "id = 22", "v, 1 AS _is_deleted");
            change(installation, "id = 44", "v, 0 AS _is_deleted");
            installation
                    .target()
                    .query(
                            "INSERT INTO public.item (id, v, _version, _is_deleted) SELECT 3333,"
                                    + " 'added', "
                                    + NEWER
                                    + ", 0");
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.ok()).isFalse();
            assertThat(outcome.results())
                    .filteredOn(result -> !result.equal())
                    .singleElement()
                    .satisfies(VerifyTest::namesTheFour);
            Installation.CommandResult command = installation.command("verify");
            assertThat(command.exitCode()).as(command.output()).isEqualTo(1);
            assertThat(command.output())
                    .contains("id=11", "altered", "id=22", "id=44", "id=3333")
                    .doesNotContain("id=12");
        }
    }

    /** On both sides of 1 MB, from where on digests are compared. */
    @Test
    void findsASingleByteThatDiffersInALargeValue() throws Exception {
        try (Installation installation = Installation.start(15)) {
            installation.execute(
                    "CREATE TABLE large (id int PRIMARY KEY, v varchar, b bytea)",
                    "INSERT INTO large SELECT i, repeat('ä', 524280 + i), decode(repeat('5c',"
                            + " 1048560 + 2 * i), 'hex') FROM generate_series(1, 20) i",
                    "INSERT INTO large VALUES (21, NULL, NULL)");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();
            String cut = "concat(substring(%1$s, 1, length(%1$s) - 1), '!')";
            changeLarge(installation, "id IN (8, 9)", cut.formatted("v") + " AS v, b");
            changeLarge(installation, "id IN (7, 15)", "v, " + cut.formatted("b") + " AS b");
            assertThat(installation.verify().results())
                    .singleElement()
                    .satisfies(result ->
                            assertThat(result.differences())
                                    .extracting(each -> each.kind() + " " + each.key())
                                    .containsExactlyInAnyOrder(
                                            "DIFFERENT id=7",
                                            "DIFFERENT id=8",
                                            "DIFFERENT id=9",
                                            "DIFFERENT id=15"));
        }
    }

    private static void changeLarge(Installation installation, String which, String columns) {
        installation
                .target()
                .query(
                        "INSERT INTO public.large (id, v, b, _is_deleted, _version) SELECT id, "
                                + columns
                                + ", 0 AS _is_deleted, "
                                + NEWER
                                + " FROM public.large WHERE "
                                + which);
    }

    /** Their rows are nowhere in the WAL; this one cannot even be read. */
    @Test
    void leavesForeignPartitionsOut() throws Exception {
        try (Installation installation = Installation.start(16)) {
            installation.execute(
                    "CREATE FOREIGN DATA WRAPPER nothing",
                    "CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing",
                    "CREATE TABLE parted (id int, \"a b\" text) PARTITION BY RANGE (id)",
                    "CREATE TABLE near (\"a b\" text, id int)",
                    "ALTER TABLE parted ATTACH PARTITION near FOR VALUES FROM (0) TO (100)",
                    "CREATE FOREIGN TABLE far PARTITION OF parted FOR VALUES FROM (100) TO (200)"
                            + " SERVER nowhere",
                    "INSERT INTO near SELECT 'v' || i, i FROM generate_series(1, 50) i",
                    "CREATE TABLE only_far (id int) PARTITION BY RANGE (id)",
                    "CREATE FOREIGN TABLE farther PARTITION OF only_far DEFAULT SERVER nowhere");
            installation.startDaemon();
            installation.awaitStreaming();
            installation.execute("INSERT INTO parted VALUES (60, 'later')");
            Verification.Outcome outcome = installation.verify();
            assertThat(outcome.reason()).isEmpty();
            assertThat(outcome.results())
                    .extracting(result -> result.table() + " " + result.sourceRows())
                    .contains("public.parted 51", "public.only_far 0");
        }
    }

    /** It says so, and compares the others. */
    @Test
    void namesATableThatTheSourceCannotRead() throws Exception {
        try (Installation installation = Installation.start(17)) {
            installation.execute(
                    "CREATE TABLE locked (id int PRIMARY KEY)",
                    "INSERT INTO locked SELECT generate_series(1, 10)",
                    "CREATE TABLE loose (v text)",
                    "INSERT INTO loose VALUES ('a')",
                    "CREATE TABLE other (id int PRIMARY KEY)",
                    "INSERT INTO other SELECT generate_series(1, 10)");
            installation.startDaemon();
            installation.awaitStreaming();
            assertThat(installation.verify().reason()).isEmpty();
            installation.execute("ALTER DATABASE postgres SET lock_timeout = '300ms'");
            try (Connection session = installation.session();
                    Statement statement = session.createStatement()) {
                session.setAutoCommit(false);
                statement.execute("LOCK TABLE locked, loose IN ACCESS EXCLUSIVE MODE");
                Verification.Outcome outcome = installation.verify();
                assertThat(outcome.reason()).isEqualTo("2 tables are not replicated");
                assertThat(outcome.setAside())
                        .allMatch(line ->
                                line.contains("the source cannot read it: ERROR: canceling"))
                        .anyMatch(line -> line.startsWith("public.locked: "))
                        .anyMatch(line -> line.startsWith("public.loose: "));
                assertThat(outcome.results())
                        .singleElement()
                        .matches(result -> result.table().name().equals("other") && result.equal());
                Installation.CommandResult command =
                        installation.command("verify", "--table", "public.locked");
                assertThat(command.exitCode()).isEqualTo(1);
                assertThat(command.output()).contains("the source cannot read it");
            }
            assertThat(installation.verify().reason()).isEmpty();
        }
    }

    private static void namesTheFour(TableResult result) {
        assertThat(result.table().toString()).isEqualTo("public.item");
        assertThat(result.differences())
                .extracting(each -> each.kind() + " " + each.key())
                .containsExactlyInAnyOrder(
                        "DIFFERENT id=11",
                        "MISSING_IN_CLICKHOUSE id=22",
                        "ONLY_IN_CLICKHOUSE id=44",
                        "ONLY_IN_CLICKHOUSE id=3333");
    }

    private static void change(Installation installation, String which, String columns) {
        installation
                .target()
                .query(
                        "INSERT INTO public.item (id, v, _is_deleted, _version) SELECT id, %s, %s"
                                        .formatted(columns, NEWER)
                                + " FROM public.item WHERE %s LIMIT 1".formatted(which));
    }
}
